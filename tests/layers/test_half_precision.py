"""What must not be left in half precision: softmax, norms, angles, biases, logits."""

import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose

from keras_transformer import layers
from keras_transformer.layers.positions import sinusoidal_table

HALVES = {"mixed_float16": "float16", "mixed_bfloat16": "bfloat16"}


def rounded(x, dtype):
    """Float32 numbers that the half-precision type can hold exactly."""
    return keras.ops.convert_to_numpy(keras.ops.cast(keras.ops.cast(x, dtype), "float32"))


@pytest.mark.parametrize("policy", HALVES)
@pytest.mark.parametrize("norm", ["layer_norm", "rms_norm"])
def test_norms_of_large_activations_are_right(policy, norm):
    """Width 512 and activations of about 300: the sum of squares is far beyond float16."""
    x = np.random.default_rng(0).normal(0.0, 300.0, size=(2, 3, 512)).astype("float32")
    x = rounded(x, HALVES[policy])
    half, full = (layers.ResidualConnection(norm=norm, dtype=d) for d in (policy, "float32"))
    results = [keras.ops.cast(c(x, sublayer=lambda t: 0 * t), "float32") for c in (half, full)]
    assert half(x, sublayer=lambda t: 0 * t).dtype == HALVES[policy]
    assert np.all(np.isfinite(results[0]))
    assert_allclose(results[0], results[1], atol=1e-2)


@pytest.mark.parametrize("policy", HALVES)
def test_sinusoids_at_far_positions_are_as_exact_as_the_type_allows(policy):
    layer = layers.SinusoidalPositions(dtype=policy)
    result = layer(np.zeros((1, 1025, 16), "float32"))
    assert result.dtype == HALVES[policy]
    largest_rounding = {"mixed_float16": 2**-11, "mixed_bfloat16": 2**-8}[policy] * 1.2
    error = np.abs(keras.ops.cast(result[0], "float32") - sinusoidal_table(1025, 16))
    assert error.max() < largest_rounding


@pytest.mark.parametrize("policy", HALVES)
def test_rotary_angles_at_far_positions_keep_the_distance(policy):
    layer = layers.RotaryPositions(dtype=policy)
    x = np.random.default_rng(0).normal(size=(1, 1, 1, 8)).astype("float32")

    def product(query, key):
        turned = [
            keras.ops.cast(layer(x, positions=np.array([p])), "float32") for p in (query, key)
        ]
        return float(keras.ops.sum(turned[0] * turned[1]))

    assert abs(product(3, 1) - product(4003, 4001)) < 0.02 * float((x**2).sum())


@pytest.mark.parametrize("policy", HALVES)
def test_alibi_tells_far_neighbours_apart(policy):
    """Distances 1000 and 1001 are the same number in bfloat16."""
    bias = layers.AlibiPositionBias(2, dtype=policy)
    attention = layers.MultiHeadAttention(2, 4, position_bias=bias, dtype=policy)
    x = np.zeros((1, 1100, 8), "float32")
    _, weights = attention(x, return_attention_scores=True)
    weights = weights.numpy()[0, 1, 1050].astype("float64")  # one query of the head with slope 2^-8
    slope = 2.0**-8
    assert_allclose(np.log(weights[50] / weights[49]), slope, rtol=1e-2)


@pytest.mark.parametrize("policy", HALVES)
def test_attention_weights_are_float32_and_sum_to_one(policy):
    attention = layers.MultiHeadAttention(2, 4, dtype=policy)
    x = np.random.default_rng(0).normal(size=(1, 200, 8)).astype("float32")
    output, weights = attention(x, return_attention_scores=True)
    assert output.dtype == HALVES[policy] and weights.dtype == "float32"
    assert_allclose(weights.numpy().sum(-1), 1.0, rtol=1e-5)


@pytest.mark.parametrize("policy", HALVES)
def test_loss_over_32k_classes_with_a_logit_of_40_is_that_of_float32(policy):
    random = np.random.default_rng(0)
    table = random.normal(size=(32000, 64)).astype("float32") / 8
    hidden = 40 * table[:1] / (table[0] ** 2).sum()  # token 0 gets the logit 40
    table, hidden = rounded(table, HALVES[policy]), rounded(hidden, HALVES[policy])
    losses = []
    for dtype in (policy, "float32"):
        embedding = layers.TokenEmbedding(32000, 64, dtype=dtype)
        embedding.build()
        embedding.embeddings.assign(table)
        logits = embedding(keras.ops.cast(hidden, embedding.compute_dtype), reverse=True)
        assert logits.dtype == "float32"
        assert abs(float(logits[0, 0]) - 40) < 0.5
        labels = np.arange(4)
        losses.append(
            keras.ops.sparse_categorical_crossentropy(
                labels, keras.ops.repeat(logits, 4, axis=0), from_logits=True
            )
        )
    assert_allclose(losses[0], losses[1], atol=1e-2)


@pytest.mark.parametrize("policy", HALVES)
def test_outputs_follow_the_policy_and_variables_stay_float32(policy):
    layer = layers.EncoderLayer(2, 16, dtype=policy, rotary=layers.RotaryPositions(dtype=policy))
    output = layer(np.ones((1, 3, 8), "float32"))
    assert output.dtype == HALVES[policy]
    assert {w.dtype for w in layer.weights} == {"float32"}
