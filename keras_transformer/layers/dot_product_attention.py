"""Scaled dot-product attention (Vaswani et al. 2017, 3.2.1): softmax(Q K^T / sqrt(d_k)) V."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

Tensor = Any


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the last axis among the allowed cells, in at least float32.

    A row that may attend to nothing gives zeros, in value and in gradient, never NaN.

    Args:
        scores: ``[..., queries, keys]``.
        mask: boolean that broadcasts to the scores, or ``None``.

    Returns:
        Weights of the scores' shape, float32 (float64 for float64 scores); exactly 0 where masked.
    """
    dtype = keras.backend.result_type(keras.backend.standardize_dtype(scores.dtype), "float32")
    scores = ops.cast(scores, dtype)
    if mask is not None:
        # A large finite number, not -inf: a row of -inf alone would be NaN.
        scores = ops.where(mask, scores, ops.cast(-1e30, dtype))
    # Keras warns about a softmax over a single key, which is an ordinary thing here.
    weights = ops.ones_like(scores) if scores.shape[-1] == 1 else ops.softmax(scores, axis=-1)
    return weights if mask is None else ops.where(mask, weights, ops.cast(0.0, dtype))


def dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    dropout: Callable[[Tensor], Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Attention in which several query heads may share a key/value head (Ainslie et al. 2023).

    Args:
        query: ``[batch, heads, queries, key_dim]``.
        key: ``[batch, kv_heads, keys, key_dim]``; ``heads`` is a multiple of ``kv_heads``.
        value: ``[batch, kv_heads, keys, value_dim]``.
        mask: boolean that broadcasts to ``[batch, heads, queries, keys]``, ``True`` = may be
            attended.
        bias: added to the scaled scores, broadcasts to ``[batch, heads, queries, keys]``.
        scale: factor on the scores, ``key_dim ** -0.5`` by default.
        dropout: applied to the weights, after the softmax.

    Returns:
        The context ``[batch, heads, queries, value_dim]`` in the value's dtype, and the weights
        ``[batch, heads, queries, keys]`` in at least float32, before dropout.

    >>> import numpy as np
    >>> x = np.array([[[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]]], "float32")
    >>> context, weights = dot_product_attention(x, x, x)
    >>> [round(float(weight), 4) for weight in weights[0, 0, 0]]
    [0.4011, 0.1978, 0.4011]
    """
    heads, key_dim = query.shape[1], query.shape[-1]
    kv_heads = key.shape[1]
    groups = heads // kv_heads
    query = query * ops.cast(key_dim**-0.5 if scale is None else scale, query.dtype)
    if groups > 1:
        batch, queries = ops.shape(query)[0], ops.shape(query)[2]
        # The group of heads that shares a key head is folded into the query axis: keys are never
        # tiled.
        query = ops.reshape(query, (batch, kv_heads, groups * queries, key_dim))
    # [batch, kv_heads, groups * queries, keys]
    scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))
    if groups > 1:
        keys = ops.shape(key)[2]
        scores = ops.reshape(scores, (batch, heads, queries, keys))  # [batch, heads, queries, keys]
    if bias is not None:
        # Half precision would round the biases of neighbouring far positions to the same number.
        dtype = keras.backend.result_type(keras.backend.standardize_dtype(scores.dtype), "float32")
        scores = ops.cast(scores, dtype) + ops.cast(bias, dtype)
    weights = masked_softmax(scores, mask)  # [batch, heads, queries, keys]
    probabilities = ops.cast(weights if dropout is None else dropout(weights), value.dtype)
    if groups > 1:
        probabilities = ops.reshape(probabilities, (batch, kv_heads, groups * queries, keys))
    context = ops.matmul(probabilities, value)  # [batch, kv_heads, groups * queries, value_dim]
    if groups > 1:
        context = ops.reshape(context, (batch, heads, queries, value.shape[-1]))
    return context, weights
