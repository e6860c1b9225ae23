"""Training data in sections of so many batches, whatever the length of a pass over it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import tensorflow as tf

from keras_transformer.data import EpochClock
from keras_transformer.data.epoch_dataset import epoch_dataset


class Sections:
    """The batches of all epochs, one after the other, in sections of equal length.

    What `fit` takes for an epoch is a section: scores and checkpoints then come after so many
    updates, for a corpus that takes seconds and for one that is never read to its end.

    A section goes on where the last one ended. Only one that begins elsewhere, in a resumed run,
    has its data opened anew.

    Args:
        batches: gives `batches(epoch, skip)`, as many for each epoch; and its `dataset`.
        length: batches of a section.

    Example:
        >>> from keras_transformer.data import ExampleBatches
        >>> examples = [{"token_ids": [n], "label": n} for n in range(3)]
        >>> batches = ExampleBatches(examples, "label", batch_size=1, training=False)
        >>> sections = Sections(batches, 2)
        >>> [[int(label[0]) for _, label in sections.dataset] for _ in range(3)]
        [[0, 1], [2, 0], [1, 2]]
    """

    def __init__(self, batches: Any, length: int):
        self._batches = batches
        self.length = length
        self.clock = EpochClock()
        self._held: tuple[int, Iterator[Any]] | None = None  # batches from a position on
        self.dataset: tf.data.Dataset = epoch_dataset(
            self.batches, length, self.clock, batches.dataset.element_spec
        )

    def batches(self, section: int = 0, skip: int = 0) -> Iterator[Any]:
        """The batches of a section without its first `skip`."""
        position, end = section * self.length + skip, (section + 1) * self.length
        held, self._held = self._held, None
        stream = held[1] if held and held[0] == position else self._from(position)
        for batch in islice(stream, end - position):
            position += 1
            if position == end:  # before the last one is given: nobody need ask for another
                self._held = (end, stream)
            yield batch

    def _from(self, position: int) -> Iterator[Any]:
        epoch, skip = divmod(position, self._batches.count_batches())
        while True:
            yield from self._batches.batches(epoch, skip)
            epoch, skip = epoch + 1, 0
