"""Positions: sinusoids, learned tables, rotations, buckets and slopes."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose, assert_array_equal

from keras_transformer import layers
from keras_transformer.layers.position_bias import alibi_slopes
from keras_transformer.layers.positions import sinusoidal_table


def formula(position, feature, width):
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos of the same."""
    angle = position / 10000 ** (2 * (feature // 2) / width)
    return np.cos(angle) if feature % 2 else np.sin(angle)


@pytest.mark.parametrize("width", [1, 5, 7, 8])
def test_sinusoids_of_odd_and_even_widths(width):
    expected = [[formula(p, f, width) for f in range(width)] for p in range(50)]
    layer = layers.SinusoidalPositions()
    assert_allclose(layer(np.zeros((1, 50, width), "float32"))[0], expected, atol=1e-5)
    assert_allclose(sinusoidal_table(50, width), expected, atol=1e-12)


@pytest.mark.parametrize(
    "layer",
    [layers.SinusoidalPositions(), layers.LearnedPositions(20)],
    ids=["sinusoidal", "learned"],
)
def test_given_positions_choose_the_vectors(layer):
    x = np.zeros((2, 6, 8), "float32")
    natural = layer(x)
    assert_allclose(layer(x, positions=np.arange(6)), natural)
    shifted = layer(x[:, :3], positions=np.array([[0, 1, 2], [3, 4, 5]]))
    assert_allclose(shifted[0], natural[0, :3])
    assert_allclose(shifted[1], natural[0, 3:])


def test_inputs_as_long_as_the_learned_table_fit_and_longer_ones_are_refused():
    layer = layers.LearnedPositions(512)
    assert layer(np.zeros((1, 512, 2), "float32")).shape == (1, 512, 2)
    for length in (513, 600):
        with pytest.raises(ValueError, match=f"{length} positions.*max_position_embeddings=512"):
            layer(np.zeros((1, length, 2), "float32"))


def test_too_long_inputs_are_refused_in_a_graph_of_unknown_length_too():
    layer = layers.LearnedPositions(8)
    layer.build((None, None, 2))
    graph = tf.function(layer, input_signature=[tf.TensorSpec((None, None, 2))])
    assert graph(tf.zeros((1, 8, 2))).shape == (1, 8, 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Incompatible shapes: .*\[8,2\]"):
        graph(tf.zeros((1, 9, 2)))
    operations = graph.get_concrete_function().graph.get_operations()
    # On a GPU a look-up beyond the table would give zeros.
    assert not [op.type for op in operations if "Gather" in op.type]


def test_rotated_products_depend_on_the_distance_only():
    layer = layers.RotaryPositions()
    random = np.random.default_rng(0)
    query, key = random.normal(size=(2, 1, 1, 1, 8)).astype("float32")

    def product(query_position, key_position):
        turned_query = layer(query, positions=np.array([query_position]))
        turned_key = layer(key, positions=np.array([key_position]))
        return float(keras.ops.sum(turned_query * turned_key))

    assert abs(product(5, 2) - product(105, 102)) < 1e-4
    assert abs(product(5, 2) - product(5, 3)) > 1e-2


def test_rotation_keeps_lengths_and_starts_from_no_rotation():
    x = np.random.default_rng(0).normal(size=(2, 3, 6, 8)).astype("float32")
    turned = layers.RotaryPositions()(x)
    assert_allclose(turned[:, :, 0], x[:, :, 0], atol=1e-6)
    assert_allclose(np.linalg.norm(turned, axis=-1), np.linalg.norm(x, axis=-1), rtol=1e-5)


def test_rotary_positions_may_differ_between_rows():
    layer = layers.RotaryPositions()
    x = np.random.default_rng(0).normal(size=(1, 2, 3, 4)).astype("float32")
    both = layer(np.concatenate([x, x]), positions=np.array([[0, 1, 2], [4, 5, 6]]))
    assert_allclose(both[:1], layer(x), atol=1e-6)
    assert_allclose(both[1:], layer(x, positions=np.array([4, 5, 6])), atol=1e-6)


def test_rotary_attention_ignores_a_common_shift():
    attention = layers.MultiHeadAttention(2, 4, rotary=layers.RotaryPositions())
    x = np.random.default_rng(0).normal(size=(1, 5, 8)).astype("float32")
    assert_allclose(attention(x), attention(x, positions=np.arange(5) + 40), atol=1e-4)


def test_bucket_numbers_of_both_directions():
    bias = layers.BucketedPositionBias(1, num_buckets=8, max_distance=16)
    distances = np.array([-40, -16, -9, -4, -3, -2, -1, 0, 1, 2, 3, 4, 9, 16, 40])
    # Four buckets a side: 0, 1, then two that grow up to distance 16.
    expected = [3, 3, 3, 2, 2, 2, 1, 0, 5, 6, 6, 6, 7, 7, 7]
    assert_array_equal(bias.bucket(keras.ops.convert_to_tensor(distances, "int32")), expected)


def test_bucketed_bias_is_the_table_entry_of_the_distance():
    bias = layers.BucketedPositionBias(3, num_buckets=8, max_distance=16, bidirectional=False)
    values = bias(np.arange(2, 5), np.arange(6))
    assert values.shape == (1, 3, 3, 6)
    table = bias.embeddings.numpy()
    assert_allclose(values[0, :, 0, 0], table[2])  # query 2, key 0: distance -2
    assert_allclose(values[0, :, 2, 5], table[0])  # keys after the query count as distance 0
    assert_allclose(values[0, :, 1, 2], table[1])


def test_alibi_slopes():
    assert_allclose(alibi_slopes(8), [2.0**-k for k in range(1, 9)])
    # Twelve heads: those of eight, then every second of sixteen.
    expected = [2.0**-k for k in range(1, 9)] + [2.0**-k for k in (0.5, 1.5, 2.5, 3.5)]
    assert_allclose(alibi_slopes(12), expected)


def test_alibi_bias_falls_with_the_distance():
    values = layers.AlibiPositionBias(2)(np.arange(3, 5), np.arange(5))
    assert values.shape == (1, 2, 2, 5)
    expected = [[3, 2, 1, 0, 1], [4, 3, 2, 1, 0]]
    assert_allclose(values[0, 0], -np.array(expected) / 16)
    assert_allclose(values[0, 1], -np.array(expected) / 256)


@pytest.mark.parametrize("part", ["bucketed", "alibi"])
def test_the_bias_is_added_to_the_scaled_scores(part):
    bias = (
        layers.BucketedPositionBias(2, num_buckets=8, max_distance=16)
        if part == "bucketed"
        else layers.AlibiPositionBias(2)
    )
    attention = layers.MultiHeadAttention(2, 4, position_bias=bias)
    x = np.random.default_rng(0).normal(size=(1, 5, 8)).astype("float32")
    _, weights = attention(x, return_attention_scores=True)
    queries, keys = (
        d(x)[0].numpy().reshape(5, 2, 4).swapaxes(0, 1)
        for d in (attention.query_dense, attention.key_dense)
    )
    scores = queries @ keys.swapaxes(1, 2) / 2.0 + bias(np.arange(5), np.arange(5))[0].numpy()
    expected = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    assert_allclose(weights[0], expected, atol=1e-5)


def test_a_stack_learns_one_bias_for_all_its_layers():
    bias = layers.BucketedPositionBias(2)
    encoder = layers.Encoder(3, num_heads=2, intermediate_size=16, position_bias=bias)
    encoder.build((None, None, 8))
    assert sum(w.shape == (32, 2) for w in encoder.weights) == 1
    assert all(layer.self_attention.position_bias is bias for layer in encoder.layers)
