"""Our tasks as they are served: exported, loaded again, asked through their signatures."""

import dataclasses
import tempfile
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from benchmarks.peers import ours, ours_gpt
from benchmarks.peers.jobs import PRESETS
from benchmarks.peers.serving_jobs import (
    LABELS,
    SERVING_PRESETS,
    Requests,
    ServingJob,
    characters,
)
from keras_transformer.models import (
    Bert,
    BertClassifier,
    BertConfig,
    BertEmbedder,
    BertMaskedLM,
    BertSpanQA,
    BertTagger,
)
from keras_transformer.serving.compiled_signatures import compiled_signatures
from keras_transformer.tasks import (
    AnswerOptions,
    FillMask,
    GenerationOptions,
    QuestionAnswerer,
    Task,
    TextClassifier,
    TextEmbedder,
    TextGenerator,
    TokenTagger,
    TranslationOptions,
    Translator,
)
from keras_transformer.text import CharacterTokenizer, WordPieceTokenizer


def build(job: ServingJob) -> Task:
    """The task of a job, with random weights."""
    keras.utils.set_random_seed(job.seed)
    if job.task.startswith("translate"):
        return _translator(job)
    if job.task == "generate":
        return _generator(job)
    return _of_bert(job)


def _translator(job: ServingJob) -> Translator:
    sizes = PRESETS[SERVING_PRESETS[job.preset].translator]
    model = ours.build(sizes, job.length + job.new_tokens + 1, dropout=0.0)
    options = TranslationOptions(
        beam_size=job.beam_size,
        n_best=job.beam_size,
        max_source_length=job.length,
        max_target_length=job.new_tokens,
        min_target_length=job.new_tokens - 1,  # no EOS before the last place
    )
    return Translator(model, CharacterTokenizer(characters(sizes.vocab_size)), options=options)


def _generator(job: ServingJob) -> TextGenerator:
    generation = job.generation()
    tokenizer = CharacterTokenizer(characters(generation.sizes.vocab_size))
    options = GenerationOptions(
        max_new_tokens=job.new_tokens, min_new_tokens=job.new_tokens, temperature=0
    )
    return TextGenerator(ours_gpt.build(generation), tokenizer, options, start_id=None)


def _of_bert(job: ServingJob) -> Task:
    length = max(job.length, job.context_length)
    config = BertConfig(**dataclasses.asdict(job.encoder_sizes), max_position_embeddings=length)
    bert, tokenizer = Bert(config), WordPieceTokenizer(job.vocabulary())
    labels = [f"label {index}" for index in range(LABELS)]
    if job.task == "classify":
        return TextClassifier(BertClassifier(bert, LABELS), tokenizer, labels)
    if job.task == "tag":
        return TokenTagger(BertTagger(bert, LABELS), tokenizer, labels)
    if job.task == "fill_mask":
        return FillMask(BertMaskedLM(bert), tokenizer)
    if job.task == "embed":
        return TextEmbedder(BertEmbedder(bert), tokenizer)
    options = AnswerOptions(max_length=job.context_length)
    return QuestionAnswerer(BertSpanQA(bert), tokenizer, options)


class Served(Requests):
    """An export, in the process that asks it: texts in, texts out."""

    def __init__(self, job: ServingJob):
        self._job = job
        task = build(job)
        self.parameters = task.model.count_params()
        with tempfile.TemporaryDirectory() as folder:
            path = task.export(folder, signatures=self._signatures(task))
            self._loaded = tf.saved_model.load(str(path))

    def _signatures(self, task: Task) -> dict[str, Any]:
        offered = task.signatures()
        return {name: offered[name] for name in self._job.signatures}

    def request(self, signature: str, batch_size: int) -> Callable[[], Any]:
        """A call of a signature, until all outputs are in NumPy's arrays."""
        function = self._loaded.signatures[signature]
        _, specs = function.structured_input_signature
        inputs = {
            name: tf.constant(values, specs[name].dtype)
            for name, values in self._job.inputs(signature, batch_size).items()
        }

        def ask() -> dict[str, Any]:
            return {name: value.numpy() for name, value in function(**inputs).items()}

        self._check(ask(), batch_size)
        return ask

    def _check(self, outputs: dict[str, Any], batch_size: int) -> None:
        """Refuses answers that are not of the length that others are asked for, too."""
        for name, tokens in (
            ("translation", self._job.new_tokens - 1),  # and EOS
            ("text", self._job.new_tokens),
        ):
            if name not in outputs:
                continue
            lengths = [len(text.decode("utf-8")) for text in outputs[name]]
            if lengths != [tokens] * batch_size:
                raise ValueError(f"Every {name} must have {tokens} characters, not {lengths}.")


class CompiledServed(Served):
    """The same through the signatures whose search XLA compiles."""

    def _signatures(self, task: Task) -> dict[str, Any]:
        offered = compiled_signatures(task)
        names = (name for name in self._job.signatures if f"{name}_xla" in offered)
        return {name: offered[f"{name}_xla"] for name in names}
