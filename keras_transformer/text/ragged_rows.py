"""Rows of ragged tensors, in memory that grows with the values alone."""

import tensorflow as tf


def value_rows(ragged: tf.RaggedTensor) -> tf.Tensor:
    """The row of each value: int64 `[values]`.

    `RaggedTensor.value_rowids` and `tf.repeat` say the same, but by way of a table of all rows by
    the longest of them: gigabytes, where thousands of words stand beside one of 100,000 letters.

    Args:
        ragged: `[rows, (values), ...]`.

    >>> value_rows(tf.ragged.constant([[7, 8], [], [9]])).numpy().tolist()
    [0, 0, 2]
    """
    splits = tf.cast(ragged.row_splits, tf.int64)  # [rows + 1]
    places = tf.range(splits[-1])  # [values]
    return tf.searchsorted(splits[1:], places, side="right", out_type=tf.int64)
