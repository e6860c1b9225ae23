"""The two matrix products of attention: queries with keys, weights with values."""

from typing import Any

import keras
from keras import ops

Tensor = Any

# A decoding step has one query, or one for each beam.
_FEW = 8


def query_key_product(query: Tensor, key: Tensor) -> Tensor:
    """``[..., queries, dim]`` and ``[..., keys, dim]`` to scores ``[..., queries, keys]``.

    >>> query_key_product(ops.ones((2, 1, 4)), ops.ones((2, 5, 4))).shape
    TensorShape([2, 1, 5])
    """
    if _is_step(query):
        return _small_product(query, key, adj_y=True)
    axes = (*range(len(key.shape) - 2), -1, -2)
    return ops.matmul(query, ops.transpose(key, axes))


def weight_value_product(weights: Tensor, value: Tensor) -> Tensor:
    """``[..., queries, keys]`` and ``[..., keys, dim]`` to contexts ``[..., queries, dim]``.

    >>> weight_value_product(ops.ones((2, 1, 5)), ops.ones((2, 5, 4))).shape
    TensorShape([2, 1, 4])
    """
    if _is_step(weights):
        return _small_product(weights, value, adj_y=False)
    return ops.matmul(weights, value)


def _is_step(query: Tensor) -> bool:
    """Whether there are few queries, in a dtype that the other op has on every device."""
    queries = query.shape[-2]
    return (
        keras.backend.backend() == "tensorflow"
        and queries is not None
        and queries <= _FEW
        and keras.backend.standardize_dtype(query.dtype) in ("float32", "float64")
    )


def _small_product(x: Tensor, y: Tensor, adj_y: bool) -> Tensor:
    # On CPUs TensorFlow gives BatchMatMulV2, which `ops.matmul` is, to oneDNN: best for large
    # products, but with 30 us a call, several times the cost of the few numbers of a decoding
    # step. V3 stays with TensorFlow's own kernel.
    import tensorflow as tf

    return tf.raw_ops.BatchMatMulV3(x=x, y=y, Tout=x.dtype, adj_y=adj_y)
