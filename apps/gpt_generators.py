"""Models that go on from prompts: of a run, a Hugging Face directory, or a SavedModel."""

from collections.abc import Iterator
from typing import Any

import gpt_start
import pretrained
import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers the ops that a SavedModel needs)

from keras_transformer.tasks import Generation, GenerationOptions, TextGenerator, TextScore
from keras_transformer.tasks.answer_rows import generations, text_scores
from keras_transformer.tasks.generation_options import SERVED_OPTIONS, seed_of_row
from keras_transformer.tasks.requests import plain
from keras_transformer.tasks.row_options import RowOptions
from keras_transformer.tasks.texts import as_texts

# What beam search has no use for.
OF_SAMPLING = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty")


class LocalModel:
    """The model of a run or of a Hugging Face directory.

    Args:
        directory: the folder.
        asked: options of this command, by their names, in place of the model's own.
        xla: whether XLA compiles the search.
    """

    def __init__(self, directory: str, asked: dict[str, Any], xla: bool):
        if pretrained.is_run(directory):
            self.generator = TextGenerator.load(directory)
        else:
            model, tokenizer, start_id = gpt_start.load_pretrained(directory)
            self.generator = TextGenerator(model, tokenizer, None, start_id)
        if asked.get("beam_size", 1) > 1:  # the model may have been saved to sample
            asked = {name: getattr(GenerationOptions(), name) for name in OF_SAMPLING} | asked
        self._asked, self._xla = asked, xla
        self._seed = asked.get("seed", self.generator.options.seed)

    def generate(self, prompts: list[str], row: int) -> Iterator[dict[str, Any]]:
        """What follows each prompt; `row` is the number of the first one."""
        asked = self._asked | {"seed": seed_of_row(self._seed, row)}
        found = self.generator.generate(prompts, jit_compile=self._xla, **asked)
        return (generation._asdict() for generation in found)

    def stream(self, prompt: str, row: int) -> Iterator[str]:
        """The same piece by piece."""
        asked = self._asked | {"seed": seed_of_row(self._seed, row)}
        return self.generator.stream(prompt, **asked)

    def is_truncated(self, prompt: str) -> bool:
        """Whether only the end of a prompt is read."""
        (truncated,) = self.generator.truncated([prompt])
        return truncated

    def score(self, texts: list[str]) -> Iterator[TextScore]:
        """How likely each text is."""
        return iter(self.generator.score(texts))


class ServedModel:
    """A SavedModel, asked as a server is: through its signatures.

    What is not asked for is as the model was exported, the seed of every text too. But a request
    says all that it can say or nothing: next to an option that is asked for, the others are those
    of `GenerationOptions`.

    Args:
        directory: folder of the version.
        asked: options of this command.

    Raises:
        ValueError: for options that a request cannot have, or that are out of range.
    """

    def __init__(self, directory: str, asked: dict[str, Any]):
        if fixed := [name for name in asked if name not in SERVED_OPTIONS]:
            flags = ", ".join(f"--{name.replace('_', '-')}" for name in fixed)
            raise ValueError(
                f"{directory} is a SavedModel, which takes no {flags}: give the folder of a run."
            )
        self._options = GenerationOptions().changed(**asked) if asked else None
        self._loaded = tf.saved_model.load(directory)  # kept: it owns the variables

    def generate(self, prompts: list[str], row: int) -> Iterator[dict[str, Any]]:
        """What follows each prompt; `row` is the number of the first one."""
        inputs = {"prompt": as_texts(prompts, "prompts")}
        signature = "serving_default"
        if self._options is not None:
            signature = "generate"
            options = RowOptions.alike(self._options, len(prompts))._asdict()
            inputs |= {name: options[name] for name in SERVED_OPTIONS}
            rows = range(row, row + len(prompts))
            inputs["seed"] = tf.constant([seed_of_row(self._options.seed, i) for i in rows])
        return map(what_is_known, generations(self._ask(signature, inputs)))

    def score(self, texts: list[str]) -> Iterator[TextScore]:
        """How likely each text is."""
        return iter(text_scores(self._ask("score", {"text": as_texts(texts)})))

    def _ask(self, signature: str, inputs: dict[str, tf.Tensor]) -> dict[str, Any]:
        if signature not in self._loaded.signatures:
            raise ValueError(f"The SavedModel is no TextGenerator: it has no {signature!r}.")
        return plain(self._loaded.signatures[signature](**inputs))


def what_is_known(generation: Generation) -> dict[str, Any]:
    """Its fields; a server does not say all of them."""
    return {name: value for name, value in generation._asdict().items() if value is not None}


def open_model(directory: str, asked: dict[str, Any], xla: bool) -> LocalModel | ServedModel:
    """The model in a folder."""
    if (version := pretrained.saved_model(directory)) is None:
        return LocalModel(directory, asked, xla)
    if xla:
        raise ValueError(f"{directory} is a SavedModel, which --xla cannot compile any more.")
    return ServedModel(str(version), asked)
