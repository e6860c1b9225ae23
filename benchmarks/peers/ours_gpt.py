"""Our GPT, as its users train it with `fit`, and the generating graph that is exported."""

import dataclasses
import functools

import keras
import tensorflow as tf

from benchmarks.peers.gpt_jobs import GptGenerationJob, GptJob, GptTrainingJob, count_new
from benchmarks.peers.jobs import BOS, EOS, PAD
from benchmarks.peers.keras_fit import KerasLanguageModel
from keras_transformer.generation import Hypotheses, greedy_search
from keras_transformer.models import Gpt, GptConfig
from keras_transformer.training import TokenCrossEntropy, TransformerAdamW


def build(job: GptJob, dropout: float = 0.0) -> Gpt:
    """Our GPT-2 of a job's sizes; dropout on embeddings, attention weights and sublayers."""
    keras.utils.set_random_seed(job.seed)
    config = GptConfig(
        **dataclasses.asdict(job.sizes),
        max_position_embeddings=job.length,
        hidden_dropout=dropout,
        attention_dropout=dropout,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
    )
    model = Gpt(config)
    model.build()
    return model


class Training(KerasLanguageModel):
    """`fit` with our loss and our AdamW."""

    def __init__(self, job: GptTrainingJob):
        optimizer = TransformerAdamW(job.learning_rate)
        super().__init__(build(job, job.dropout), TokenCrossEntropy(), job, optimizer)


class Generation:
    """Greedy search in one `tf.function` from ids to ids, as an exported model runs it."""

    def __init__(self, job: GptGenerationJob):
        self._job = job
        self.model = build(job)
        self.parameters = self.model.count_params()
        # One graph for all batches, prompts and numbers of tokens.
        self._search = tf.function(
            self._continued,
            input_signature=[
                tf.TensorSpec([None, None], tf.int32, name="prompts"),
                tf.TensorSpec([], tf.int32, name="new_tokens"),
            ],
        )

    def generate(self, batch_size: int, prompt_length: int, new_tokens: int) -> Hypotheses:
        """The texts that go on from the job's first prompts, without the prompts."""
        prompts = tf.constant(self._job.prompts(batch_size, prompt_length))
        return self._search(prompts, tf.constant(new_tokens))

    def run(self, batch_size: int, prompt_length: int, new_tokens: int, times: int) -> int:
        """Generates `times` times; returns the number of tokens made."""
        made = 0
        for _ in range(times):
            lengths = self.generate(batch_size, prompt_length, new_tokens).lengths  # [batch, 1]
            made += count_new(lengths.numpy()[:, 0].tolist(), new_tokens)
        return made

    def _continued(self, prompts: tf.Tensor, new_tokens: tf.Tensor | int) -> Hypotheses:
        batch_size = tf.shape(prompts)[0]
        growing = tf.is_tensor(new_tokens)  # else room for all tokens from the start, as XLA needs
        room = tf.constant(0) if growing else new_tokens
        return greedy_search(
            self.model,
            self.model.start(prompts, room),
            batch_size=batch_size,
            bos_id=self.model.last_ids(prompts),
            eos_id=EOS,
            pad_id=PAD,
            max_length=new_tokens,
            min_lengths=tf.fill([batch_size], new_tokens),  # no EOS
            must_end=False,
            grow=self.model.grow if growing else None,
        )


class CompiledGeneration(Generation):
    """The same search compiled by XLA, once for each number of new tokens and shape of prompts."""

    def __init__(self, job: GptGenerationJob):
        super().__init__(job)
        self._functions: dict[int, tf.types.experimental.PolymorphicFunction] = {}

    def generate(self, batch_size: int, prompt_length: int, new_tokens: int) -> Hypotheses:
        prompts = tf.constant(self._job.prompts(batch_size, prompt_length))
        if new_tokens not in self._functions:
            self._functions[new_tokens] = tf.function(
                functools.partial(self._continued, new_tokens=new_tokens),
                input_signature=[tf.TensorSpec([None, None], tf.int32, name="prompts")],
                jit_compile=True,
            )
        return self._functions[new_tokens](prompts)
