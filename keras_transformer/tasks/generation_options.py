"""How texts are generated. No TensorFlow is needed to say it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from keras_transformer.checks import check_at_least, check_number_fields

MOST_NEW_TOKENS = 10_000
"""No text gets more new tokens than that, whatever is asked for."""

MOST_STOP_BYTES = 256
"""What all stop strings together may have, in UTF-8."""

LARGEST = 2**31 - 1

SERVED_OPTIONS = ("max_new_tokens", "temperature", "top_k", "top_p", "seed")
"""What a request to a server can say for each row."""

RANGES = {
    "temperature": (0, 1_000_000, "0: greedy"),
    "top_p": (0, 1, "1: off"),
    "min_p": (0, 1, "0: off"),
    "repetition_penalty": (0.001, 1000, "1: off"),
    "length_penalty": (0, 1000, ""),
    "top_k": (0, LARGEST, "0: off"),
    "seed": (0, LARGEST, ""),
}
"""Least and largest values, and the one that is special."""


@dataclass(frozen=True)
class GenerationOptions:
    """How texts are generated; the defaults sample from the model's own probabilities.

    >>> GenerationOptions(temperature=-1)
    Traceback (most recent call last):
    ValueError: temperature must be from 0 to 1000000 (0: greedy), not -1.
    """

    max_new_tokens: int = 128
    """Most new tokens, an end marker counted; 0 or less gives no new text."""
    min_new_tokens: int = 0
    """Fewest new tokens before an end marker; stop strings end a text all the same."""
    temperature: float = 1.0
    """Below 1 the choice is surer, above 1 bolder; 0 is greedy."""
    top_k: int = 0
    """Choose among so many likeliest tokens; 0 is off."""
    top_p: float = 1.0
    """Choose among the fewest likeliest tokens that have this probability together; 1 is off."""
    min_p: float = 0.0
    """Choose among tokens of at least this share of the likeliest one's probability; 0 is off."""
    repetition_penalty: float = 1.0
    """Above 1, tokens of the prompt and of the new text become less likely; 1 is off."""
    beam_size: int = 1
    """Above 1, beam search of so many hypotheses instead of sampling."""
    length_penalty: float = 0.0
    """Alpha of beam search's length penalty (Wu et al. 2016): 0 prefers short texts."""
    stop: tuple[str, ...] = ()
    """Strings that end a text where they come up, and are not part of it."""
    seed: int = 0
    """Of the random numbers; text i of a batch in Python draws with seed + i."""

    def __post_init__(self) -> None:
        check_number_fields(self)
        self._keep_plain_numbers()
        if not -LARGEST <= self.max_new_tokens <= MOST_NEW_TOKENS:
            raise ValueError(
                f"max_new_tokens must be at most {MOST_NEW_TOKENS}, not {self.max_new_tokens}."
            )
        if not 0 <= self.min_new_tokens <= max(self.max_new_tokens, 0):
            raise ValueError(
                f"min_new_tokens must be from 0 to max_new_tokens={self.max_new_tokens}, not "
                f"{self.min_new_tokens}."
            )
        for name, (least, most, hint) in RANGES.items():
            value = getattr(self, name)
            if not least <= value <= most:
                hint = f" ({hint})" if hint else ""
                raise ValueError(f"{name} must be from {least} to {most}{hint}, not {value}.")
        check_at_least(1, beam_size=self.beam_size)
        object.__setattr__(self, "stop", _stop_strings(self.stop))
        self._check_beams()

    def _keep_plain_numbers(self) -> None:
        """Makes NumPy's numbers Python's, which the file of a saved generator can hold."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.generic):
                object.__setattr__(self, field.name, value.item())

    def _check_beams(self) -> None:
        """Refuses what beam search would leave aside without a word."""
        if self.beam_size == 1:
            return
        for name in ("temperature", "top_k", "top_p", "min_p", "repetition_penalty"):
            off = type(self).__dataclass_fields__[name].default
            if getattr(self, name) != off:
                raise ValueError(
                    f"{name}={getattr(self, name)} is not of beam search: leave it at {off}, or "
                    f"set beam_size={self.beam_size} to 1."
                )

    def changed(self, **changes: object) -> Self:
        """The options with other values for some of them.

        Raises:
            ValueError: for values out of range, and for names of no option.
        """
        unknown = sorted(changes.keys() - {field.name for field in fields(self)})
        if unknown:
            names = ", ".join(field.name for field in fields(self))
            raise ValueError(f"{unknown[0]} is no option; options are {names}.")
        return dataclasses.replace(self, **changes)


def _stop_strings(stop: object) -> tuple[str, ...]:
    if isinstance(stop, str) or not isinstance(stop, list | tuple):
        raise ValueError(f"stop must be a list of strings, such as ['\\n'], not {stop!r:.80}.")
    for string in stop:
        if not isinstance(string, str) or not string:
            raise ValueError(f"a stop string must be a string, not empty; stop holds {string!r}.")
        try:
            string.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError(
                "a stop string holds half a character (a lone surrogate), which no text has: "
                f"{string!r:.80}."
            ) from None
    size = sum(len(string.encode("utf-8")) for string in stop)
    if size > MOST_STOP_BYTES:
        raise ValueError(
            f"stop strings may have {MOST_STOP_BYTES} bytes of UTF-8 together, not {size}."
        )
    return tuple(stop)


def seed_of_row(first: int, row: int) -> int:
    """The seed of a text: the seeds of the texts count up from the first one's.

    >>> seed_of_row(7, 0), seed_of_row(LARGEST, 2)
    (7, 1)
    """
    return (first + row) % (LARGEST + 1)
