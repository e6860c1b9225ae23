"""keras_transformer itself, as its users use it: `fit`, and the decoding graph it exports."""

import dataclasses

import keras
import tensorflow as tf

from benchmarks.peers.jobs import BOS, EOS, PAD, DecodingJob, Sizes, TrainingJob
from benchmarks.peers.keras_fit import KerasFit
from keras_transformer.generation import Hypotheses, beam_search
from keras_transformer.models import Transformer, TransformerConfig
from keras_transformer.training import TokenCrossEntropy, TransformerAdamW


def build(sizes: Sizes, max_length: int, dropout: float) -> Transformer:
    """Our encoder-decoder; dropout everywhere that torch's nn.Transformer has it."""
    config = TransformerConfig(
        **dataclasses.asdict(sizes),
        max_position_embeddings=max_length,
        norm_first=True,
        hidden_dropout=dropout,
        attention_dropout=dropout,
        activation_dropout=dropout,
    )
    return Transformer(config)


class Training(KerasFit):
    """`fit` with our loss (label smoothing, padding skipped) and our AdamW."""

    def __init__(self, job: TrainingJob):
        keras.utils.set_random_seed(job.seed)
        model = build(job.sizes, job.length, job.dropout)
        loss = TokenCrossEntropy(label_smoothing=job.label_smoothing)
        super().__init__(model, loss, job, TransformerAdamW(job.learning_rate))


class Decoding:
    """Greedy and beam search in one `tf.function` from ids to ids, as an exported model runs it."""

    jit_compile = False

    def __init__(self, job: DecodingJob):
        keras.utils.set_random_seed(job.seed)
        self._job = job
        self._model = build(job.sizes, job.source_length + job.new_tokens + 1, dropout=0.0)
        self._model.build()
        self._functions: dict[int, tf.types.experimental.PolymorphicFunction] = {}
        self.parameters = self._model.count_params()

    def translate(self, batch_size: int, beam_size: int) -> Hypotheses:
        """What is found for the job's first `batch_size` sentences."""
        source = self._job.source(batch_size)
        source[:, -1] = EOS
        return self._search(beam_size)(tf.constant(source))

    def run(self, batch_size: int, beam_size: int, times: int) -> int:
        """Decodes the batch `times` times; returns the number of tokens made."""
        made = 0
        for _ in range(times):
            lengths = self.translate(batch_size, beam_size).lengths  # [batch, 1]
            made += self._job.check(lengths.numpy()[:, 0].tolist())
        return made

    def _search(self, beam_size: int) -> tf.types.experimental.PolymorphicFunction:
        """The graph for `beam_size`, traced once for every batch size and source length."""
        if beam_size in self._functions:
            return self._functions[beam_size]
        new_tokens = self._job.new_tokens

        @tf.function(
            input_signature=[tf.TensorSpec([None, None], tf.int32, name="source")],
            jit_compile=self.jit_compile,
        )
        def search(source: tf.Tensor) -> Hypotheses:
            batch_size = tf.shape(source)[0]
            room = new_tokens if self.jit_compile else tf.constant(0)
            return beam_search(  # greedy search for one beam
                self._model,
                self._model.start(source, room, beam_size),
                batch_size=batch_size,
                beam_size=beam_size,
                bos_id=BOS,
                eos_id=EOS,
                pad_id=PAD,
                max_length=new_tokens,
                # no EOS before the last place, where nothing else may stand
                min_lengths=tf.fill([batch_size], new_tokens - 1),
                grow=None if self.jit_compile else self._model.grow,
            )

        self._functions[beam_size] = search
        return search


class CompiledDecoding(Decoding):
    """The same search compiled by XLA, as `Translator.translate(..., jit_compile=True)` does."""

    jit_compile = True
