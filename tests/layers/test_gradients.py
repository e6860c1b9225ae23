"""Gradients against central differences in float64, along random directions of each weight."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from layers import gallery
from numpy.testing import assert_allclose

from keras_transformer import layers
from keras_transformer.layers import masks

BLOCK = {"num_heads": 2, "intermediate_size": 12, "hidden_act": "gelu", "dtype": "float64"}
STEP = 1e-5


def attention(**options):
    return layers.MultiHeadAttention(num_heads=4, key_dim=4, dtype="float64", **options)


CASES = {
    "attention": (
        attention,
        lambda layer, x, memory, mask, memory_mask: layer(x, attention_mask=mask),
    ),
    "cross_attention_grouped": (
        lambda: attention(num_key_value_heads=2, value_dim=3),
        lambda layer, x, memory, mask, memory_mask: layer(x, memory, attention_mask=memory_mask),
    ),
    "attention_rotary_bucketed": (
        lambda: attention(
            rotary=layers.RotaryPositions(dtype="float64"),
            position_bias=layers.BucketedPositionBias(
                4, num_buckets=8, max_distance=16, dtype="float64"
            ),
        ),
        lambda layer, x, memory, mask, memory_mask: layer(x, use_causal_mask=True),
    ),
    "gated_feed_forward": (
        lambda: layers.FeedForward(12, hidden_act="silu", gated=True, dtype="float64"),
        lambda layer, x, memory, mask, memory_mask: layer(x),
    ),
    "encoder_layer": (
        lambda: layers.EncoderLayer(**BLOCK),
        lambda layer, x, memory, mask, memory_mask: layer(x, attention_mask=mask),
    ),
    "packed_pre_norm_encoder_layer": (
        lambda: layers.EncoderLayer(**BLOCK, norm_first=True, norm="rms_norm"),
        lambda layer, x, memory, mask, memory_mask: layer(
            x, attention_mask=masks.segment_mask(gallery.inputs()["segments"])
        ),
    ),
    "decoder_layer": (
        lambda: layers.DecoderLayer(**BLOCK),
        lambda layer, x, memory, mask, memory_mask: layer(
            x, memory, attention_mask=mask, memory_mask=memory_mask
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_equal_central_differences(name):
    make, call = CASES[name]
    values = gallery.inputs()
    x = tf.Variable(values["hidden"].astype("float64"))
    memory = tf.Variable(values["memory"].astype("float64"))
    # One row may attend to nothing at all: its gradient is part of the check.
    mask, memory_mask = values["mask"].copy(), values["memory_mask"].copy()
    mask[1], memory_mask[1] = False, False
    layer = make()
    call(layer, x, memory, mask, memory_mask)
    gallery.randomise(layer)
    random = np.random.default_rng(2)
    projection = random.normal(size=(2, 5, 8))

    @tf.function
    def loss():
        return tf.reduce_sum(call(layer, x, memory, mask, memory_mask) * projection)

    variables = [x, memory, *(w.value for w in layer.trainable_weights)]
    assert all(v.dtype == "float64" for v in variables)
    with tf.GradientTape() as tape:
        value = loss()
    gradients = tape.gradient(value, variables, unconnected_gradients="zero")
    for variable, gradient in zip(variables, gradients, strict=True):
        direction = random.normal(size=variable.shape)
        before = variable.numpy()
        variable.assign(before + STEP * direction)
        above = loss().numpy()
        variable.assign(before - STEP * direction)
        below = loss().numpy()
        variable.assign(before)
        slope = np.sum(tf.convert_to_tensor(gradient).numpy() * direction)
        assert_allclose((above - below) / (2 * STEP), slope, rtol=1e-6, atol=1e-7)


def test_gradient_of_the_embedding_and_its_tied_projection():
    embedding = layers.TokenEmbedding(7, 4, dtype="float64")
    ids = np.array([[1, 2, 2, 0]])
    embedding(ids)
    projection = np.random.default_rng(0).normal(size=(1, 4, 7))
    direction = np.random.default_rng(1).normal(size=(7, 4))
    table = embedding.embeddings

    def loss():
        return keras.ops.sum(embedding(embedding(ids), reverse=True) * projection)

    with tf.GradientTape() as tape:
        value = loss()
    gradient = tf.convert_to_tensor(tape.gradient(value, table.value)).numpy()
    before = table.numpy()
    differences = []
    for sign in (1, -1):
        table.assign(before + sign * STEP * direction)
        differences.append(sign * loss().numpy())
    assert_allclose(sum(differences) / (2 * STEP), np.sum(gradient * direction), rtol=1e-7)
