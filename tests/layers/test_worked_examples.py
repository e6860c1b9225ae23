"""Computations that texts on the Transformer work through by hand, to the printed precision."""

import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose

from keras_transformer.layers import (
    EncoderLayer,
    FeedForward,
    MultiHeadAttention,
    SinusoidalPositions,
)
from keras_transformer.layers.dot_product_attention import dot_product_attention
from keras_transformer.layers.feed_forward import activation_function
from keras_transformer.layers.masks import causal_mask
from keras_transformer.layers.positions import sinusoidal_table
from keras_transformer.models import Transformer, TransformerConfig

FOUR_DIGITS = 5.1e-5


def attention_over(scores, values=None, scale=1.0):
    """Attention of one query whose raw scores are given: keys of width one."""
    keys = np.array(scores, "float32")[None, None, :, None]  # [1, 1, keys, 1]
    values = keys if values is None else np.array(values, "float32")[None, None, :, None]
    context, weights = dot_product_attention(
        np.ones((1, 1, 1, 1), "float32"), keys, values, scale=scale
    )
    return context.numpy().ravel(), weights.numpy().ravel()


def test_self_attention_with_identity_projections():
    attention = MultiHeadAttention(
        num_heads=1, key_dim=2, use_bias=False, kernel_initializer=keras.initializers.Identity()
    )
    x = np.array([[[1, 0], [0, 1], [1, 1]]], "float32")
    output, weights = attention(x, return_attention_scores=True)
    expected = [[0.4011, 0.1978, 0.4011], [0.1978, 0.4011, 0.4011], [0.2483, 0.2483, 0.5035]]
    assert_allclose(weights[0, 0], expected, atol=FOUR_DIGITS)
    expected = [[0.8022, 0.5989], [0.5989, 0.8022], [0.7517, 0.7517]]
    assert_allclose(output[0], expected, atol=FOUR_DIGITS)


def test_attention_with_given_projections():
    attention = MultiHeadAttention(
        num_heads=1,
        key_dim=2,
        output_dim=2,
        use_bias=False,
        kernel_initializer=keras.initializers.Identity(),
    )
    x = np.array([[[1, 0, 1, 0], [0, 2, 0, 2]]], "float32")
    attention.build(x.shape)
    attention.query_dense.kernel.assign([[1, 0], [0, 1], [1, 0], [0, 1]])
    attention.key_dense.kernel.assign([[0, 1], [1, 0], [0, 1], [1, 0]])
    attention.value_dense.kernel.assign([[1, 1], [1, 1], [0, 0], [0, 0]])
    queries, keys = attention.query_dense(x)[0], attention.key_dense(x)[0]
    assert_allclose(queries, [[2, 0], [0, 4]])
    assert_allclose(keys, [[0, 2], [4, 0]])
    assert_allclose(attention.value_dense(x)[0], [[1, 1], [2, 2]])
    assert_allclose(queries @ keys.numpy().T, [[0, 8], [8, 0]])
    output, weights = attention(x, return_attention_scores=True)
    assert_allclose(weights[0, 0], [[0.0035, 0.9965], [0.9965, 0.0035]], atol=FOUR_DIGITS)
    assert_allclose(output[0], [[1.9965, 1.9965], [1.0035, 1.0035]], atol=FOUR_DIGITS)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([112, 96], [0.8808, 0.1192]),
        ([32.5, 28.3, 15.7], [0.5834, 0.3451, 0.0714]),
    ],
)
def test_scores_are_divided_by_the_root_of_the_key_width(scores, expected):
    query = np.zeros((1, 1, 1, 64), "float32")
    query[..., 0] = 1.0
    keys = np.zeros((1, 1, len(scores), 64), "float32")
    keys[0, 0, :, 0] = scores
    _, weights = dot_product_attention(query, keys, keys)
    assert_allclose(weights.numpy().ravel(), expected, atol=FOUR_DIGITS)


@pytest.mark.parametrize(
    ("scores", "temperature", "expected", "tolerance"),
    [
        ([12, 8, 15], 1, [0.0474, 0.0009, 0.9517], FOUR_DIGITS),
        ([5, 2, 1], 1, [0.9362, 0.0466, 0.0171], FOUR_DIGITS),
        ([3.2, 5.1, -1.7], 1, [0.130, 0.869, 0.001], 5.1e-4),
        ([3, 5, -10, 20], 10, [0.1255, 0.1533, 0.0342, 0.6870], FOUR_DIGITS),
        ([3, 5, -10, 20], 1, [0, 0, 0, 0.9999997], 1e-6),
    ],
)
def test_softmax(scores, temperature, expected, tolerance):
    _, weights = attention_over(scores, scale=1 / temperature)
    assert_allclose(weights, expected, atol=tolerance)


def test_attention_is_a_soft_look_up():
    value, weights = attention_over([5, -4, 3, 2, 2.5], values=[1, 2, 3, 4, 5])
    assert_allclose(weights, [0.7891, 0.0001, 0.1068, 0.0393, 0.0648], atol=FOUR_DIGITS)
    assert_allclose(value, [1.5906], atol=FOUR_DIGITS)


def test_sinusoidal_position_two_of_width_four():
    layer = SinusoidalPositions()
    encodings = layer(np.zeros((1, 3, 4), "float32"))
    assert_allclose(encodings[0, 2], [0.9093, -0.4161, 0.0200, 0.9998], atol=FOUR_DIGITS)
    vectors = np.zeros((1, 3, 4), "float32")
    vectors[0, 2] = [0.3, -0.2, 0.7, 0.1]
    assert_allclose(layer(vectors)[0, 2], [1.2093, -0.6161, 0.7200, 1.0998], atol=FOUR_DIGITS)


def test_a_shift_of_position_is_a_rotation_of_each_frequency_pair():
    length, width = 600, 16
    layer = SinusoidalPositions(dtype="float64")(np.zeros((1, length, width), "float64"))[0].numpy()
    for table in (layer, sinusoidal_table(length, width)):
        sines, cosines = table[:, 0::2], table[:, 1::2]  # [length, pairs]
        frequencies = 10000.0 ** (-2 * np.arange(width // 2) / width)
        for shift in range(length):
            cos, sin = np.cos(shift * frequencies), np.sin(shift * frequencies)
            before = slice(0, length - shift)
            assert_allclose(sines[shift:], sines[before] * cos + cosines[before] * sin, atol=1e-6)
            assert_allclose(cosines[shift:], cosines[before] * cos - sines[before] * sin, atol=1e-6)


def test_causal_attention_sees_the_lower_triangle_and_its_weights_sum_to_one():
    assert_allclose(causal_mask(4)[0, 0], np.tril(np.ones((4, 4))))
    x = np.random.default_rng(0).normal(size=(2, 4, 8)).astype("float32")
    attention = MultiHeadAttention(num_heads=2, key_dim=4)
    _, weights = attention(x, use_causal_mask=True, return_attention_scores=True)
    assert np.all(np.triu(weights.numpy(), k=1) == 0.0)
    assert np.all(weights.numpy()[..., *np.tril_indices(4)] > 0.0)
    assert_allclose(weights.numpy().sum(-1), 1.0, rtol=1e-6)


@pytest.mark.parametrize(("width", "heads", "head_width"), [(512, 8, 64), (128, 4, 32)])
def test_the_width_is_divided_among_the_heads(width, heads, head_width):
    layer = EncoderLayer(num_heads=heads, intermediate_size=8)
    layer.build((None, None, width))
    assert layer.self_attention.key_dim == head_width


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(ValueError, match=r"num_heads=8 must divide.*130"):
        EncoderLayer(num_heads=8, intermediate_size=8).build((None, None, 130))
    with pytest.raises(ValueError, match="num_attention_heads=8 must divide hidden_size=130"):
        TransformerConfig(vocab_size=10, hidden_size=130, num_attention_heads=8)


def test_feed_forward_shapes():
    layer = FeedForward(intermediate_size=32)
    assert layer(np.ones((3, 4, 8), "float32")).shape == (3, 4, 8)
    assert layer.input_dense.kernel.shape == (8, 32)
    assert layer.output_dense.kernel.shape == (32, 8)


def test_base_model_of_the_2017_paper_has_about_65_million_parameters():
    model = Transformer(TransformerConfig.preset("base", vocab_size=37000))
    # Only shapes matter here: zeros are made faster than random numbers.
    with pytest.MonkeyPatch.context() as patch:
        for initializer in (keras.initializers.GlorotUniform, keras.initializers.RandomNormal):
            patch.setattr(
                initializer,
                "__call__",
                lambda self, shape, dtype=None: keras.ops.zeros(shape, dtype),
            )
        model.build()
    assert 63e6 <= model.count_params() <= 65e6


def test_scaling_by_the_root_of_the_key_width_gives_scores_of_variance_one():
    random = np.random.default_rng(0)
    query = random.normal(size=(8000, 1, 1, 64)).astype("float32")
    keys = random.normal(size=(8000, 1, 2, 64)).astype("float32")

    def score_difference_variance(scale):
        _, weights = dot_product_attention(query, keys, keys, scale=scale)
        return np.var(np.diff(np.log(weights.numpy().astype("float64")), axis=-1))

    # The logarithms of two weights differ by the difference of their scores: twice the variance.
    assert_allclose(score_difference_variance(None), 2.0, rtol=0.05)
    assert_allclose(np.var((query * keys).sum(-1)), 64.0, rtol=0.05)


def test_scores_of_float64_are_scaled_in_float64():
    random = np.random.default_rng(0)
    query, keys = (random.normal(size=(1, 1, 3, 8)) for _ in range(2))
    _, weights = dot_product_attention(query, keys, keys)
    exponentials = np.exp(query @ np.swapaxes(keys, 2, 3) / np.sqrt(8))
    assert_allclose(weights, exponentials / exponentials.sum(-1, keepdims=True), rtol=1e-13)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sigmoid", [0.1192, 0.5, 0.8808]),
        ("tanh", [-0.9640, 0, 0.9640]),
        ("relu", [0, 0, 2]),
        ("leaky_relu", [-0.02, 0, 2]),
        ("gelu", [-0.0455, 0, 1.9545]),
        ("gelu_tanh", [-0.0454, 0, 1.9546]),
        ("silu", [-0.2384, 0, 1.7616]),
    ],
)
def test_activations(name, expected):
    result = activation_function(name)(np.array([-2.0, 0.0, 2.0], "float32"))
    assert_allclose(keras.ops.convert_to_numpy(result), expected, atol=FOUR_DIGITS)
