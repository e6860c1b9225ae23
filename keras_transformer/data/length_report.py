"""What became of the pairs of a dataset on their way into batches."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from .pairs import ReadReport


@dataclass
class SideLengths:
    """Lengths of the kept texts of one side, in ids with the BOS or EOS.

    Attributes:
        total: their sum.
        longest: their maximum.
        padded: positions in the batches, padding included.
    """

    total: int = 0
    longest: int = 0
    padded: int = 0

    def add(self, lengths: np.ndarray) -> None:
        """Counts more texts."""
        self.total += int(lengths.sum())
        self.longest = max(self.longest, int(lengths.max(initial=0)))


@dataclass
class LengthReport:
    """The counts of one pass of `TranslationBatches`.

    Attributes:
        texts: what reading the texts gave; its `kept` is this report's `read`.
        read: pairs tokenised.
        kept: pairs in batches.
        dropped: reason -> pairs left out for it.
        truncated: pairs that were cut to the longest length allowed.
        batches: number of batches.
        source: lengths of the source side.
        target: lengths of the target side.
    """

    texts: ReadReport
    read: int = 0
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    truncated: int = 0
    batches: int = 0
    source: SideLengths = field(default_factory=SideLengths)
    target: SideLengths = field(default_factory=SideLengths)

    @property
    def kept_share(self) -> float:
        """Kept pairs as a share of the tokenised ones."""
        return self.kept / self.read if self.read else 0.0

    @property
    def padding_share(self) -> float:
        """Share of the batches' positions that is padding."""
        padded = self.source.padded + self.target.padded
        return 1 - (self.source.total + self.target.total) / padded if padded else 0.0

    def __str__(self) -> str:
        text = f"{self.texts}; by length: read {self.read:,}, kept {self.kept:,}"
        if self.dropped:
            details = "; ".join(f"{reason}: {n:,}" for reason, n in sorted(self.dropped.items()))
            text += f", dropped {sum(self.dropped.values()):,} ({details})"
        if self.truncated:
            text += f", truncated {self.truncated:,}"
        if self.kept:
            text += (
                f"; {self.batches:,} batches, mean length {self.source.total / self.kept:.1f} and "
                f"{self.target.total / self.kept:.1f}, longest {self.source.longest} and "
                f"{self.target.longest}, padding {self.padding_share:.0%}"
            )
        return text
