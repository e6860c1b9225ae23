"""Attention of whole models can be looked at, and looking changes nothing."""

import numpy as np
import tensorflow as tf
from numpy.testing import assert_allclose, assert_array_equal

from keras_transformer.layers import MultiHeadAttention, capture_attention
from keras_transformer.models import Transformer, TransformerConfig

BATCH = {
    "source": np.array([[4, 5, 6, 0], [7, 8, 4, 5]]),
    "target": np.array([[1, 5, 6], [1, 7, 0]]),
}


def model(encoder_layers=2, decoder_layers=3):
    return Transformer(
        TransformerConfig(
            vocab_size=10,
            hidden_size=16,
            intermediate_size=16,
            num_attention_heads=4,
            num_key_value_heads=2,
            encoder_layers=encoder_layers,
            decoder_layers=decoder_layers,
        )
    )


def test_weights_of_every_layer_and_head():
    transformer = model()
    with capture_attention() as weights:
        transformer(BATCH)
    expected = {f"transformer/encoder/layer_{i}/self_attention": (2, 4, 4, 4) for i in range(2)}
    for i in range(3):
        expected[f"transformer/decoder/layer_{i}/self_attention"] = (2, 4, 3, 3)
        expected[f"transformer/decoder/layer_{i}/cross_attention"] = (2, 4, 3, 4)
    assert {path: tuple(w.shape) for path, w in weights.items()} == expected
    for path, w in weights.items():
        assert_allclose(w.numpy().sum(-1), 1.0, rtol=1e-5, err_msg=path)
        if path.endswith("encoder/layer_0/self_attention") or path.endswith("cross_attention"):
            assert np.all(w.numpy()[0, :, :, 3] == 0.0)  # the padded source position
        elif "decoder" in path:
            assert np.all(w.numpy()[..., *np.triu_indices(3, 1)] == 0.0)


def test_the_output_can_be_computed_again_from_the_weights():
    attention = MultiHeadAttention(num_heads=4, key_dim=3, num_key_value_heads=2, value_dim=5)
    x = np.random.default_rng(0).normal(size=(2, 6, 12)).astype("float32")
    with capture_attention() as weights:
        output = attention(x, use_causal_mask=True)
    (w,) = weights.values()
    values = attention.value_dense(x).numpy().reshape(2, 6, 2, 5).swapaxes(1, 2)
    values = np.repeat(values, 2, axis=1)  # [batch, heads, keys, value_dim]
    context = (w.numpy() @ values).swapaxes(1, 2).reshape(2, 6, 20)
    assert_allclose(attention.output_dense(context), output, atol=1e-5)


def context_of(attention, weights, values):
    """The output by the weights: values ``[batch, kv_heads, keys, value_dim]``."""
    values = np.repeat(values, attention.num_heads // attention.num_key_value_heads, axis=1)
    context = (weights @ values).swapaxes(1, 2)  # [batch, queries, heads, value_dim]
    return attention.output_dense(context.reshape(*context.shape[:2], -1)).numpy()


def test_so_it_can_for_attention_to_an_encoder():
    attention = MultiHeadAttention(num_heads=4, key_dim=3, num_key_value_heads=2)
    random = np.random.default_rng(0)
    x, memory = (random.normal(size=(2, n, 12)).astype("float32") for n in (3, 5))
    mask = np.array([[True] * 5, [True, True, False, True, False]])
    attention(x, memory)  # builds it
    for value in (memory, attention.project_memory(memory)):  # decoding has it projected
        with capture_attention() as weights:
            output = attention(x, value, attention_mask=mask)
        (w,) = weights.values()
        assert not w.numpy()[1][..., ~mask[1]].any()
        values = attention.project_memory(memory).values.numpy()
        assert_allclose(context_of(attention, w.numpy(), values), output, atol=1e-5)


def test_so_it_can_for_steps_with_a_cache():
    attention = MultiHeadAttention(num_heads=4, key_dim=3, num_key_value_heads=2)
    x = np.random.default_rng(0).normal(size=(2, 4, 12)).astype("float32")
    whole = attention(x, use_causal_mask=True)
    cache = attention.empty_cache(2, 6)
    for step in range(4):
        with capture_attention() as weights:
            mask = np.arange(6)[None, None] <= step  # [1, 1, places]
            token = x[:, step : step + 1]
            output, cache = attention(token, attention_mask=mask, cache=cache, cache_index=step)
        (w,) = weights.values()
        assert w.shape == (2, 4, 1, 6) and not w.numpy()[..., step + 1 :].any()
        values = cache.read()[1].numpy()
        assert_allclose(context_of(attention, w.numpy(), values), output, atol=1e-5)
        assert_allclose(output[:, 0], whole[:, step], atol=1e-5)


def test_capture_adds_nothing_to_a_graph():
    transformer = model(1, 1)

    def operations():
        graph = tf.function(lambda batch: transformer(batch)).get_concrete_function(BATCH).graph
        return [operation.type for operation in graph.get_operations()]

    without = operations()
    with capture_attention() as weights:
        assert operations() == without
    assert len(weights) == 3


def test_capture_changes_nothing_and_ends_with_its_block():
    transformer = model(1, 1)
    before = transformer(BATCH)
    with capture_attention() as weights:
        during = transformer(BATCH)
    captured = dict(weights)
    after = transformer({"source": BATCH["source"][:, ::-1], "target": BATCH["target"]})
    assert_array_equal(before, during)
    assert after.shape == before.shape
    assert all(weights[path] is captured[path] for path in captured)


def test_captures_may_be_nested():
    attention = MultiHeadAttention(2, 4)
    x = np.ones((1, 3, 8), "float32")
    with capture_attention() as outer:
        with capture_attention() as inner:
            attention(x)
        assert len(inner) == 1 and not outer
        attention(x)
    assert len(outer) == 1


def test_capture_in_a_graph_that_returns_the_weights():
    transformer = model(1, 1)

    @tf.function
    def run(batch):
        with capture_attention() as weights:
            logits = transformer(batch)
        return logits, weights

    logits, weights = run(BATCH)
    with capture_attention() as expected:
        expected_logits = transformer(BATCH)
    assert_allclose(logits, expected_logits, atol=1e-5)
    assert weights.keys() == expected.keys()
    for path in expected:
        assert_allclose(weights[path], expected[path], atol=1e-6)


def test_weights_are_those_before_dropout():
    attention = MultiHeadAttention(2, 4, dropout=0.5)
    x = np.random.default_rng(0).normal(size=(2, 6, 8)).astype("float32")
    with capture_attention() as weights:
        attention(x, training=True)
    (w,) = weights.values()
    assert_allclose(w.numpy().sum(-1), 1.0, rtol=1e-6)
