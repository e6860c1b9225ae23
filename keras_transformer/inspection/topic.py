"""What an explanation is made of: a topic of steps, each a formula, numbers and a sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Matrix:
    """Numbers or words in rows and columns.

    Attributes:
        values: `[rows, columns]`: numbers, booleans or texts.
        rows: names of the rows; none by default.
        columns: names of the columns; none by default.
        digits: digits after the point, left out where all numbers are whole.
        shaded: whether a page shades numbers by their size.

    >>> Matrix([[0.5, 0.25]], columns=["a", "b"], digits=2).cells()
    [['0.50', '0.25']]
    >>> Matrix([[2.0, -0.0]]).cells()
    [['2', '0']]
    """

    values: Any
    rows: Sequence[str] = ()
    columns: Sequence[str] = ()
    digits: int = 4
    shaded: bool = True

    def __post_init__(self) -> None:
        shape = (len(self.values), len(self.values[0]) if len(self.values) else 0)
        for kind, names, size in zip(
            ("rows", "columns"), (self.rows, self.columns), shape, strict=True
        ):
            if len(names) not in (0, size):
                raise ValueError(f"A matrix of {size} {kind} has {len(names)} names of {kind}.")

    def numbers(self) -> np.ndarray | None:
        """The values as float64, or None where they are no numbers."""
        if any(isinstance(value, str) for row in self.values for value in row):
            return None
        return np.asarray(self.values, "float64")  # [rows, columns]

    def cells(self) -> list[list[str]]:
        """The values as they are printed."""
        numbers = self.numbers()
        whole = numbers is not None and np.array_equal(numbers, np.round(numbers))
        return [
            [self._cell(value, 0 if whole else self.digits) for value in row] for row in self.values
        ]

    @staticmethod
    def _cell(value: Any, digits: int) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, bool | np.bool_):
            return "yes" if value else "·"
        if isinstance(value, int | np.integer):
            return str(value)
        if abs(value) >= 1e7:
            return f"{float(value):.4g}"
        text = f"{float(value):.{digits}f}"
        return text.removeprefix("-") if float(text) == 0 else text


@dataclass(frozen=True)
class Step:
    """One step of a computation.

    Attributes:
        title: what is computed.
        formula: how, in plain characters.
        matrix: the result.
        sentence: what to see in it.
        picture: makes a matplotlib figure of it, which pages show.
    """

    title: str
    formula: str = ""
    matrix: Matrix | None = None
    sentence: str = ""
    picture: Callable[[], Any] | None = None


@dataclass(frozen=True)
class Topic:
    """One thing explained.

    Attributes:
        title: its name.
        sentence: what it is about.
        steps: the steps, in order.
    """

    title: str
    sentence: str
    steps: Sequence[Step]

    def step(self, title: str) -> Step:
        """The step of a title.

        Raises:
            KeyError: when there is none.
        """
        for step in self.steps:
            if step.title == title:
                return step
        raise KeyError(f"{self.title!r} has no step {title!r}.")
