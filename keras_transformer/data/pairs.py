"""A named, re-iterable stream of (source, target) texts that counts what it reads and drops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from .source import CountedSource


@dataclass
class ReadReport:
    """What one pass over a source of pairs met.

    Attributes:
        name: the source's name.
        read: pairs (line numbers) read.
        kept: pairs handed on.
        dropped: reason -> pairs left out for it.
        repaired: repair -> pairs handed on after it.

    Example:
        >>> print(ReadReport("train", read=3, kept=2, dropped=Counter({"blank target": 1})))
        train: read 3, kept 2, dropped 1 (blank target: 1)
    """

    name: str
    read: int = 0
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    repaired: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        text = f"{self.name}: read {self.read:,}, kept {self.kept:,}"
        for title, reasons in (("dropped", self.dropped), ("repaired", self.repaired)):
            if reasons:
                details = "; ".join(f"{reason}: {n:,}" for reason, n in sorted(reasons.items()))
                text += f", {title} {sum(reasons.values()):,} ({details})"
        return text


class TextPairs(CountedSource[tuple[str, str], ReadReport]):
    """A source of (source, target) strings that can be read again and again.

    Every iteration opens the source anew and holds one pair at a time, so that size does not
    matter. A pair with a blank side (nothing but white space) is left out and counted: its number
    still counts, so later pairs keep their partners. A NUL character, which text tools take for
    the end of a text, becomes a space and is counted as a repair.

    Args:
        name: what messages and reports call this source.
        read: opens the source and yields every pair, blank ones too; it raises a ValueError that
            names file and line for one that cannot be right.

    Example:
        >>> pairs = TextPairs("two", lambda: iter([("a", "b"), ("c", " ")]))
        >>> list(pairs)
        [('a', 'b')]
        >>> print(pairs.report)
        two: read 2, kept 1, dropped 1 (blank target: 1)
    """

    def __iter__(self) -> Iterator[tuple[str, str]]:
        report = ReadReport(self.name)
        for pair in self._read():
            report.read += 1
            source, target = (text.replace("\0", " ") for text in pair)
            if blank := _blank_sides(source, target):
                report.dropped[blank] += 1
                continue
            if source != pair[0] or target != pair[1]:
                report.repaired["NUL replaced by a space"] += 1
            report.kept += 1
            yield source, target
        self._report = report  # only a finished pass knows the counts

    def sources(self) -> Iterator[str]:
        """The source texts alone, for instance to train a tokenizer."""
        return (source for source, _ in self)

    def targets(self) -> Iterator[str]:
        """The target texts alone."""
        return (target for _, target in self)

    def with_sources(self, name: str, change: Callable[[str], str]) -> TextPairs:
        """The same pairs with their source texts changed; a blank one stays blank, to be counted.

        Example:
            >>> pairs = TextPairs("two", lambda: iter([("a", "b"), (" ", "c")]))
            >>> list(pairs.with_sources("louder", lambda text: f"{text}!"))
            [('a!', 'b')]
        """
        return TextPairs(
            name,
            lambda: (
                (change(source) if source.strip() else source, target)
                for source, target in self._read()
            ),
        )

    def reversed(self) -> TextPairs:
        """The same pairs in the other direction."""
        return TextPairs(
            f"{self.name} (reversed)",
            lambda: ((target, source) for source, target in self._read()),
        )


def _blank_sides(source: str, target: str) -> str | None:
    if source.strip():
        return None if target.strip() else "blank target"
    return "blank source" if target.strip() else "both sides blank"
