"""Running a batch of any size in chunks, inside the graph."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

# What one pass of the model takes at most: attention's scores need width times as much memory.
ROWS_AT_A_TIME = 64
TOKENS_AT_A_TIME = 8192


def map_in_chunks(
    function: Callable[..., tuple[tf.Tensor, ...]],
    inputs: tuple[tf.Tensor, ...],
    lengths: tf.Tensor,
    chunk_size: int | tf.Tensor,
    outputs: tuple[tf.TensorSpec, ...],
) -> tuple[tf.Tensor, ...]:
    """Applies a function to rows of similar length at a time, and restores the rows' order.

    Memory is that of one chunk, however many rows a request has, and short rows do not wait for
    long ones.

    Args:
        function: takes tensors `[rows, ...]` and gives a tuple of tensors `[rows, ...]`.
        inputs: tensors `[batch, ...]`.
        lengths: `[batch]`; rows are sorted by it, longest first.
        chunk_size: most rows at a time, an int or an int32 scalar.
        outputs: shape (the first dimension is None) and dtype of what the function gives.

    Returns:
        The function's results for all rows, `[batch, ...]`.

    >>> double = lambda x: (2 * x,)
    >>> spec = (tf.TensorSpec([None], tf.int32),)
    >>> values = tf.constant([1, 3, 2])
    >>> map_in_chunks(double, (values,), values, 2, spec)[0].numpy().tolist()
    [2, 6, 4]
    """
    batch = tf.shape(lengths)[0]
    order = tf.argsort(lengths, direction="DESCENDING", stable=True)  # [batch]
    inputs = tuple(tf.gather(tensor, order) for tensor in inputs)
    chunks = (batch + chunk_size - 1) // chunk_size
    arrays = tuple(
        tf.TensorArray(spec.dtype, size=chunks, infer_shape=False, element_shape=spec.shape)
        for spec in outputs
    )

    def run(index: tf.Tensor, arrays: tuple[Any, ...]) -> tuple[tf.Tensor, tuple[Any, ...]]:
        rows = slice(index * chunk_size, (index + 1) * chunk_size)
        results = function(*(tensor[rows] for tensor in inputs))
        return index + 1, tuple(
            array.write(index, result) for array, result in zip(arrays, results, strict=True)
        )

    _, arrays = tf.while_loop(
        lambda index, _: index < chunks, run, (tf.constant(0), arrays), parallel_iterations=1
    )
    back = tf.math.invert_permutation(order)  # [batch]
    return tuple(
        tf.ensure_shape(tf.gather(array.concat(), back), spec.shape)
        for array, spec in zip(arrays, outputs, strict=True)
    )


def run_in_chunks(
    function: Callable[..., tuple[tf.Tensor, ...]],
    inputs: tuple[tf.Tensor, ...],
    lengths: tf.Tensor,
    outputs: tuple[tf.TensorSpec, ...],
) -> tuple[tf.Tensor, ...]:
    """`map_in_chunks` with as many rows at a time as make a bounded number of tokens.

    Args:
        function: takes tensors `[rows, ...]` and gives tensors `[rows, ...]`.
        inputs: tensors `[batch, ...]`.
        lengths: int32 `[batch]`, the tokens of each row.
        outputs: shape and dtype of what the function gives; of all chunks the same, the first
            dimension apart.
    """

    def run() -> tuple[tf.Tensor, ...]:
        longest = tf.maximum(tf.reduce_max(lengths), 1)
        rows = tf.clip_by_value(TOKENS_AT_A_TIME // longest, 1, ROWS_AT_A_TIME)
        return map_in_chunks(function, inputs, lengths, rows, outputs)

    def nothing() -> tuple[tf.Tensor, ...]:  # chunks put together have no width when there are none
        return tuple(tf.zeros([size or 0 for size in spec.shape], spec.dtype) for spec in outputs)

    results = tf.cond(tf.size(lengths) > 0, run, nothing)
    return tuple(
        tf.ensure_shape(result, spec.shape) for result, spec in zip(results, outputs, strict=True)
    )
