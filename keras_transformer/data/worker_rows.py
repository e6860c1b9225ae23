"""The rows of each batch shared out among workers."""

from __future__ import annotations

import tensorflow as tf


def worker_rows(dataset: tf.data.Dataset, workers: int, worker: int) -> tf.data.Dataset:
    """The rows of one worker: of every batch of `dataset` each `workers`-th row, from `worker` on.

    All workers make the same dataset, from one seed; together they have each row of each batch
    once, and each worker has as many batches. Where the rows do not go round, the last workers
    have one less, perhaps none; with `replicas=workers` the batches of this package do go round.

    Every worker makes whole batches and leaves the rows of the others out, so that what a batch
    holds does not hang on the number of workers.

    Args:
        dataset: batches, arrays whose first axis is that of the rows, in any structure.
        workers: how many there are.
        worker: which one this is, from 0.

    Returns:
        A dataset that `tf.distribute` is not to share out again: automatic sharding is off.

    Raises:
        ValueError: there is no such worker.

    Example:
        >>> numbers = tf.data.Dataset.range(5).batch(3)
        >>> for worker in range(2):
        ...     print([batch.numpy().tolist() for batch in worker_rows(numbers, 2, worker)])
        [[0, 2], [3]]
        [[1], [4]]
    """
    if not 0 <= worker < workers:
        raise ValueError(
            f"worker is {worker}, but with {workers} workers it must be from 0 to {workers - 1}."
        )

    def rows(*batch):
        own = tf.nest.map_structure(lambda array: array[worker::workers], batch)
        return own if len(own) > 1 else own[0]

    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return dataset.map(rows).with_options(options)
