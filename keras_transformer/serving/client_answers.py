"""What a client makes of a server's answers beside the rows that tasks make of them, too."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable

import numpy as np

from keras_transformer.tasks import answer_rows
from keras_transformer.tasks.answer_rows import Outputs
from keras_transformer.tasks.answers import TaggedWord, Translation

# What `serving_default` gives, by the class of the task; an output that no other has.
TASKS = {
    "translation": "Translator",
    "words": "TokenTagger",
    "answer": "QuestionAnswerer",
    "embedding": "TextEmbedder",
    "full_text": "TextGenerator",
    "tokens": "FillMask",
    "score": "TextClassifier",
}


def task_of(outputs: Iterable[str]) -> str | None:
    """The class of the task whose `serving_default` has these outputs; None for another model.

    >>> task_of(["label", "score", "scores", "truncated"])
    'TextClassifier'
    """
    return next((task for name, task in TASKS.items() if name in outputs), None)


def best_translations(n_best: int) -> Callable[[Outputs], list[Translation]]:
    """Of a signature that gives several, of which at most so many are kept.

    It raises a ValueError where the model gives fewer.
    """

    def rows(outputs: Outputs) -> list[Translation]:
        for texts in outputs.get("translations", ()):
            if n_best > len(texts):
                raise ValueError(f"The model gives {len(texts)} translations, not {n_best}.")
        return answer_rows.best_translations(outputs, n_best)

    return rows


def tagged_words(outputs: Outputs) -> list[list[TaggedWord]]:
    """Of a `TokenTagger`; warns of texts of which only the first words are tagged."""
    _warn_of_cut(outputs, "have more words than the model tags: what follows is not tagged")
    return answer_rows.tagged_words(outputs)


def embeddings(outputs: Outputs) -> list[np.ndarray]:
    """Of a `TextEmbedder`; warns of texts of which only the beginning is read."""
    _warn_of_cut(outputs, "are longer than the model takes: what follows is not read")
    return answer_rows.embeddings(outputs)


def _warn_of_cut(outputs: Outputs, what: str) -> None:
    if cut := sum(outputs.get("truncated", ())):
        warnings.warn(
            f"{cut} of {len(outputs['truncated'])} texts {what}.",
            stacklevel=5,  # where the client was asked
        )
