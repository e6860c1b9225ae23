"""A `tf.data.Dataset` whose every iterator is one epoch, in a known number of batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from .epoch_clock import EpochClock


def epoch_dataset(
    batches: Callable[[int, int], Iterator[Any]],
    count: int,
    clock: EpochClock,
    signature: Any,
) -> tf.data.Dataset:
    """Makes a dataset of what `batches(epoch, skip)` yields.

    Args:
        batches: the batches of an epoch without its first `skip`; every whole epoch has `count`.
        count: the dataset's cardinality, so that `fit` shows the steps of the first epoch too.
        clock: says with which epoch and batch the next iterator begins.
        signature: `tf.TensorSpec`s in the structure of a batch.

    Example:
        >>> numbers = lambda epoch, skip: iter([10 * epoch + i for i in range(skip, 3)])
        >>> dataset = epoch_dataset(numbers, 3, EpochClock(), tf.TensorSpec([], tf.int32))
        >>> [[int(n) for n in dataset] for _ in range(2)], int(dataset.cardinality())
        ([[0, 1, 2], [10, 11, 12]], 3)
    """
    epoch_is_over = False

    def next_epoch() -> Iterator[Any]:
        nonlocal epoch_is_over
        if epoch_is_over:  # `repeat` asks for what a shortened epoch lacks: there is nothing
            epoch_is_over = False
            return
        epoch, skip = clock.start()
        yield from batches(epoch, skip)
        epoch_is_over = 0 < skip < count

    dataset = tf.data.Dataset.from_generator(next_epoch, output_signature=signature)
    # `repeat` and `take` declare the length without asserting it: an epoch that skips its first
    # batches is shorter.
    dataset = dataset.repeat().take(count).prefetch(4)
    # A generator has no files to share out among workers.
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    # There is nothing to tune, and an iterator may not end before the tuning thread wakes up: with
    # few inter-op threads that can take as long as the epoch did.
    options.autotune.enabled = False
    return dataset.with_options(options)
