"""Equality with the attention layers of Keras itself, with copied weights."""

import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose

from keras_transformer.layers import MultiHeadAttention

ROWS, QUERIES, KEYS, WIDTH, HEADS, KEY_DIM, VALUE_DIM = 3, 5, 7, 12, 4, 6, 5


def inputs(seed=0):
    random = np.random.default_rng(seed)
    query = random.normal(size=(ROWS, QUERIES, WIDTH)).astype("float32")
    value = random.normal(size=(ROWS, KEYS, WIDTH)).astype("float32")
    key = random.normal(size=(ROWS, KEYS, WIDTH)).astype("float32")
    mask = random.random((ROWS, QUERIES, KEYS)) < 0.6
    mask[..., 0] = True  # a row with all keys hidden is another matter: Keras' own averages there
    return query, value, key, mask


def copy_weights(theirs, ours):
    """Keras keeps heads on an axis of their own: [width, heads, dim]."""
    for name, dense in (
        ("query", ours.query_dense),
        ("key", ours.key_dense),
        ("value", ours.value_dense),
    ):
        kernel, *bias = (w.numpy() for w in getattr(theirs, f"_{name}_dense").weights)
        dense.kernel.assign(kernel.reshape(dense.kernel.shape))
        if bias:
            dense.bias.assign(bias[0].reshape(-1))
    kernel, *bias = (w.numpy() for w in theirs._output_dense.weights)
    ours.output_dense.kernel.assign(kernel.reshape(ours.output_dense.kernel.shape))
    if bias:
        ours.output_dense.bias.assign(bias[0])


@pytest.mark.parametrize("use_bias", [True, False])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_multi_head_attention(use_bias, causal, masked):
    options = {"value_dim": VALUE_DIM, "use_bias": use_bias}
    theirs = keras.layers.MultiHeadAttention(HEADS, KEY_DIM, bias_initializer="normal", **options)
    ours = MultiHeadAttention(HEADS, KEY_DIM, **options)
    query, value, key, mask = inputs()
    theirs(query, value, key)
    ours(query, value, key)
    copy_weights(theirs, ours)
    arguments = {
        "attention_mask": mask if masked else None,
        "use_causal_mask": causal,
        "return_attention_scores": True,
    }
    expected, expected_weights = theirs(query, value, key, **arguments)
    output, weights = ours(query, value, key, **arguments)
    assert_allclose(output, expected, atol=1e-5)
    assert_allclose(weights, expected_weights, atol=1e-5)


def test_self_attention_and_another_output_width():
    theirs = keras.layers.MultiHeadAttention(HEADS, KEY_DIM, output_shape=9)
    ours = MultiHeadAttention(HEADS, KEY_DIM, output_dim=9)
    x, *_ = inputs()
    theirs(x, x)
    ours(x)
    copy_weights(theirs, ours)
    expected = theirs(x, x, use_causal_mask=True)
    assert_allclose(ours(x, use_causal_mask=True), expected, atol=1e-5)
    assert_allclose(ours(x, x, use_causal_mask=True), expected, atol=1e-5)


@pytest.mark.parametrize("key_value_heads", [1, 2, 4])
@pytest.mark.parametrize("causal", [True, False])
def test_grouped_query_attention(key_value_heads, causal):
    theirs = keras.layers.GroupQueryAttention(
        KEY_DIM, HEADS, key_value_heads, bias_initializer="normal"
    )
    ours = MultiHeadAttention(HEADS, KEY_DIM, num_key_value_heads=key_value_heads)
    query, value, key, mask = inputs()
    theirs(query, value, key)
    ours(query, value, key)
    copy_weights(theirs, ours)
    arguments = {
        "attention_mask": mask,
        "use_causal_mask": causal,
        "return_attention_scores": True,
    }
    expected, expected_weights = theirs(query, value, key, **arguments)
    output, weights = ours(query, value, key, **arguments)
    assert_allclose(output, expected, atol=1e-5)
    assert_allclose(weights, expected_weights, atol=1e-5)
