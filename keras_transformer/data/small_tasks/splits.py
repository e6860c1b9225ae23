"""The splits of the small tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar
from zlib import crc32

from keras_transformer.data.grammar.choices import Choices

Split = Literal["train", "valid", "test"]
T = TypeVar("T")

SEEDS = {"train": 2018, "valid": 2019, "test": 2020}
VALID_SHARE, TEST_SHARE = 0.1, 0.15  # of the things that can be said


def choices_of(split: Split) -> Choices:
    """The seeded choices of a split.

    Raises:
        ValueError: there is no such split.

    Example:
        >>> choices_of("dev")
        Traceback (most recent call last):
        ValueError: builtin has no split 'dev'; it has: train, valid, test.
    """
    if split not in SEEDS:
        raise ValueError(f"builtin has no split {split!r}; it has: {', '.join(SEEDS)}.")
    return Choices(SEEDS[split])


def part_of(split: Split, options: Sequence[T]) -> list[T]:
    """Those of the options that belong to a split: a matter of the option alone.

    Example:
        >>> parts = [part_of(split, range(100)) for split in ("train", "valid", "test")]
        >>> sorted(sum(parts, [])) == list(range(100)), len(parts[0]) > 60
        (True, True)
    """
    return [option for option in options if _split_of(option) == split]


def _split_of(option: object) -> Split:
    share = crc32(repr(option).encode()) / 2**32
    if share < TEST_SHARE:
        return "test"
    return "valid" if share < TEST_SHARE + VALID_SHARE else "train"
