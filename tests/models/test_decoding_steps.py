"""Decoding step by step with a cache gives the logits of the full forward pass, at every step."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from layers import gallery
from models import small
from numpy.testing import assert_allclose

from keras_transformer.models import Transformer, TransformerConfig

STEPS = 6


@pytest.fixture(params=small.CONFIGS, scope="module")
def model(request):
    transformer = Transformer(small.CONFIGS[request.param])
    transformer.build()
    gallery.randomise(transformer)
    return transformer


def test_each_step_equals_the_full_pass(model):
    batch = small.batch()
    target = np.where(batch["target"] == 0, 5, batch["target"]).astype("int32")
    full = model({"source": batch["source"], "target": target})
    state = model.start(batch["source"], max_length=STEPS + 3)
    for t in range(STEPS):
        logits, state = model.step(target[:, t], state)
        assert logits.dtype == "float32"
        assert_allclose(logits, full[:, t], atol=2e-5, rtol=2e-5)
    assert int(state.index) == STEPS


def test_beams_that_change_places_equal_the_full_pass(model):
    source = small.batch()["source"]
    random = np.random.default_rng(1)
    beams = 3
    state = model.start(source, max_length=STEPS, beams=beams)
    histories = np.ones((3 * beams, 1), "int32")
    for _ in range(4):
        logits, state = model.step(histories[:, -1], state)
        full = model({"source": np.repeat(source, beams, axis=0), "target": histories})
        assert_allclose(logits, full[:, -1], atol=2e-5, rtol=2e-5)
        chosen = random.integers(0, beams, size=(3, beams)) + beams * np.arange(3)[:, None]
        rows = chosen.reshape(-1).astype("int32")
        state = model.reorder(state, rows)
        tokens = random.integers(3, 23, size=(3 * beams, 1)).astype("int32")
        histories = np.concatenate([histories[rows], tokens], axis=1)


def test_a_state_that_grows_gives_the_logits_of_one_with_room_from_the_start(model):
    batch = small.batch()
    roomy = model.start(batch["source"], max_length=STEPS, beams=2)
    growing = model.start(batch["source"], max_length=0, beams=2)
    swap = np.array([1, 0, 3, 2, 5, 4], "int32")
    for t in range(STEPS):
        if t in (0, 1, 3):
            growing = model.grow(growing, (t + 1) * 2)
        ids = np.repeat(batch["target"][:, t], 2)
        logits, growing = model.step(ids, growing)
        expected, roomy = model.step(ids, roomy)
        assert_allclose(logits, expected, atol=1e-5, rtol=1e-5)
        growing, roomy = model.reorder(growing, swap), model.reorder(roomy, swap)
    assert growing.ancestors.shape == (8, 3, 2)


@pytest.mark.parametrize("model", ["paper", "buckets"], indirect=True)
def test_a_sentence_decodes_alone_as_in_a_batch(model):
    batch = small.batch()
    alone = model.start(batch["source"][:1, :4], max_length=STEPS)  # without its padding
    together = model.start(batch["source"], max_length=STEPS)
    for t in range(STEPS):
        logits, alone = model.step(batch["target"][:1, t], alone)
        all_logits, together = model.step(batch["target"][:, t], together)
        assert_allclose(all_logits[:1], logits, atol=1e-5, rtol=1e-5)


def small_model(**options):
    config = TransformerConfig(
        **small.SIZES | {"encoder_layers": 1, "decoder_layers": 1}, **options
    )
    transformer = Transformer(config)
    transformer.build()
    gallery.randomise(transformer)
    return transformer


@pytest.mark.parametrize("jit_compile", [False, True])
def test_a_compiled_loop_of_steps_keeps_all_shapes(jit_compile):
    transformer = small_model(num_key_value_heads=2)
    batch = small.batch()

    @tf.function(jit_compile=jit_compile)
    def decode(source, target):
        state = transformer.start(source, max_length=STEPS, beams=2)
        outputs = tf.TensorArray("float32", STEPS)
        for t in tf.range(STEPS):
            logits, state = transformer.step(tf.repeat(target[:, t], 2), state)
            state = transformer.reorder(state, tf.constant([1, 0, 3, 2, 5, 4]))
            outputs = outputs.write(t, logits)
        return outputs.stack()

    logits = decode(tf.constant(batch["source"]), tf.constant(batch["target"]))
    repeated = {name: np.repeat(ids, 2, axis=0) for name, ids in batch.items()}
    expected = np.swapaxes(transformer(repeated), 0, 1)  # [steps, rows, vocabulary]
    # From its first padding on, the full pass hides target positions that the loop takes as tokens.
    assert_allclose(logits[:4], expected[:4], atol=2e-5, rtol=2e-5)
    assert_allclose(logits[:, :4], expected[:, :4], atol=2e-5, rtol=2e-5)


def test_the_loop_of_unknown_batch_and_length_holds_no_xla_op():
    transformer = small_model()

    @tf.function(
        input_signature=[tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((), tf.int32)]
    )
    def decode(source, max_length):
        state = transformer.start(source, max_length, beams=2)
        logits, state = transformer.step(tf.ones(2 * tf.shape(source)[0], tf.int32), state)
        return logits, transformer.reorder(state, tf.range(2 * tf.shape(source)[0])).ancestors

    graph = decode.get_concrete_function().graph
    assert not [op.name for op in graph.get_operations() if op.type.startswith("Xla")]
    logits, ancestors = decode(small.batch()["source"], 5)
    assert logits.shape == (6, 23) and ancestors.shape == (5, 3, 2)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_steps_in_half_precision_stay_near_the_full_pass(policy):
    transformer = Transformer(small.CONFIGS["paper"], dtype=policy)
    batch = small.batch()
    full = transformer(batch)
    state = transformer.start(batch["source"], max_length=3)
    assert state.caches[0].keys.dtype == keras.DTypePolicy(policy).compute_dtype
    for t in range(3):
        logits, state = transformer.step(batch["target"][:, t], state)
        assert logits.dtype == "float32"
        tolerance = {"mixed_float16": 2e-2, "mixed_bfloat16": 1e-1}[policy]
        assert_allclose(logits, full[:, t], atol=tolerance)


def test_decoding_may_start_with_a_model_that_was_never_called():
    transformer = Transformer(small.CONFIGS["paper"])
    state = transformer.start(small.batch()["source"], max_length=3)
    transformer.step(np.ones(3, "int32"), state)
    called = Transformer(small.CONFIGS["paper"])
    called(small.batch())
    assert [w.path for w in transformer.weights] == [w.path for w in called.weights]
