"""What all sources of texts have in common: they are read again and again, and count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Report = TypeVar("Report")


class CountedSource(Generic[Item, Report]):
    """Base of the sources; a subclass gives `__iter__`, which leaves its counts in `_report`.

    Args:
        name: what messages and reports call this source.
        read: opens the source and yields what is in it.
    """

    def __init__(self, name: str, read: Callable[[], Iterator[Any]]):
        self.name = name
        self._read = read
        self._report: Report | None = None  # of the last finished pass

    def __iter__(self) -> Iterator[Item]:
        raise NotImplementedError

    def check(self, watch: Callable[[Iterable[Item]], Iterable[Item]] = iter) -> Report:
        """Reads everything once and returns the counts.

        Args:
            watch: what the items go through, which gives them all: a progress bar, for instance.

        Raises:
            ValueError: the source is not what it should be (file, place and reason are named), or
                nothing is left of it.
        """
        for _ in watch(self):
            pass
        if not self._report.kept:
            raise ValueError(f"{self._report}; there is nothing to work with.")
        return self._report

    @property
    def report(self) -> Report:
        """The counts of the last finished pass; makes one where there was none."""
        return self._report or self.check()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"
