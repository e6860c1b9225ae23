"""The feed-forward network computes what its docstring says."""

import numpy as np
import pytest
from layers import gallery
from numpy.testing import assert_allclose

from keras_transformer.layers import FeedForward, ResidualConnection

X = np.random.default_rng(0).normal(size=(2, 3, 8)).astype("float32")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("use_bias", [True, False])
def test_plain(use_bias):
    layer = FeedForward(16, hidden_act="relu", use_bias=use_bias)
    layer(X)
    gallery.randomise(layer)
    weights = [w.numpy() for w in layer.weights]
    assert len(weights) == (4 if use_bias else 2)
    w1, b1, w2, b2 = weights if use_bias else (weights[0], 0, weights[1], 0)
    assert_allclose(layer(X), np.maximum(X @ w1 + b1, 0) @ w2 + b2, atol=1e-5)


def test_gated():
    """SwiGLU: the gate goes through the activation, the other map does not."""
    layer = FeedForward(16, hidden_act="silu", gated=True, use_bias=False)
    layer(X)
    gallery.randomise(layer)
    w1, gate, w2 = (
        d.kernel.numpy() for d in (layer.input_dense, layer.gate_dense, layer.output_dense)
    )
    expected = (X @ gate * sigmoid(X @ gate) * (X @ w1)) @ w2
    assert_allclose(layer(X), expected, atol=1e-5)


def test_residual_connections_of_both_orders():
    def norm(x):
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6)

    post, pre = ResidualConnection(), ResidualConnection(norm_first=True)
    assert_allclose(post(X, sublayer=lambda x: 3 * x), norm(X + 3 * X), atol=1e-5)
    assert_allclose(pre(X, sublayer=lambda x: 3 * x), X + 3 * norm(X), atol=1e-5)


def test_a_residual_connection_hands_other_results_through():
    output, other = ResidualConnection()(X, sublayer=lambda x: (x, "other"))
    assert output.shape == X.shape and other == "other"
