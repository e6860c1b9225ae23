"""Relative positions as a bias on scores: T5's learned buckets and ALiBi's fixed slopes."""

import math
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformer.checks import check_at_least

Tensor = Any


@keras.saving.register_keras_serializable("keras_transformer")
class BucketedPositionBias(keras.layers.Layer):
    """A learned bias for each head and each bucket of distances (Raffel et al. 2020, 2.1).

    Half of the buckets hold one distance each, the other half grow logarithmically up to
    ``max_distance``; beyond it all distances share the last bucket.

    Args:
        num_heads: number of attention heads.
        num_buckets: number of buckets, shared by both directions when bidirectional.
        max_distance: distance from which on all share the last bucket.
        bidirectional: whether keys after the query have buckets of their own (encoder) or count as
            distance 0 (decoder, where they are masked anyway).

    Call args:
        query_positions: integer ``[queries]``.
        key_positions: integer ``[keys]``.

    Returns:
        Bias ``[1, heads, queries, keys]``.

    >>> BucketedPositionBias(num_heads=2)(ops.arange(3), ops.arange(5)).shape
    TensorShape([1, 2, 3, 5])
    """

    def __init__(
        self,
        num_heads: int,
        num_buckets: int = 32,
        max_distance: int = 128,
        bidirectional: bool = True,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if num_buckets < 4 or num_buckets % 2:
            raise ValueError(f"num_buckets must be even and at least 4, not {num_buckets}.")
        exact = num_buckets // (4 if bidirectional else 2)
        if max_distance <= exact:
            raise ValueError(
                f"max_distance must exceed the {exact} distances that have a bucket each, "
                f"not {max_distance}."
            )
        self.num_heads = num_heads
        self.num_buckets = num_buckets
        self.max_distance = max_distance
        self.bidirectional = bidirectional

    def build(self, *input_shapes: tuple) -> None:
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.num_buckets, self.num_heads),
            initializer="glorot_uniform",
        )

    def bucket(self, distance: Tensor) -> Tensor:
        """The bucket of ``distance = key position - query position``; int32, same shape."""
        buckets = self.num_buckets
        offset = 0
        if self.bidirectional:
            buckets //= 2
            offset = ops.cast(distance > 0, "int32") * buckets
            distance = ops.abs(distance)
        else:
            distance = ops.maximum(-distance, 0)
        exact = buckets // 2
        # maximum: the logarithm is taken of small distances too, though not used for them.
        ratio = ops.cast(ops.maximum(distance, exact), "float32") / exact
        growth = ops.log(ratio) / math.log(self.max_distance / exact) * (buckets - exact)
        far = ops.minimum(exact + ops.cast(growth, "int32"), buckets - 1)
        return offset + ops.where(distance < exact, distance, far)

    def call(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        distance = key_positions[None, :] - query_positions[:, None]  # [queries, keys]
        bias = ops.take(self.embeddings, self.bucket(ops.cast(distance, "int32")), axis=0)
        return ops.transpose(bias, (2, 0, 1))[None]  # [1, heads, queries, keys]

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {
            "num_heads": self.num_heads,
            "num_buckets": self.num_buckets,
            "max_distance": self.max_distance,
            "bidirectional": self.bidirectional,
        }


def alibi_slopes(num_heads: int) -> np.ndarray:
    """The slope of each head: 2^(-8/n), 2^(-16/n), ... (Press et al. 2022, 3).

    For a number of heads that is no power of two, the slopes of the power below are filled up with
    every second slope of the power above, as in the authors' code.

    >>> alibi_slopes(4).tolist()
    [0.25, 0.0625, 0.015625, 0.00390625]
    """

    def powers(n: int) -> np.ndarray:
        return 2.0 ** (-8.0 * np.arange(1, n + 1) / n)

    below = 2 ** int(math.log2(num_heads))
    return np.concatenate([powers(below), powers(2 * below)[::2][: num_heads - below]])


@keras.saving.register_keras_serializable("keras_transformer")
class AlibiPositionBias(keras.layers.Layer):
    """A penalty that grows with distance, another slope for each head (Press et al. 2022, 3).

    Args:
        num_heads: number of attention heads.

    Call args:
        query_positions: integer ``[queries]``.
        key_positions: integer ``[keys]``.

    Returns:
        Bias ``[1, heads, queries, keys]``: ``-slope * |query - key|``.

    >>> AlibiPositionBias(num_heads=2)(ops.arange(2), ops.arange(2)).numpy()[0, 0].tolist()
    [[-0.0, -0.0625], [-0.0625, -0.0]]
    """

    def __init__(self, num_heads: int, **kwargs: Any):
        super().__init__(**kwargs)
        check_at_least(1, num_heads=num_heads)
        self.num_heads = num_heads

    def build(self, *input_shapes: tuple) -> None:
        pass  # nothing is learned

    def call(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        distance = ops.abs(key_positions[None, :] - query_positions[:, None])  # [queries, keys]
        dtype = keras.backend.result_type(self.compute_dtype, "float32")
        slopes = ops.cast(alibi_slopes(self.num_heads), dtype)[:, None, None]
        return (-slopes * ops.cast(distance, dtype))[None]  # [1, heads, queries, keys]

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"num_heads": self.num_heads}
