"""Dropout: its rate, its scale, its gradient, and the same fate for the same seed."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_transformer.layers import Dropout


@pytest.mark.parametrize("rate", [0.001, 0.1, 0.3, 0.5, 0.89])
def test_each_value_is_dropped_at_just_the_rate_and_the_others_are_scaled(rate):
    layer, ones = Dropout(rate, seed=1), np.ones((1000, 33), "float32")
    runs = np.stack([ops.convert_to_numpy(layer(ones, training=True)) for _ in range(60)])
    assert set(np.unique(runs)) == {np.float32(0), np.float32(1) * np.float32(1 / (1 - rate))}
    # A byte alone would make 0.001 to 0, and 0.1 to 0.0977 or 0.1016.
    dropped = np.mean(runs == 0)
    error = np.sqrt(rate * (1 - rate) / runs.size)  # of independent draws
    rounding = 0.5 / 256 / np.sqrt(len(runs))  # a run's rate is one of two neighbouring bytes
    assert abs(dropped - rate) < 4 * (error + rounding)
    # No row, column or run has a fate of its own.
    for axis in (0, 1, 2):
        others = tuple(a for a in range(3) if a != axis)
        shares = np.mean(runs == 0, axis=others)
        spread = np.sqrt(rate * (1 - rate) * shares.size / runs.size)
        assert np.all(abs(shares - rate) < 6 * spread + 1 / 256)


def test_neighbours_have_fates_of_their_own():
    dropped = ops.convert_to_numpy(Dropout(0.5, seed=3)(np.ones(400_000, "float32"), training=True))
    dropped = (dropped == 0) - 0.5
    for distance in (1, 2, 3, 4, 8, 1024):
        assert abs(np.mean(dropped[:-distance] * dropped[distance:])) < 0.25 * 4 / 400_000**0.5


def test_the_gradient_is_zero_where_the_value_is():
    layer, x = Dropout(0.4, seed=2), tf.ones((50, 7))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer(x, training=True)
    np.testing.assert_array_equal(tape.gradient(y, x), y)
    assert 0 < np.mean(y.numpy() == 0) < 1


@pytest.mark.parametrize("dtype", ["float32", "mixed_float16", "mixed_bfloat16", "float64"])
def test_graph_eager_and_compiled_drop_the_same(dtype):
    x = np.random.default_rng(0).normal(size=(2, 3, 5))

    def run(**options):
        layer = Dropout(0.3, seed=7, dtype=dtype)
        call = tf.function(lambda: layer(x, training=True), **options) if options else None
        return [np.asarray(call() if call else layer(x, training=True)) for _ in range(3)]

    eager = run()
    for other in (run(autograph=False), run(jit_compile=True)):
        np.testing.assert_array_equal(eager, other)
    assert not np.array_equal(eager[0], eager[1])  # every call draws anew


def test_nothing_happens_outside_training_or_at_rate_zero():
    x = np.ones((2, 3), "float32")
    np.testing.assert_array_equal(Dropout(0.5)(x), x)
    np.testing.assert_array_equal(Dropout(0.0)(x, training=True), x)
    np.testing.assert_array_equal(Dropout(1.0)(x, training=True), 0 * x)
    assert Dropout(0.5, noise_shape=(2, 1))(x, training=True).shape == x.shape


def test_any_shape_an_empty_one_too():
    for shape in ((), (1,), (3,), (0, 4), (2, 1, 3)):
        assert Dropout(0.5, seed=1)(np.ones(shape, "float32"), training=True).shape == shape


def test_it_comes_back_from_its_config():
    again = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(Dropout(0.2, seed=4))
    )
    assert type(again) is Dropout and again.rate == 0.2 and again.seed == 4
