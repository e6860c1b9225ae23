"""Weights and gradients of torch's Transformer modules, by the names and in the shapes of ours."""

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import torch

from keras_transformer import layers


def attention(ours: layers.MultiHeadAttention, theirs: Any) -> Iterator[tuple[Any, Any]]:
    """Pairs of our variables and the torch tensors that hold the same, for attention."""
    for i, dense in enumerate((ours.query_dense, ours.key_dense, ours.value_dense)):
        yield dense.kernel, (theirs.in_proj_weight, i)
        if ours.use_bias:
            yield dense.bias, (theirs.in_proj_bias, i)
    yield from linear(ours.output_dense, theirs.out_proj)


def linear(ours: keras.layers.Dense, theirs: Any) -> Iterator[tuple[Any, Any]]:
    """The same for a linear map."""
    yield ours.kernel, (theirs.weight, None)
    if ours.use_bias:
        yield ours.bias, (theirs.bias, None)


def norm(ours: keras.layers.LayerNormalization, theirs: Any) -> Iterator[tuple[Any, Any]]:
    """The same for a norm."""
    yield ours.gamma, (theirs.weight, None)
    yield ours.beta, (theirs.bias, None)


def layer(ours: Any, theirs: Any) -> Iterator[tuple[Any, Any]]:
    """The same for an encoder or decoder layer."""
    yield from attention(ours.self_attention, theirs.self_attn)
    yield from norm(ours.self_attention_residual.norm, theirs.norm1)
    norms = [theirs.norm2]
    if isinstance(ours, layers.DecoderLayer):
        yield from attention(ours.cross_attention, theirs.multihead_attn)
        yield from norm(ours.cross_attention_residual.norm, theirs.norm2)
        norms = [theirs.norm3]
    yield from linear(ours.feed_forward.input_dense, theirs.linear1)
    yield from linear(ours.feed_forward.output_dense, theirs.linear2)
    yield from norm(ours.feed_forward_residual.norm, norms[0])


def stack(ours: Any, theirs: Any) -> Iterator[tuple[Any, Any]]:
    """The same for an encoder or decoder."""
    for our_layer, their_layer in zip(ours.layers, theirs.layers, strict=True):
        yield from layer(our_layer, their_layer)
    if ours.final_norm:
        yield from norm(ours.norm, theirs.norm)
    else:
        assert theirs.norm is None


def as_ours(tensor: torch.Tensor, third: int | None) -> np.ndarray:
    """A torch weight or gradient in our shape: a third if q, k, v are one, matrices transposed."""
    values = tensor.detach().numpy()
    values = values if third is None else np.split(values, 3)[third]
    return values.T if values.ndim == 2 else values


def copy(pairs: list[tuple[Any, Any]]) -> None:
    """Gives our variables torch's values, after giving torch's values that matter."""
    with torch.no_grad():
        for _, (tensor, _third) in pairs:
            if tensor.ndim == 1:  # biases of zero and gains of one hide mistakes
                torch.nn.init.normal_(tensor, std=0.3)
    for variable, (tensor, third) in pairs:
        variable.assign(as_ours(tensor, third))
