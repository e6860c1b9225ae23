"""Texts and ids of any shape, as users give them to a tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import tensorflow as tf


def as_texts(texts: Any) -> tf.Tensor | tf.RaggedTensor:
    """Strings of any shape as a tensor; a ValueError for anything else.

    >>> as_texts([["a"], ["b", "c"]]).shape
    TensorShape([2, None])
    """
    if isinstance(texts, tf.RaggedTensor):
        dtype = texts.dtype
    else:
        if not tf.is_tensor(texts):
            texts = _from_python(texts, tf.string, "texts must be strings")
        dtype = texts.dtype
    if dtype != tf.string:
        raise ValueError(f"texts must be strings, got {dtype.name}.")
    if isinstance(texts, tf.RaggedTensor):
        return texts.with_row_splits_dtype(tf.int64)
    return texts


def as_ids(ids: Any) -> tf.Tensor | tf.RaggedTensor:
    """Integers of any shape as a tensor; a ValueError for anything else.

    >>> as_ids([1, 2]).dtype
    tf.int32
    """
    if not tf.is_tensor(ids):
        dtype = tf.dtypes.as_dtype(ids.dtype) if hasattr(ids, "dtype") else tf.int32
        ids = _from_python(ids, dtype, "ids must be integers")
    if not ids.dtype.is_integer:
        raise ValueError(f"ids must be integers, got {ids.dtype.name}.")
    if isinstance(ids, tf.RaggedTensor):
        return ids.with_row_splits_dtype(tf.int64)
    return ids


def _from_python(values: Any, dtype: tf.DType, wanted: str) -> tf.Tensor | tf.RaggedTensor:
    try:
        tensor = tf.convert_to_tensor(values, dtype)
        # TensorFlow takes all rows to be as empty as the first one.
        if not isinstance(values, list | tuple) or tensor.shape.num_elements():
            return tensor
    except (ValueError, TypeError) as error:
        if not isinstance(values, list | tuple):
            raise ValueError(f"{wanted}, got {values!r:.80}: {error}") from None
    try:  # lists of unequal lengths
        return tf.ragged.constant(values, dtype)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{wanted}, got {values!r:.80}: {error}") from None


def map_texts(
    rows: Callable[[tf.Tensor], Iterable[tf.RaggedTensor]], texts: tf.Tensor | tf.RaggedTensor
) -> tuple[tf.RaggedTensor | tf.Tensor, ...]:
    """Applies `rows` (texts [batch] to ragged [batch, (tokens)]) to texts of any shape [...]."""
    if isinstance(texts, tf.RaggedTensor):
        return tuple(
            texts.with_flat_values(result) for result in map_texts(rows, texts.flat_values)
        )
    rank = texts.shape.rank
    if rank is None:
        raise ValueError("texts must have a known rank; set it with tf.ensure_shape.")
    results = tuple(rows(tf.reshape(texts, [-1])))  # [batch, (tokens)]
    if rank == 0:
        return tuple(result.values for result in results)  # [tokens]
    shape = tf.shape(texts, tf.int64)
    for axis in range(rank - 1, 0, -1):
        size = texts.shape[axis] if texts.shape[axis] is not None else shape[axis]
        count = tf.reduce_prod(shape[:axis])
        results = tuple(
            # [..., size, (tokens)]
            tf.RaggedTensor.from_uniform_row_length(result, tf.cast(size, tf.int64), nrows=count)
            for result in results
        )
    return results
