"""Examples -> padded batches of similar lengths, the same in every run of a seed."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.checks import check_at_least

from .epoch_clock import EpochClock
from .epoch_dataset import epoch_dataset
from .example_order import example_order
from .length_buckets import check_rows, length_ladder
from .pairs import ReadReport

Example = Mapping[str, Any]  # name -> array [length], or a number
Examples = Sequence[Example]
Batch = tuple[Any, ...]  # (features, labels) or (features, labels, weights)


@dataclass
class BatchReport:
    """The counts of one epoch of `ExampleBatches`.

    Attributes:
        texts: what reading the texts gave, if it is known.
        examples: number of examples.
        batches: number of batches.
        tokens: real positions of all examples.
        padded: positions of the batches, padding included.
        longest: positions of the longest example.
    """

    texts: ReadReport | None
    examples: int
    batches: int
    tokens: int
    padded: int
    longest: int

    @property
    def padding_share(self) -> float:
        """Share of the batches' positions that is padding."""
        return 1 - self.tokens / self.padded

    def __str__(self) -> str:
        text = f"{self.texts}; " if self.texts is not None else ""
        return text + (
            f"{self.examples:,} examples in {self.batches:,} batches, mean length "
            f"{self.tokens / self.examples:.1f}, longest {self.longest}, "
            f"padding {self.padding_share:.0%}"
        )


class ExampleBatches:
    """Batches for training or evaluating a model on examples, which are dicts of arrays.

    An example is a dict: fields that are arrays `[length]` are padded to lengths from
    `length_ladder`, fields that are numbers make an array `[batch]`. Integers become int32,
    floats float32, booleans stay. Rows of similar lengths share a batch; how many batches there
    are depends on the number of examples alone.

    Batch `i` of epoch `e` is a function of the examples, the arguments and `(seed, e, i)` alone.
    `clock` says with which epoch and batch the next iterator of `dataset` begins.

    Args:
        examples: the examples, all with the same fields; or a function from the epoch to them,
            which makes them anew (other masks, say), always as many: a sequence, or an iterator.
        labels: the field that is the label, or the fields that are labels, which then come as a
            dict; all other fields are features.
        batch_size: rows of a batch; one batch of an epoch may have fewer.
        length: the field whose length is that of the example; by default "token_ids".
        length_multiple: padded lengths are multiples of it, or the longest length there is.
        fillers: field -> what it is padded with, instead of 0 (False).
        weights: a field with the weights of the rows, a third item of each batch.
        replicas: rows of every batch are a multiple of it. A short batch is filled up with rows
            of fillers and weight 0.
        seed: seed of the shuffling.
        training: False sorts by length instead of shuffling, the same in every epoch: of a function
            the examples of epoch 0.
        hold: most examples of a function to have in memory; None for all. Of more, so many are
            mixed at a time (or sorted by length), and each epoch makes them while it goes on.
        texts: what reading the texts gave, for the report.

    Raises:
        ValueError: there are no examples, their fields differ, or arguments that are impossible.

    Example:
        >>> examples = [{"token_ids": np.arange(1, n), "label": n} for n in (4, 2, 3)]
        >>> batches = ExampleBatches(examples, "label", batch_size=3, training=False)
        >>> for features, labels in batches.dataset:
        ...     print(features["token_ids"].numpy(), labels.numpy())
        [[1 0 0]
         [1 2 0]
         [1 2 3]] [2 3 4]
    """

    def __init__(
        self,
        examples: Examples | Callable[[int], Iterable[Example]],
        labels: str | Sequence[str],
        *,
        batch_size: int = 32,
        length: str = "token_ids",
        length_multiple: int = 8,
        fillers: Mapping[str, float] | None = None,
        weights: str | None = None,
        replicas: int = 1,
        seed: int = 0,
        training: bool = True,
        hold: int | None = None,
        texts: ReadReport | None = None,
    ):
        check_at_least(1, length_multiple=length_multiple, replicas=replicas)
        if hold is not None:
            check_at_least(1, hold=hold)
        check_rows(batch_size, replicas)
        self.batch_size = batch_size
        self.replicas = replicas
        self.seed = seed
        self.training = training
        self.clock = EpochClock()
        self._make = examples if callable(examples) else None
        self._hold = hold
        self._labels = (labels,) if isinstance(labels, str) else tuple(labels)
        self._labels_are_a_dict = not isinstance(labels, str)
        self._weights = weights
        self._length = length
        self._multiple = length_multiple
        self._fillers = dict(fillers or {})
        self._texts = texts
        self._dataset: tf.data.Dataset | None = None
        self._kept: tuple[int, Examples] | None = None  # an epoch and its examples
        self._first_pass(examples(0) if callable(examples) else examples)

    def _first_pass(self, examples: Iterable[Example]) -> None:
        """Counts the examples and checks their fields; keeps them unless they are too many."""
        held: list[Example] | None = None if self._make is None else []
        lengths = array("q")
        self._longest: dict[str, int] = {}
        for number, example in enumerate(examples):
            if not number:
                self._fields = {name: _kind(value) for name, value in example.items()}
                self._check_fields()
                self._longest = {
                    name: 1 for name, (is_array, _) in self._fields.items() if is_array
                }
            elif example.keys() != self._fields.keys():
                raise ValueError(
                    f"example {number} has the fields {', '.join(example)}, but the first one "
                    f"has: {', '.join(self._fields)}."
                )
            lengths.append(len(example[self._length]))
            for name, longest in self._longest.items():
                self._longest[name] = max(longest, len(example[name]))
            if held is not None:
                held.append(example)
                if self._hold is not None and len(held) > self._hold:
                    held = None
        self._count = len(lengths)
        if not self._count:
            raise ValueError(f"{self._texts or 'the examples'}: there is no example to work with.")
        self._first_lengths = np.array(lengths, np.int64)
        if self._make is None:
            self._kept = (0, examples)
        elif held is not None:
            self._kept = (0, held)

    @property
    def dataset(self) -> tf.data.Dataset:
        """A `tf.data.Dataset` of known cardinality; each iterator of it is one epoch."""
        if self._dataset is None:
            specs = {
                name: tf.TensorSpec([None] * (1 + is_array), dtype)  # [batch] or [batch, length]
                for name, (is_array, dtype) in self._fields.items()
            }
            self._dataset = epoch_dataset(
                self.batches, self.count_batches(), self.clock, self._structure(specs)
            )
        return self._dataset

    @property
    def report(self) -> BatchReport:
        """The counts of the first epoch."""
        lengths = self._first_lengths
        ladder = length_ladder(int(lengths.max()), self._multiple)
        padded = sum(
            len(rows) * int(ladder[np.searchsorted(ladder, lengths[rows].max())])
            for rows in self._order(0, lengths)
        )
        return BatchReport(
            self._texts,
            self._count,
            self.count_batches(),
            int(lengths.sum()),
            padded,
            int(lengths.max()),
        )

    @property
    def count_examples(self) -> int:
        """Number of examples of every epoch."""
        return self._count

    def count_batches(self) -> int:
        """Number of batches of every epoch."""
        return -(-self._count // self.batch_size)

    def rows(self, epoch: int = 0) -> list[np.ndarray]:
        """Which examples the batches of an epoch hold: int64 `[rows]` a batch, rows of fillers
        not among them. So the answers to batch after batch find back to their examples."""
        if epoch == 0 or not self.training:
            lengths: Iterable[int] = self._first_lengths
        else:
            lengths = (len(example[self._length]) for example in self._examples(epoch))
        return list(self._order(epoch, lengths))

    def batches(self, epoch: int = 0, skip: int = 0) -> Iterator[Batch]:
        """The batches of one epoch as numpy arrays, without the first `skip` of them."""
        examples = self._examples(epoch)
        held: dict[int, Example] = {}  # those whose batch is still to come

        def lengths() -> Iterator[int]:
            for number, example in enumerate(examples):
                held[number] = example
                yield len(example[self._length])

        longest = self._longest
        if self._kept is not None:
            longest = {name: max(1, max(len(e[name]) for e in examples)) for name in longest}
        for number, rows in enumerate(self._order(epoch, lengths())):
            some = [held.pop(row) for row in rows.tolist()]
            if number >= skip:
                yield self._structure(self._padded(some, longest))

    def _order(self, epoch: int, lengths: Iterable[int]) -> Iterator[np.ndarray]:
        rng = np.random.default_rng([self.seed, epoch]) if self.training else None
        hold = None if self._kept is not None else self._hold
        return example_order(lengths, self.batch_size, rng, hold)

    def _examples(self, epoch: int) -> Iterable[Example]:
        """The examples of an epoch: a sequence where they are held, else an iterator."""
        epoch = epoch if self.training else 0
        if self._make is None:
            return self._kept[1]
        if self._kept is None:
            return self._checked(epoch, self._make(epoch))
        if self._kept[0] != epoch:
            self._kept = (epoch, list(self._checked(epoch, self._make(epoch))))
        return self._kept[1]

    def _checked(self, epoch: int, examples: Iterable[Example]) -> Iterator[Example]:
        """Refuses another number of examples than that of epoch 0."""
        count = 0
        for example in examples:
            count += 1
            yield example
        if count != self._count:
            raise ValueError(
                f"epoch {epoch} has {count:,} examples, but epoch 0 has {self._count:,}; every "
                "epoch must have as many."
            )

    def _padded(self, examples: Examples, longest: dict[str, int]) -> dict[str, np.ndarray]:
        missing = -len(examples) % self.replicas
        arrays = {}
        for name, (is_array, dtype) in self._fields.items():
            filler = 0 if name == self._weights else self._fillers.get(name, 0)
            shape = [len(examples) + missing]
            if is_array:
                length = max(len(example[name]) for example in examples)
                ladder = length_ladder(max(length, longest[name]), self._multiple)
                shape.append(int(ladder[np.searchsorted(ladder, length)]))
            array = np.full(shape, filler, dtype.as_numpy_dtype)  # [batch] or [batch, length]
            for row, example in enumerate(examples):
                if is_array:
                    array[row, : len(example[name])] = example[name]
                else:
                    array[row] = example[name]
            arrays[name] = array
        return arrays

    def _structure(self, fields: dict[str, Any]) -> tuple[Any, ...]:
        """Fields -> (features, labels) or (features, labels, weights)."""
        no_features = (*self._labels, self._weights)
        features = {name: value for name, value in fields.items() if name not in no_features}
        labels: Any = {name: fields[name] for name in self._labels}
        if not self._labels_are_a_dict:
            labels = labels[self._labels[0]]
        return (
            (features, labels)
            if self._weights is None
            else (
                features,
                labels,
                fields[self._weights],
            )
        )

    def _check_fields(self) -> None:
        have = ", ".join(self._fields)
        wanted = [*self._labels, *self._fillers, *filter(None, [self._weights])]
        for name in wanted:
            if name not in self._fields:
                raise ValueError(f"the examples have no field {name!r}; they have: {have}.")
        if not self._fields.get(self._length, (False, None))[0]:
            raise ValueError(
                f"the examples have no array {self._length!r} that gives their length; "
                f"they have: {have}."
            )


def _kind(value: Any) -> tuple[bool, tf.DType]:
    """Whether a field is an array, and the type it has in batches."""
    array = np.asarray(value)
    if array.ndim > 1:
        raise ValueError(f"a field must be a number or an array [length], not {array.shape}.")
    dtypes = {"b": tf.bool, "i": tf.int32, "u": tf.int32, "f": tf.float32}
    if array.dtype.kind not in dtypes:
        raise ValueError(f"a field must hold numbers or booleans, not {array.dtype}.")
    return array.ndim == 1, dtypes[array.dtype.kind]
