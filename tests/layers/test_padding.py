"""Padding never shows, whatever stands in it; a query without keys gives zeros, never NaN."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose

from keras_transformer import layers
from keras_transformer.layers.dot_product_attention import dot_product_attention

POLICIES = ["float32", "mixed_float16", "mixed_bfloat16"]
BLOCK = {"num_heads": 2, "intermediate_size": 16}


def real_and_padded(length, padding, value, seed=0):
    """A real sentence, and the same one with padding of a given value, above a longer one."""
    random = np.random.default_rng(seed)
    real = random.normal(size=(1, length, 8)).astype("float32")
    padded = np.full((2, length + padding, 8), value, "float32")
    padded[0, :length] = real[0]
    padded[1] = random.normal(size=padded[1].shape)
    mask = np.ones(padded.shape[:2], bool)
    mask[0, length:] = False
    return real, padded, mask


@pytest.mark.parametrize("depth", [2, 6])
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("padding_value", [1e4, -1e6, np.nan, np.inf])
def test_padding_does_not_show_through_stacks_of_encoder_layers(depth, norm_first, padding_value):
    encoder = layers.Encoder(depth, norm_first=norm_first, final_norm=norm_first, **BLOCK)
    real, padded, mask = real_and_padded(4, 3, padding_value)
    assert_allclose(encoder(padded, attention_mask=mask)[:1, :4], encoder(real), atol=1e-5)


@pytest.mark.parametrize("depth", [2, 6])
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("padding_value", [1e4, np.nan])
def test_padding_of_source_and_target_does_not_show_through_the_decoder(
    depth, norm_first, padding_value
):
    decoder = layers.Decoder(depth, norm_first=norm_first, final_norm=norm_first, **BLOCK)
    target, padded_target, mask = real_and_padded(4, 1, padding_value, seed=1)  # 5 positions
    source, padded_source, memory_mask = real_and_padded(
        4, 3, -padding_value, seed=2
    )  # 7 positions
    alone = decoder(target, source)
    padded = decoder(padded_target, padded_source, attention_mask=mask, memory_mask=memory_mask)
    assert padded.shape == (2, 5, 8)
    assert_allclose(padded[:1, :4], alone, atol=1e-5)


@pytest.mark.parametrize("shape", [(2, 1, 1, 3), (1, 1, 3), (3,), (2, 4, 5, 3)])
def test_hidden_values_that_are_no_numbers_do_not_show(shape):
    """For any mask that broadcasts, and two query heads for each key head."""
    random = np.random.default_rng(0)
    query = random.normal(size=(2, 4, 5, 4)).astype("float32")
    keys = random.normal(size=(2, 2, 3, 4)).astype("float32")
    mask = np.broadcast_to([True, False, True], shape)
    expected, _ = dot_product_attention(query, keys, keys, mask=mask)
    broken = keys.copy()
    broken[:, :, 1] = np.nan
    found, _ = dot_product_attention(query, broken, broken, mask=mask)
    assert np.array_equal(found, expected)


def test_weights_of_hidden_keys_are_exactly_zero():
    _, padded, mask = real_and_padded(4, 3, 1e4)
    attention = layers.MultiHeadAttention(2, 4)
    _, weights = attention(padded, attention_mask=mask, return_attention_scores=True)
    assert np.all(weights.numpy()[0, :, :, 4:] == 0.0)
    assert_allclose(weights.numpy().sum(-1), 1.0, rtol=1e-6)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_large_padding_does_not_show_in_half_precision(policy):
    encoder = layers.Encoder(2, dtype=policy, **BLOCK)
    real, padded, mask = real_and_padded(4, 3, 1e4)
    alone = tf.cast(encoder(real), "float32")
    beside = tf.cast(encoder(padded, attention_mask=mask), "float32")
    assert np.all(np.isfinite(beside))
    assert_allclose(
        beside[:1, :4], alone, atol={"mixed_float16": 4e-3, "mixed_bfloat16": 3e-2}[policy]
    )


def test_very_low_scores_are_still_above_hidden_ones():
    x = np.random.default_rng(0).normal(size=(1, 2, 3, 4)).astype("float32")
    mask = np.array([True, True, False])[None, None, None]
    low = np.full((1, 2, 3, 3), -1e6, "float32")
    _, weights = dot_product_attention(x, x, x, mask=mask, bias=low)
    assert_allclose(np.sum(weights, axis=-1), 1.0, rtol=1e-6)
    assert np.all(weights.numpy()[..., 2] == 0.0)


@pytest.mark.parametrize("keys", [1, 3])
def test_a_query_that_may_attend_to_nothing_gets_zeros(keys):
    x = np.random.default_rng(0).normal(size=(2, 2, 3, 4)).astype("float32")
    mask = np.array([True, False])[:, None, None, None] & np.ones((1, 1, 1, keys), bool)
    context, weights = dot_product_attention(x, x[:, :, :keys], x[:, :, :keys], mask=mask)
    assert np.all(context.numpy()[1] == 0.0) and np.all(weights.numpy()[1] == 0.0)
    alone, _ = dot_product_attention(x[:1], x[:1, :, :keys], x[:1, :, :keys])
    assert_allclose(context[:1], alone, atol=1e-6)


def dense(gradients):
    """Gradients as arrays."""
    return [tf.convert_to_tensor(gradient).numpy() for gradient in gradients]


FULLY_MASKED = {
    "attention": (lambda **o: layers.MultiHeadAttention(2, 4, **o), "attention_mask"),
    "encoder": (lambda **o: layers.Encoder(2, **BLOCK, **o), "attention_mask"),
    "pre_norm_rms_encoder": (
        lambda **o: layers.Encoder(2, norm_first=True, norm="rms_norm", **BLOCK, **o),
        "attention_mask",
    ),
    "decoder": (lambda **o: layers.Decoder(2, **BLOCK, **o), "memory_mask"),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", FULLY_MASKED)
def test_a_row_with_all_keys_hidden_is_finite_in_value_and_gradient(name, policy):
    make, mask_name = FULLY_MASKED[name]
    layer = make(dtype=policy)
    random = np.random.default_rng(0)
    x = tf.Variable(random.normal(size=(2, 3, 8)).astype("float32"))
    memory = random.normal(size=(2, 3, 8)).astype("float32")
    mask = np.array([[True, True, False], [False, False, False]])

    def run(rows):
        others = (memory[rows],) if name == "decoder" else ()
        return tf.cast(layer(x[rows], *others, **{mask_name: mask[rows]}), "float32")

    run(slice(0, 2))
    with tf.GradientTape() as tape:
        output = run(slice(0, 2))
        loss = tf.reduce_sum(output[:1] ** 2)  # the hidden row contributes nothing
    gradients = tape.gradient(loss, [x, *(w.value for w in layer.trainable_weights)])
    with tf.GradientTape() as tape:
        alone = run(slice(0, 1))
        loss = tf.reduce_sum(alone**2)
    gradients_alone = tape.gradient(loss, [x, *(w.value for w in layer.trainable_weights)])

    assert np.all(np.isfinite(output))
    tolerance = {"float32": 1e-5, "mixed_float16": 1e-2, "mixed_bfloat16": 5e-2}[policy]
    assert_allclose(output[:1], alone, atol=tolerance)
    for gradient, expected in zip(dense(gradients), dense(gradients_alone), strict=True):
        assert np.all(np.isfinite(gradient))
        assert_allclose(gradient, expected, atol=tolerance * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("policy", POLICIES)
def test_gradients_through_a_hidden_row_itself_are_finite(policy):
    layer = layers.Encoder(2, dtype=policy, **BLOCK)
    x = np.random.default_rng(0).normal(size=(1, 3, 8)).astype("float32")
    layer(x)
    with tf.GradientTape() as tape:
        output = layer(x, attention_mask=np.zeros((1, 3), bool))
        loss = tf.reduce_mean(tf.cast(output, "float32") ** 3)
    for gradient in tape.gradient(loss, [w.value for w in layer.trainable_weights]):
        assert np.all(np.isfinite(gradient))


def test_a_hidden_row_gives_the_output_of_a_zero_context():
    attention = layers.MultiHeadAttention(2, 4)
    x = np.random.default_rng(0).normal(size=(1, 3, 8)).astype("float32")
    attention(x)
    attention.output_dense.bias.assign(np.arange(8.0))
    output = attention(x, attention_mask=np.zeros((1, 3), bool))
    assert_allclose(output[0], [np.arange(8.0)] * 3)


def test_position_biases_do_not_lift_hidden_keys():
    bias = layers.BucketedPositionBias(2, num_buckets=8, max_distance=16)
    attention = layers.MultiHeadAttention(2, 4, position_bias=bias)
    x = np.random.default_rng(0).normal(size=(1, 5, 8)).astype("float32")
    attention.build(x.shape)
    bias.embeddings.assign(keras.ops.full((8, 2), 1e6))
    mask = np.array([[True, True, True, False, False]])
    _, weights = attention(x, attention_mask=mask, return_attention_scores=True)
    assert np.all(weights.numpy()[..., 3:] == 0.0)
