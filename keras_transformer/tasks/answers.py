"""What tasks answer, in Python and over the network. No TensorFlow is needed for it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from keras_transformer.training.perplexity import perplexity

NOTHING = -1e9
"""The score of a place in a served answer that holds nothing: JSON has no infinite numbers."""


class Translation(NamedTuple):
    """Translations of one text, best first."""

    texts: list[str]
    scores: list[float]
    """Log-probability divided by the length penalty; 0 for a blank text."""
    truncated: bool
    """Whether the text was longer than the model takes, or the best translation is as long as it
    may become: its last token then had to be EOS, and something may be missing."""


class Guesses(NamedTuple):
    """What may stand at the mask of a text, best first; nothing for a text without a mask."""

    tokens: list[str]
    """As the vocabulary spells them ("##" begins one that continues a word)."""
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
    scores: dict[str, float] | list[float]
    """The probabilities of all labels; all 0 for a blank text. A server does not say the labels: by
    a client they are a list, in the order of the model's."""
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
    """``context[start:end]``."""
    start: int
    """First character in the context."""
    end: int
    """One past the last character."""
    score: float
    """How far the answer lies above there being none (Devlin et al. 2019, 4.3)."""


class Answers(NamedTuple):
    """What was found for one question."""

    answers: list[Answer]
    """Best first, each at another place; none where the context holds no token."""
    has_answer: bool
    """Whether there is an answer, by the threshold of the options."""
    truncated: bool
    """Whether the question or the context was longer than allowed."""


class TokenVectors(NamedTuple):
    """The tokens of a text, each with its vector in this context."""

    tokens: list[str]
    """As the vocabulary spells them."""
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
    tokens: int | None
    """Number of new tokens, an end marker or stop string counted; None by a client, as a server
    does not say it."""
    finish_reason: str | None
    """"end" (the model ended the text), "stop" (a stop string came up) or "length"; None by a
    client."""
    truncated: bool
    """Whether the prompt was longer than the model takes: only its last tokens were read."""


class WrittenIds(NamedTuple):
    """The tokens that a model reads and those that it writes, for one text."""

    read: list[int]
    """Of the text or prompt, with what stands before or after it."""
    written: list[int]
    """Of what is made of it, an end marker counted."""
    truncated: bool
    """Whether the model reads a part only, or had to stop because there is no more room."""


class TextScore(NamedTuple):
    """How likely a model finds a text.

    >>> round(TextScore(-2.0, 2).perplexity, 4)
    2.7183
    """

    log_probability: float
    """Sum over the tokens (natural logarithm), the end of the text not among them."""
    tokens: int
    """Number of tokens scored."""
    truncated: bool = False
    """Whether the text has more tokens than are scored, 100,000: the others were left out."""

    @property
    def perplexity(self) -> float:
        """`exp` of the mean negative log-probability of a token; NaN without tokens."""
        if not self.tokens:
            return math.nan
        return perplexity(-self.log_probability / self.tokens)
