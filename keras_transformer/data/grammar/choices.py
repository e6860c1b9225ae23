"""Seeded choices."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """Seeded choices. Only `random.Random.random` is used: Python promises to keep its sequence."""

    def __init__(self, seed: int):
        self._random = random.Random(seed).random

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, each as likely as the next."""
        return options[int(self._random() * len(options))]

    def chance(self, probability: float) -> bool:
        """True in that share of the calls."""
        return self._random() < probability
