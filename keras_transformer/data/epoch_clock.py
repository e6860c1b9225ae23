"""Which epoch, and which batch of it, the next pass over a dataset begins with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class EpochClock:
    """Read by a dataset whenever an iterator starts; set it to continue somewhere.

    Left alone, each new iterator is the next epoch. `fit` makes its iterator after
    `on_epoch_begin`, so a callback that sets both attributes there decides exactly which batches
    the epoch has, whatever other iterators were started and left before.

    Attributes:
        epoch: epoch of the next iterator, from 0.
        skip_batches: batches of that epoch to leave out, because they were trained on already.

    Example:
        >>> clock = EpochClock()
        >>> clock.epoch, clock.skip_batches = 3, 120
        >>> clock.start(), clock.start()
        ((3, 120), (4, 0))
    """

    epoch: int = 0
    skip_batches: int = 0

    def start(self) -> tuple[int, int]:
        """Gives (epoch, skip_batches) to an iterator that starts, and moves to the next epoch."""
        epoch, skip_batches = self.epoch, self.skip_batches
        self.epoch, self.skip_batches = epoch + 1, 0
        return epoch, skip_batches
