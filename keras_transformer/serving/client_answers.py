"""What served tasks answer, row by row, from the columns of a signature's outputs.

The fields are those of the tasks' own answers as far as they are served: so the tuples of a client
and of a task are equal. They need no TensorFlow.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

Outputs = dict[str, list]  # by name, each with one item a row

NOTHING = -1e9  # the score of a place that holds nothing


class Translation(NamedTuple):
    """Translations of one text, best first."""

    texts: list[str]
    scores: list[float]
    """Log-probability divided by the length penalty; 0 for a blank text."""
    truncated: bool
    """Whether the text, or its best translation, was longer than allowed."""


class Guesses(NamedTuple):
    """What may stand at the mask of a text, best first; nothing for a text without a mask."""

    tokens: list[str]
    """As the vocabulary spells them."""
    scores: list[float]
    """Probabilities among all tokens of the vocabulary."""
    truncated: bool
    """Whether the text was longer than the model takes."""


class Classification(NamedTuple):
    """What a classifier says to one text."""

    label: str
    """The likeliest label; empty for a blank text."""
    score: float
    """Its probability."""
    scores: list[float]
    """The probabilities of all labels, in the order of the model's."""
    truncated: bool
    """Whether the text was longer than the model takes."""


class Regression(NamedTuple):
    """What a regression says to one text."""

    score: float
    """The number; 0 for a blank text."""
    truncated: bool
    """Whether the text was longer than the model takes."""


class TaggedWord(NamedTuple):
    """A word of a text and its tag."""

    word: str
    tag: str
    start: int
    """First character in the text."""
    end: int
    """One past the last character."""
    score: float
    """Probability of the tag."""


class Answer(NamedTuple):
    """A part of a context."""

    text: str
    start: int
    """First character in the context."""
    end: int
    """One past the last character."""
    score: float
    """How far the answer lies above there being none."""


class Answers(NamedTuple):
    """What was found for one question."""

    answers: list[Answer]
    """Best first."""
    has_answer: bool
    """Whether there is an answer, by the model's threshold."""
    truncated: bool
    """Whether the question or the context was longer than allowed."""


class TokenVectors(NamedTuple):
    """The tokens of a text, each with its vector in this context."""

    tokens: list[str]
    spans: list[tuple[int, int]]
    """First character of each token in the text, and one past its last."""
    vectors: np.ndarray
    """float32 `[tokens, hidden_size]`."""
    truncated: bool
    """Whether the text was longer than the model takes."""


class Generation(NamedTuple):
    """How a prompt goes on."""

    text: str
    """The new text only."""
    full_text: str
    """The prompt and the new text."""
    score: float
    """Sum of the model's log-probabilities of the new tokens."""
    truncated: bool
    """Whether the prompt was longer than the model takes: only its last tokens were read."""


class TextScore(NamedTuple):
    """How likely a model finds a text."""

    log_probability: float
    """Sum over the tokens (natural logarithm)."""
    tokens: int
    """Number of tokens scored."""
    truncated: bool
    """Whether the text has more tokens than are scored."""

    @property
    def perplexity(self) -> float:
        """`exp` of the mean negative log-probability of a token; NaN without tokens.

        >>> TextScore(-2.0, 2, False).perplexity == math.e
        True
        """
        if not self.tokens:
            return math.nan
        try:
            return math.exp(-self.log_probability / self.tokens)
        except OverflowError:
            return math.inf


class MissingOutput(Exception):
    """A signature has no output of that name: it is another task's."""


def _rows(outputs: Outputs, *names: str) -> Iterator[tuple]:
    for name in names:
        if name not in outputs:
            raise MissingOutput(name)
    return zip(*(outputs[name] for name in names), strict=True)


def translations(outputs: Outputs) -> list[Translation]:
    """Of a signature that gives one for each text."""
    rows = _rows(outputs, "translation", "score", "truncated")
    return [Translation([text], [score], cut) for text, score, cut in rows]


def best_translations(n_best: int) -> Callable[[Outputs], list[Translation]]:
    """Of a signature that gives several, of which at most so many are kept."""

    def rows(outputs: Outputs) -> list[Translation]:
        found = []
        for texts, scores, cut in _rows(outputs, "translations", "scores", "truncated"):
            if n_best > len(texts):
                raise ValueError(f"The model gives {len(texts)} translations, not {n_best}.")
            real = [pair for pair in zip(texts, scores, strict=True) if pair[1] > NOTHING]
            kept = real[:n_best]
            found.append(Translation([text for text, _ in kept], [s for _, s in kept], cut))
        return found

    return rows


def guesses(outputs: Outputs) -> list[Guesses]:
    """Of a `FillMask`."""
    found = []
    for tokens, scores, cut in _rows(outputs, "tokens", "scores", "truncated"):
        real = [(token, score) for token, score in zip(tokens, scores, strict=True) if token]
        found.append(Guesses([token for token, _ in real], [score for _, score in real], cut))
    return found


def classifications(outputs: Outputs) -> list[Classification] | list[Regression]:
    """Of a `TextClassifier`, which has labels or gives a number."""
    if "scores" not in outputs:
        return [Regression(*row) for row in _rows(outputs, "score", "truncated")]
    rows = _rows(outputs, "label", "score", "scores", "truncated")
    return [Classification(*row) for row in rows]


def tagged_words(outputs: Outputs) -> list[list[TaggedWord]]:
    """Of a `TokenTagger`; warns of texts of which only the first words are tagged."""
    if cut := sum(outputs.get("truncated", ())):
        warnings.warn(
            f"{cut} of {len(outputs['truncated'])} texts have more words than the model tags: "
            "what follows is not tagged.",
            stacklevel=4,  # where the client was asked
        )
    columns = ("words", "tags", "starts", "ends", "scores")
    found = []
    for length, *row in _rows(outputs, "length", *columns):
        real = (values[:length] for values in row)
        found.append([TaggedWord(*word) for word in zip(*real, strict=True)])
    return found


def answers(outputs: Outputs) -> list[Answers]:
    """Of a `QuestionAnswerer`."""
    columns = ("answers", "starts", "ends", "scores")
    found = []
    for has_answer, cut, *row in _rows(outputs, "has_answer", "truncated", *columns):
        spans = (Answer(*span) for span in zip(*row, strict=True))
        real = [span for span in spans if span.score > NOTHING]
        found.append(Answers(real, has_answer, cut))
    return found


def embeddings(outputs: Outputs) -> list[np.ndarray]:
    """Of a `TextEmbedder`: float32 `[hidden_size]` each."""
    return [np.asarray(row, np.float32) for (row,) in _rows(outputs, "embedding")]


def token_vectors(outputs: Outputs) -> list[TokenVectors]:
    """Of a `TextEmbedder`, token by token."""
    columns = ("tokens", "starts", "ends", "vectors")
    found = []
    for length, cut, *row in _rows(outputs, "length", "truncated", *columns):
        tokens, starts, ends, vectors = (values[:length] for values in row)
        size = len(row[-1][0]) if row[-1] else 0
        vectors = np.asarray(vectors, np.float32).reshape(length, size)  # [tokens, hidden_size]
        found.append(TokenVectors(tokens, list(zip(starts, ends, strict=True)), vectors, cut))
    return found


def generations(outputs: Outputs) -> list[Generation]:
    """Of a `TextGenerator`."""
    return [Generation(*row) for row in _rows(outputs, "text", "full_text", "score", "truncated")]


def text_scores(outputs: Outputs) -> list[TextScore]:
    """Of a `TextGenerator` that says how likely texts are."""
    return [TextScore(*row) for row in _rows(outputs, "log_probability", "tokens", "truncated")]


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


def task_of(outputs: Any) -> str | None:
    """The class of the task whose `serving_default` has these outputs; None for another model.

    >>> task_of(["label", "score", "scores", "truncated"])
    'TextClassifier'
    """
    return next((task for name, task in TASKS.items() if name in outputs), None)
