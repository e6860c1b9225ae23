"""Answers row by row, from the columns of a signature's outputs. No TensorFlow is needed for it.

The columns are those of `requests.plain`, or what a client got from a server: lists with one item a
row, of numbers, texts and lists of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from keras_transformer.tasks.answers import (
    NOTHING,
    Answer,
    Answers,
    Classification,
    Generation,
    Guesses,
    Regression,
    TaggedWord,
    TextScore,
    TokenVectors,
    Translation,
)

Outputs = Mapping[str, Sequence]


class MissingOutput(Exception):
    """A signature has no output of that name: it is another task's."""


def rows_of(outputs: Outputs, *names: str) -> Iterator[tuple]:
    """The values of these outputs for each row.

    Raises:
        MissingOutput: when there is none of a name.
    """
    for name in names:
        if name not in outputs:
            raise MissingOutput(name)
    return zip(*(outputs[name] for name in names), strict=True)


def translations(outputs: Outputs) -> list[Translation]:
    """Of a signature that gives one for each text."""
    rows = rows_of(outputs, "translation", "score", "truncated")
    return [Translation([text], [score], cut) for text, score, cut in rows]


def best_translations(outputs: Outputs, n_best: int | None = None) -> list[Translation]:
    """Of a signature that gives several, of which at most so many are kept.

    >>> outputs = {"translations": [["a", ""]], "scores": [[-0.5, NOTHING]], "truncated": [False]}
    >>> best_translations(outputs)
    [Translation(texts=['a'], scores=[-0.5], truncated=False)]
    """
    found = []
    for texts, scores, cut in rows_of(outputs, "translations", "scores", "truncated"):
        real = [pair for pair in zip(texts, scores, strict=True) if pair[1] > NOTHING][:n_best]
        found.append(Translation([text for text, _ in real], [score for _, score in real], cut))
    return found


def guesses(outputs: Outputs) -> list[Guesses]:
    """Of a `FillMask`."""
    found = []
    for tokens, scores, cut in rows_of(outputs, "tokens", "scores", "truncated"):
        real = [pair for pair in zip(tokens, scores, strict=True) if pair[0]]
        found.append(Guesses([token for token, _ in real], [score for _, score in real], cut))
    return found


def classifications(outputs: Outputs) -> list[Classification] | list[Regression]:
    """Of a `TextClassifier`, which has labels or gives a number."""
    if set(outputs) == {"score", "truncated"}:  # other tasks give these, too, beside more
        return [Regression(*row) for row in rows_of(outputs, "score", "truncated")]
    rows = rows_of(outputs, "label", "score", "scores", "truncated")
    return [Classification(*row) for row in rows]


def tagged_words(outputs: Outputs) -> list[list[TaggedWord]]:
    """Of a `TokenTagger`."""
    columns = ("words", "tags", "starts", "ends", "scores")
    found = []
    for length, *row in rows_of(outputs, "length", *columns):
        real = (values[:length] for values in row)
        found.append([TaggedWord(*word) for word in zip(*real, strict=True)])
    return found


def answers(outputs: Outputs) -> list[Answers]:
    """Of a `QuestionAnswerer`."""
    columns = ("answers", "starts", "ends", "scores")
    found = []
    for has_answer, cut, *row in rows_of(outputs, "has_answer", "truncated", *columns):
        spans = (Answer(*span) for span in zip(*row, strict=True))
        found.append(Answers([span for span in spans if span.score > NOTHING], has_answer, cut))
    return found


def embeddings(outputs: Outputs) -> list[np.ndarray]:
    """Of a `TextEmbedder`: float32 `[hidden_size]` each."""
    return [np.asarray(row, np.float32) for (row,) in rows_of(outputs, "embedding")]


def token_vectors(outputs: Outputs) -> list[TokenVectors]:
    """Of a `TextEmbedder`, token by token."""
    columns = ("tokens", "starts", "ends", "vectors")
    found = []
    for length, cut, *row in rows_of(outputs, "length", "truncated", *columns):
        tokens, starts, ends, vectors = (values[:length] for values in row)
        # Of an array the width is known without a token, too.
        size = row[-1].shape[1] if isinstance(row[-1], np.ndarray) else len((row[-1] or [[]])[0])
        vectors = np.asarray(vectors, np.float32).reshape(length, size)  # [tokens, hidden_size]
        found.append(TokenVectors(tokens, list(zip(starts, ends, strict=True)), vectors, cut))
    return found


def generations(outputs: Outputs) -> list[Generation]:
    """Of a `TextGenerator`."""
    rows = rows_of(outputs, "text", "full_text", "score", "truncated")
    return [Generation(*texts, score, None, None, cut) for *texts, score, cut in rows]


def text_scores(outputs: Outputs) -> list[TextScore]:
    """Of a `TextGenerator` that says how likely texts are."""
    return [TextScore(*row) for row in rows_of(outputs, "log_probability", "tokens", "truncated")]
