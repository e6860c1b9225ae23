"""Rotary frequencies that are stretched for longer texts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from keras_transformer import layers
from keras_transformer.layers.rotary_scaling import rotary_frequencies

LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}


def test_linear_scaling_turns_as_at_positions_that_many_times_nearer():
    x = np.random.default_rng(0).normal(size=(1, 2, 5, 8)).astype("float32")
    plain = layers.RotaryPositions()
    scaled = layers.RotaryPositions(scaling={"rope_type": "linear", "factor": 4.0})
    positions = np.array([0, 4, 8, 40, 400])
    assert_allclose(scaled(x, positions=positions), plain(x, positions=positions // 4), atol=1e-5)


def test_llama3_scaling_keeps_what_turns_fast_and_divides_what_turns_slowly():
    plain = rotary_frequencies(128, 500000.0)
    scaled = rotary_frequencies(128, 500000.0, LLAMA3)
    turns = plain * 8192 / (2 * np.pi)  # in a text of the original length
    assert_allclose(scaled[turns > 4], plain[turns > 4])
    assert_allclose(scaled[turns < 1], plain[turns < 1] / 8)
    between = (turns > 1) & (turns < 4)
    mixed = (turns[between] - 1) / 3  # from 0 to 1
    expected = plain[between] * ((1 - mixed) / 8 + mixed)
    assert between.sum() > 3
    assert_allclose(scaled[between], expected)


def test_no_scaling_is_the_default_rule():
    plain = rotary_frequencies(8, 100.0)
    assert_allclose(plain, 100.0 ** -np.array([0, 0.25, 0.5, 0.75]))
    assert_allclose(rotary_frequencies(8, 100.0, {"rope_type": "default"}), plain)


def test_a_rule_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="rope_type must be one of default, linear, .* not 'yarn'"):
        layers.RotaryPositions(scaling={"rope_type": "yarn", "factor": 2.0})
