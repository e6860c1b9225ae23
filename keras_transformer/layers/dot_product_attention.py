"""Scaled dot-product attention (Vaswani et al. 2017, 3.2.1): softmax(Q K^T / sqrt(d_k)) V."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_transformer.layers.attention_products import query_key_product, weight_value_product

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
    if mask is None:
        return _softmax(scores)
    weights = _softmax(masked_scores(scores, mask))
    return ops.where(mask, weights, ops.cast(0.0, dtype))


def masked_scores(scores: Tensor, mask: Tensor) -> Tensor:
    """The scores, and where masked a number so low that its softmax is 0.

    >>> masked_scores(ops.ones((1, 2)), ops.convert_to_tensor([[True, False]])).numpy().tolist()
    [[1.0, -1.0000000150474662e+30]]
    """
    # A large finite number, not -inf: a row of -inf alone would be NaN.
    return ops.where(mask, scores, ops.cast(-1e30, scores.dtype))


def _softmax(scores: Tensor) -> Tensor:
    if scores.shape[-1] == 1:  # an ordinary thing here, of which Keras warns
        return ops.ones_like(scores)
    if scores.shape[-2] == 1:  # a decoding step: cheaper than the softmax op, which is for much
        return ops.exp(ops.log_softmax(scores, axis=-1))
    return ops.softmax(scores, axis=-1)


def dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    dropout: Callable[[Tensor], Tensor] | None = None,
    values_are_finite: bool = False,
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
        values_are_finite: whether the values of hidden keys are known to be finite, as those in a
            cache are. Otherwise the values at keys that no query may attend to are taken for 0,
            since NaN and infinity would show through a weight of 0. (Their gradient may be NaN.)

    Returns:
        The context ``[batch, heads, queries, value_dim]`` in the value's dtype, and the weights
        ``[batch, heads, queries, keys]`` in at least float32, before dropout.

    >>> import numpy as np
    >>> x = np.array([[[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]]], "float32")
    >>> context, weights = dot_product_attention(x, x, x)
    >>> [round(float(weight), 4) for weight in weights[0, 0, 0]]
    [0.4011, 0.1978, 0.4011]
    """
    if mask is not None and not values_are_finite:
        value = ops.where(_visible(mask), value, ops.zeros((), value.dtype))
    heads, key_dim = query.shape[1], query.shape[-1]
    kv_heads = key.shape[1]
    groups = heads // kv_heads
    scale = key_dim**-0.5 if scale is None else scale
    query = query * ops.convert_to_tensor(scale, query.dtype)  # a cast would round to float32
    if groups > 1:
        batch, queries = ops.shape(query)[0], ops.shape(query)[2]
        # The group of heads that shares a key head is folded into the query axis: keys are never
        # tiled.
        query = ops.reshape(query, (batch, kv_heads, groups * queries, key_dim))
    # [batch, kv_heads, groups * queries, keys]
    scores = query_key_product(query, key)
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
    # [batch, kv_heads, groups * queries, value_dim]
    context = weight_value_product(probabilities, value)
    if groups > 1:
        context = ops.reshape(context, (batch, heads, queries, value.shape[-1]))
    return context, weights


def _visible(mask: Tensor) -> Tensor:
    """Which keys any query of any head may attend to: ``[batch, 1, keys, 1]``."""
    for _ in range(4 - len(mask.shape)):
        mask = mask[None]
    return ops.any(mask, axis=(1, 2))[:, None, :, None]
