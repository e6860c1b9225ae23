"""The decoder-only model: what a token may see, where it stands, and what is refused."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf
from models import gpts
from numpy.testing import assert_allclose, assert_array_equal

from keras_transformer.models import Gpt, GptConfig

KINDS = pytest.mark.parametrize("kind", gpts.CONFIGS)


@KINDS
def test_no_token_sees_what_comes_after_it(kind):
    model = gpts.built(kind)
    ids = np.random.default_rng(1).integers(3, 23, size=(2, 8)).astype("int32")
    others = ids.copy()
    others[:, 5:] = (ids[:, 5:] + 1) % 20 + 3
    before, after = model({"token_ids": ids}), model({"token_ids": others})
    assert before.shape == (2, 8, 23) and before.dtype == "float32"
    assert_array_equal(before[:, :5], after[:, :5])
    assert np.abs(before[:, 5:] - after[:, 5:]).max() > 0.01


@KINDS
def test_padding_on_either_side_never_shows(kind):
    model = gpts.built(kind)
    ids = gpts.prompts(model)
    together = model({"token_ids": ids}).numpy()
    for row, tokens in enumerate(gpts.real(model, ids)):
        alone = model({"token_ids": tokens[None]})[0]
        assert_allclose(together[row, ids[row] != model.config.pad_token_id], alone, atol=1e-5)


@KINDS
def test_documents_packed_into_one_row_never_see_each_other(kind):
    model = gpts.built(kind)
    pad = model.config.pad_token_id
    random = np.random.default_rng(2)
    texts = [random.integers(3, 23, size=n).astype("int32") for n in (3, 1, 4, 6)]
    ids = np.array([[*texts[0], *texts[1], *texts[2]], [*texts[3], pad, pad]], "int32")
    segments = np.array([[1, 1, 1, 2, 3, 3, 3, 3], [7, 7, 7, 7, 7, 7, 0, 0]], "int32")
    packed = model({"token_ids": ids, "segment_ids": segments}).numpy()
    found = (packed[0, :3], packed[0, 3:4], packed[0, 4:], packed[1, :6])
    for text, logits in zip(texts, found, strict=True):
        assert_allclose(logits, model({"token_ids": text[None]})[0], atol=1e-5)


def test_tokens_of_no_segment_are_padding():
    model = gpts.built("gpt2")
    ids = np.array([[5, 6, 7, 8]], "int32")
    packed = model({"token_ids": ids, "segment_ids": np.array([[0, 1, 1, 0]])})
    assert_allclose(packed[:, 1:3], model({"token_ids": ids[:, 1:3]}), atol=1e-5)


@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
@KINDS
def test_a_row_of_padding_harms_nobody(kind, policy):
    model = gpts.built(kind, dtype=policy)
    ids = gpts.prompts(model)
    ids[1] = model.config.pad_token_id
    with tf.GradientTape() as tape:
        logits = model({"token_ids": ids})
        loss = tf.reduce_sum(logits[0, -1] ** 2)
    assert np.all(np.isfinite(logits))
    for gradient in tape.gradient(loss, [w.value for w in model.trainable_weights]):
        assert gradient is not None and np.all(np.isfinite(tf.convert_to_tensor(gradient)))
    alone = model({"token_ids": ids[2:]})
    assert_allclose(logits[2:], alone, atol=1e-5 if policy == "float32" else 1e-2)


@KINDS
def test_every_weight_learns(kind):
    model = gpts.built(kind)
    with tf.GradientTape() as tape:
        logits = model({"token_ids": gpts.prompts(model)}, training=True)
        loss = tf.reduce_sum(logits**2)
    for gradient in tape.gradient(loss, [w.value for w in model.trainable_weights]):
        assert np.abs(tf.convert_to_tensor(gradient)).max() > 0


def test_a_text_may_fill_the_table_of_positions_and_no_more():
    model = gpts.built("gpt2")
    assert model({"token_ids": np.ones((1, 40), "int32")}).shape == (1, 40, 23)
    message = "input of 41 positions, but the table ends at max_position_embeddings=40"
    with pytest.raises(ValueError, match=message):
        model({"token_ids": np.ones((1, 41), "int32")})
    with pytest.raises(ValueError, match=message):
        model.start(np.ones((1, 41), "int32"), max_length=3)
    with pytest.raises(ValueError, match="max_length=41 exceeds the model's max_pos.*=40"):
        model.start(np.ones((1, 4), "int32"), max_length=41)
    # With lengths known at last when it runs, too.
    graph = tf.function(
        model, input_signature=[{"token_ids": tf.TensorSpec((None, None), "int32")}]
    )
    assert graph({"token_ids": np.ones((1, 40), "int32")}).shape == (1, 40, 23)
    with pytest.raises(tf.errors.InvalidArgumentError, match="ncompatible shapes"):
        graph({"token_ids": np.ones((1, 41), "int32")})
    # Other positions have no table to end.
    assert gpts.built("llama")({"token_ids": np.ones((1, 41), "int32")}).shape == (1, 41, 23)


def test_segments_of_another_shape_are_refused():
    model = gpts.built("gpt2")
    with pytest.raises(
        ValueError, match=r"segment_ids must have the shape of .*\(1, 3\), not \(1, 2"
    ):
        model({"token_ids": np.ones((1, 3), "int32"), "segment_ids": np.ones((1, 2), "int32")})


def test_weights_start_as_those_of_gpt2():
    config = GptConfig.preset("nano", vocab_size=300, num_hidden_layers=8, initializer_range=0.1)
    model = Gpt(config)
    model.build()
    layer = model.decoder.layers[3]
    for weight in (
        model.token_embedding.embeddings,
        model.position_embedding.embeddings,
        layer.self_attention.query_dense.kernel,
        layer.feed_forward.input_dense.kernel,
    ):
        assert_allclose(np.std(weight), 0.1, rtol=0.05)
    # What is added to the residual stream is smaller, by the number of additions.
    for dense in (layer.self_attention.output_dense, layer.feed_forward.output_dense):
        assert_allclose(np.std(dense.kernel), 0.1 / 16**0.5, rtol=0.05)
    assert not np.any(layer.feed_forward.output_dense.bias)
    # So the first loss is that of an even guess.
    logits = Gpt(dataclasses.replace(config, initializer_range=0.02))(
        {"token_ids": np.arange(2 * 40).reshape(2, 40)}
    )
    labels = np.random.default_rng(0).integers(0, 300, size=(2, 40))
    loss = keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True)
    assert_allclose(np.mean(loss), np.log(300), atol=0.1)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
@KINDS
def test_half_precision_gives_float32_logits_near_the_exact_ones(kind, policy):
    exact, half = Gpt(gpts.CONFIGS[kind]), Gpt(gpts.CONFIGS[kind], dtype=policy)
    exact.build(), half.build()
    half.set_weights(exact.get_weights())
    inputs = {"token_ids": np.random.default_rng(0).integers(3, 23, size=(3, 7))}
    logits = half(inputs)
    assert logits.dtype == "float32"
    assert_allclose(logits, exact(inputs), atol={"mixed_float16": 5e-3}.get(policy, 5e-2))


@KINDS
def test_xla_computes_the_same(kind):
    model = gpts.built(kind)
    inputs = {"token_ids": tf.constant(gpts.prompts(model))}
    inputs["segment_ids"] = tf.constant([[1, 1, 1, 2, 2, 2, 2]] * 3)
    assert_allclose(tf.function(model, jit_compile=True)(inputs), model(inputs), atol=1e-4)
