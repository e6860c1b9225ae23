"""Models to ask one text at a time: of a run, of a SavedModel or of a server, all alike."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import pretrained
import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers the ops that a SavedModel needs)

from keras_transformer.serving import Client
from keras_transformer.serving.client_answers import task_of
from keras_transformer.tasks import (
    Answers,
    Classification,
    Generation,
    Guesses,
    Regression,
    TaggedWord,
    Task,
    Translation,
    answer_rows,
)
from keras_transformer.tasks.alignments import (
    AnswerAlignment,
    TranslationAlignment,
    answer_alignments,
    translation_alignments,
)
from keras_transformer.tasks.generation_options import SERVED_OPTIONS, GenerationOptions
from keras_transformer.tasks.requests import plain


class Model(Protocol):
    """What a page asks. Of the methods a model has those of its own task."""

    kind: str
    """The class of its task, such as "Translator"."""
    where: str
    """Where it comes from, in words."""
    most_translations: int | None
    """Translations of a text that it can give; None where the beam size is free to choose."""

    def translate(self, text: str, n_best: int, beam_size: int) -> Translation: ...

    def align(self, text: str) -> TranslationAlignment | None:
        """What a translation looked at; None where the model does not show it."""

    def fill_mask(self, text: str) -> Guesses: ...

    def classify(self, text: str, pair: str) -> Classification | Regression: ...

    def tag(self, text: str) -> list[TaggedWord]: ...

    def answer(self, question: str, context: str) -> Answers: ...

    def align_answer(self, question: str, context: str) -> AnswerAlignment | None:
        """What a question looked at; None where the model does not show it."""

    def embed(self, texts: list[str]) -> np.ndarray: ...

    def generate(self, prompt: str, **options: Any) -> Iterator[str]:
        """The new text in pieces."""

    def is_cut(self, prompt: str) -> bool:
        """Whether only the end of a prompt is read."""


def open_model(
    model: str,
    name: str | None = None,
    version: int | None = None,
    label: str | None = None,
    timeout: float = 60.0,
) -> Model:
    """The model in a folder, or of a server.

    Args:
        model: the folder, or the server's address.
        name, version, label, timeout: of a server's model, see `serving.Client`.

    Raises:
        ValueError: when there is no such model, or the arguments do not go together.
        OSError: when a server does not answer, or not for the model.
    """
    if "://" in model:
        if name is None:
            raise ValueError("--name is missing: say what the server calls the model.")
        client = Client(model, name, version=version, label=label, timeout=timeout)
        shapes = {
            key: {output: info.shape for output, info in signature.outputs.items()}
            for key, signature in client.signatures().items()
        }
        chosen = [str(which) for which in (version, label) if which is not None]
        where = f"{' '.join([name, *chosen])} of {model}"
        return SignatureModel(where, shapes, client.predict)
    if not (name is None and version is None and label is None):
        raise ValueError(f"--name, --version and --label are of a server; {model} is a folder.")
    if (folder := pretrained.saved_model(model)) is not None:
        return open_saved_model(str(folder))
    if not pretrained.is_run(model):
        raise ValueError(
            f"{model} is a Hugging Face directory, which says nothing of a task: train from it "
            "(--init), or load it by keras_transformer.checkpoints and save a task."
        )
    return RunModel(f"the run in {model}", Task.load(model))


def open_saved_model(folder: str) -> "SignatureModel":
    """The model in a version's folder."""
    loaded = tf.saved_model.load(folder)
    shapes = {
        key: {output: spec.shape for output, spec in function.structured_outputs.items()}
        for key, function in loaded.signatures.items()
    }

    def ask(signature: str, inputs: dict[str, list]) -> dict[str, Any]:
        if signature not in shapes:
            raise ValueError(
                f"The SavedModel in {folder} has no signature {signature}, which the page asks: "
                "export it with that one, too."
            )
        function = loaded.signatures[signature]
        specs = function.structured_input_signature[1]
        return plain(
            function(**{key: tf.constant(v, specs[key].dtype) for key, v in inputs.items()})
        )

    return SignatureModel(f"the SavedModel in {folder}", shapes, ask)


class RunModel:
    """The task of a run's folder."""

    most_translations = None

    def __init__(self, where: str, task: Task):
        self.where, self.kind, self._task = where, type(task).__name__, task

    def translate(self, text: str, n_best: int, beam_size: int) -> Translation:
        (found,) = self._task.translate([text], n_best=n_best, beam_size=max(beam_size, n_best))
        return found

    def align(self, text: str) -> TranslationAlignment:
        (found,) = self._task.align([text])
        return found

    def fill_mask(self, text: str) -> Guesses:
        (found,) = self._task([text])
        return found

    def classify(self, text: str, pair: str) -> Classification | Regression:
        (found,) = self._task.classify([text], [pair] if pair else None)
        return found

    def tag(self, text: str) -> list[TaggedWord]:
        (found,) = self._task([text])
        return found

    def answer(self, question: str, context: str) -> Answers:
        (found,) = self._task.answer([question], [context])
        return found

    def align_answer(self, question: str, context: str) -> AnswerAlignment:
        (found,) = self._task.align_answers([question], [context])
        return found

    def embed(self, texts: list[str]) -> np.ndarray:
        return self._task(texts)

    def generate(self, prompt: str, **options: Any) -> Iterator[str]:
        return self._task.stream(prompt, **options)

    def is_cut(self, prompt: str) -> bool:
        (cut,) = self._task.truncated([prompt])
        return cut


class SignatureModel:
    """A SavedModel or a server's model, asked by its signatures.

    Args:
        where: where it comes from, in words.
        shapes: of the outputs by their names, for each signature.
        ask: takes a signature's name and lists by the names of its inputs, and gives the outputs.

    Raises:
        ValueError: when it is none of the tasks exported.
    """

    def __init__(self, where: str, shapes: dict[str, dict[str, Any]], ask: Any):
        kind = task_of(shapes.get("serving_default", {}))
        if kind is None:
            raise ValueError(f"{where} is none of the tasks exported.")
        self.where, self.kind = where, kind
        self._shapes, self._ask = shapes, ask
        best = shapes.get("n_best", {}).get("translations")
        self.most_translations = 1 if best is None else best[1]

    def translate(self, text: str, n_best: int, beam_size: int) -> Translation:
        if "n_best" not in self._shapes:
            (found,) = answer_rows.translations(self._ask("serving_default", {"text": [text]}))
            return found
        outputs = self._ask("n_best", {"text": [text]})
        (found,) = answer_rows.best_translations(outputs, n_best)
        return found

    def align(self, text: str) -> TranslationAlignment | None:
        if "alignment" not in self._shapes:
            return None
        (found,) = translation_alignments(self._ask("alignment", {"text": [text]}))
        return found

    def fill_mask(self, text: str) -> Guesses:
        (found,) = answer_rows.guesses(self._ask("serving_default", {"text": [text]}))
        return found

    def classify(self, text: str, pair: str) -> Classification | Regression:
        inputs = {"text": [text]} | ({"text_pair": [pair]} if pair else {})
        outputs = self._ask("pair" if pair else "serving_default", inputs)
        (found,) = answer_rows.classifications(outputs)
        return found

    def tag(self, text: str) -> list[TaggedWord]:
        (found,) = answer_rows.tagged_words(self._ask("serving_default", {"text": [text]}))
        return found

    def answer(self, question: str, context: str) -> Answers:
        inputs = {"question": [question], "context": [context]}
        (found,) = answer_rows.answers(self._ask("n_best", inputs))
        return found

    def align_answer(self, question: str, context: str) -> AnswerAlignment | None:
        if "alignment" not in self._shapes:
            return None
        inputs = {"question": [question], "context": [context]}
        (found,) = answer_alignments(self._ask("alignment", inputs))
        return found

    def embed(self, texts: list[str]) -> np.ndarray:
        return np.stack(answer_rows.embeddings(self._ask("serving_default", {"text": texts})))

    def generate(self, prompt: str, **options: Any) -> Iterator[str]:
        yield self._generation(prompt, options).text

    def is_cut(self, prompt: str) -> bool:
        return self._generation(prompt, {"max_new_tokens": 0}).truncated

    def _generation(self, prompt: str, options: dict[str, Any]) -> Generation:
        asked = vars(GenerationOptions(**options))
        inputs = {"prompt": [prompt]} | {name: [asked[name]] for name in SERVED_OPTIONS}
        (found,) = answer_rows.generations(self._ask("generate", inputs))
        return found
