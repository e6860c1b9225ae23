"""What alignments say, in Python and over the network. No TensorFlow is needed for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from keras_transformer.tasks.answer_rows import Outputs, rows_of


class AlignedTokens(NamedTuple):
    """The tokens of one of two texts."""

    tokens: list[str]
    """As the vocabulary spells them."""
    spans: list[tuple[int, int]]
    """First character of each token in the text, and one past its last."""


class TranslationAlignment(NamedTuple):
    """A translation, and which tokens of the source each of its tokens looked at."""

    translation: str
    score: float
    """Log-probability divided by the length penalty; 0 for a blank text."""
    source: AlignedTokens
    """The text's tokens and EOS; none of a blank text."""
    target: AlignedTokens
    """The translation's tokens and EOS."""
    weights: np.ndarray
    """float32 `[target, source]`: the decoder's attention to the source where it chose the target
    token, the mean over all heads of all layers. A row adds up to 1."""
    truncated: bool
    """Whether the text, or its translation, was longer than allowed."""


class AnswerAlignment(NamedTuple):
    """The answer to a question, and which tokens of the context each of its tokens looked at."""

    answer: str
    """Empty where there is none."""
    score: float
    """How far the answer lies above there being none; 0 for a blank text."""
    start: int
    """First character in the context."""
    end: int
    """One past the last character."""
    has_answer: bool
    """Whether there is an answer, by the threshold of the options."""
    question: AlignedTokens
    """None of a blank text."""
    context: AlignedTokens
    """Of the context, or of that window of a long one where the best answer stands."""
    weights: np.ndarray
    """float32 `[question, context]`: how the attention of a question's token to the context is
    shared among its tokens, by the mean over all heads of all layers. A row adds up to 1."""
    truncated: bool
    """Whether the question or the context was longer than allowed."""


def translation_alignments(outputs: Outputs) -> list[TranslationAlignment]:
    """Of a `Translator`'s signature `alignment`."""
    found = []
    for row, translation in enumerate(rows_of(outputs, "translation", "score")):
        source, target = (_tokens(outputs, name, row) for name in ("source", "target"))
        weights = _weights(outputs["weights"][row], target, source)
        cut = outputs["truncated"][row]
        found.append(TranslationAlignment(*translation, source, target, weights, cut))
    return found


def answer_alignments(outputs: Outputs) -> list[AnswerAlignment]:
    """Of a `QuestionAnswerer`'s signature `alignment`."""
    columns = ("answer", "score", "start", "end", "has_answer")
    found = []
    for row, answer in enumerate(rows_of(outputs, *columns)):
        question, context = (_tokens(outputs, name, row) for name in ("question", "context"))
        weights = _weights(outputs["weights"][row], question, context)
        cut = outputs["truncated"][row]
        found.append(AnswerAlignment(*answer, question, context, weights, cut))
    return found


def _tokens(outputs: Outputs, name: str, row: int) -> AlignedTokens:
    length = outputs[f"{name}_length"][row]
    tokens, starts, ends = (
        list(outputs[f"{name}_{part}"][row][:length]) for part in ("tokens", "starts", "ends")
    )
    return AlignedTokens(tokens, list(zip(starts, ends, strict=True)))


def _weights(weights: Sequence, queries: AlignedTokens, keys: AlignedTokens) -> np.ndarray:
    """Those between two texts' tokens: float32 `[queries, keys]`."""
    shape = len(queries.tokens), len(keys.tokens)
    rows = [row[: shape[1]] for row in weights[: shape[0]]]
    return np.asarray(rows, np.float32).reshape(shape)
