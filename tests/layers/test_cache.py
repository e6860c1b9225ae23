"""Incremental attention with a cache gives what attention over the whole sequence gives."""

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose, assert_array_equal

from keras_transformer import layers
from keras_transformer.layers import masks

LENGTH = 6
PARTS = {
    "plain": lambda: {},
    "grouped": lambda: {"num_key_value_heads": 2, "value_dim": 3},
    "one_key_head_rotary": lambda: {"num_key_value_heads": 1, "rotary": layers.RotaryPositions()},
    "bucketed": lambda: {
        "position_bias": layers.BucketedPositionBias(
            4, num_buckets=8, max_distance=16, bidirectional=False
        )
    },
    "alibi": lambda: {"position_bias": layers.AlibiPositionBias(4)},
}


def sequence(rows=3, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, LENGTH, 16)).astype("float32")


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("pieces", [[1] * LENGTH, [3, 1, 2], [LENGTH]])
def test_cached_attention_in_pieces_equals_the_whole(part, pieces):
    attention = layers.MultiHeadAttention(num_heads=4, key_dim=4, **PARTS[part]())
    x = sequence()
    whole = attention(x, use_causal_mask=True)
    # Two places more than needed: empty ones must not count.
    cache, start, outputs = attention.empty_cache(3, LENGTH + 2), 0, []
    for steps in pieces:
        mask = masks.causal_mask(steps, LENGTH + 2, offset=start)
        output, cache = attention(
            x[:, start : start + steps], attention_mask=mask, cache=cache, cache_index=start
        )
        outputs.append(output)
        start += steps
    assert_allclose(np.concatenate(outputs, axis=1), whole, atol=1e-5)


def test_cached_rotary_attention_with_positions_of_each_row():
    """Prompts padded on the left: the first real token of a row stands at position 0."""
    layer = layers.DecoderLayer(
        2, 16, cross_attention=False, rotary=layers.RotaryPositions(), norm_first=True
    )
    x = sequence(rows=2)
    padding = np.array([0, 2])
    real = np.arange(LENGTH)[None] >= padding[:, None]  # [rows, length]
    positions = np.maximum(np.arange(LENGTH)[None] - padding[:, None], 0)
    alone = layer(x[1:, 2:])
    cache = None
    for start, steps in ((0, 4), (4, 1), (5, 1)):
        now = slice(start, start + steps)
        if cache is None:
            layer(x)  # builds it
            cache = layer.self_attention.empty_cache(2, LENGTH)
        mask = masks.combine_masks(real, masks.causal_mask(steps, LENGTH, offset=start))
        output, cache = layer(
            x[:, now],
            attention_mask=mask,
            positions=positions[:, now],
            cache=cache,
            cache_index=start,
        )
        from_padding = max(2 - start, 0)
        expected = alone[0, start + from_padding - 2 : start + steps - 2]
        assert_allclose(output[1, from_padding:], expected, atol=1e-5)


@pytest.mark.parametrize("part", PARTS)
def test_beams_in_several_steps_at_once_see_their_own_past_only(part):
    beams, steps = 2, 3
    attention = layers.MultiHeadAttention(num_heads=4, key_dim=4, **PARTS[part]())
    x = np.stack([sequence(seed=1), sequence(seed=2)], axis=2)  # [rows, time, beams, width]
    whole = np.stack([attention(x[:, :, b], use_causal_mask=True) for b in range(beams)], axis=2)
    cache = attention.empty_cache(3, LENGTH, beams)
    same_beam = np.eye(beams, dtype=bool)[None, :, None, :]  # [1, beams, 1, beams]
    for start in range(0, LENGTH, steps):
        past = masks.causal_mask(steps, LENGTH, offset=start)[0, 0].numpy()  # [steps, time]
        mask = (past[:, None, :, None] & same_beam).reshape(1, 1, steps * beams, LENGTH * beams)
        new = x[:, start : start + steps].reshape(3, steps * beams, 16)
        output, cache = attention(new, attention_mask=mask, cache=cache, cache_index=start)
        expected = whole[:, start : start + steps].reshape(3, steps * beams, 16)
        assert_allclose(output, expected, atol=1e-5)


def test_ancestry_mask_follows_a_beam_through_its_changes():
    # Beam 0 was beam 1 in the first step; each wrote the second step itself; the third is empty.
    ancestors = np.array([[[1, 1]], [[0, 1]], [[0, 1]]], "int32")  # [time, batch, beams]
    mask = layers.ancestry_mask(ancestors, 2)
    assert mask.shape == (1, 1, 2, 6)
    # Keys are ordered by time, then beam.
    expected = [[0, 1, 1, 0, 0, 0], [0, 1, 0, 1, 0, 0]]
    assert_array_equal(mask[0, 0], np.array(expected, bool))


def test_a_cache_that_grows_keeps_what_it_holds():
    attention = layers.MultiHeadAttention(num_heads=2, key_dim=4)
    x = sequence()
    attention(x)
    cache = attention.empty_cache(3, 2)
    _, cache = attention(
        x[:, :2], attention_mask=masks.causal_mask(2, 2), cache=cache, cache_index=0
    )
    cache = cache.grow(5)
    assert cache.keys.shape == (3, 2, 5, 1, 4)
    output, _ = attention(
        x[:, 2:3], attention_mask=masks.causal_mask(1, 5, 2), cache=cache, cache_index=2
    )
    assert_allclose(output, attention(x, use_causal_mask=True)[:, 2:3], atol=1e-5)


def test_projected_memory_is_computed_once_and_serves_all_steps():
    attention = layers.MultiHeadAttention(num_heads=4, key_dim=4, num_key_value_heads=2)
    x, memory = sequence(), sequence(seed=5)[:, :4]
    mask = np.array([[1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 0, 0]], bool)
    expected = attention(x, memory, attention_mask=mask)
    projected = attention.project_memory(memory)
    assert projected.keys.shape == (3, 2, 4, 4)
    assert_allclose(attention(x, projected, attention_mask=mask), expected, atol=1e-6)


def test_no_xla_op_stands_in_the_graph_of_a_cached_step():
    """A default server refuses such ops."""
    attention = layers.MultiHeadAttention(num_heads=2, key_dim=4)
    x = sequence()
    attention(x)

    @tf.function(input_signature=[tf.TensorSpec((None, 1, 16)), tf.TensorSpec((), tf.int32)])
    def step(x, index):
        cache = attention.empty_cache(tf.shape(x)[0], 4)
        mask = masks.causal_mask(1, 4, offset=index)
        return attention(x, attention_mask=mask, cache=cache, cache_index=index)

    operations = step.get_concrete_function().graph.get_operations()
    assert operations and not [op.name for op in operations if op.type.startswith("Xla")]
