"""Step by step with a cache: the logits of the full pass at every step, and the same texts."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from models import gpts
from numpy.testing import assert_allclose, assert_array_equal

from keras_transformer.generation import beam_search, greedy_search
from keras_transformer.models import Gpt, GptConfig

STEPS = 30


@pytest.fixture(params=gpts.CONFIGS, scope="module")
def model(request):
    return gpts.built(request.param)


def last_logits(model, texts):
    """The logits of the token after each text, computed without a cache."""
    return all_logits(model, texts)[:, -1]


def all_logits(model, texts):
    """The logits at all positions of texts that end together, computed without a cache."""
    longest = max(map(len, texts))
    pad = model.config.pad_token_id
    ids = [[pad] * (longest - len(text)) + list(text) for text in texts]
    return model({"token_ids": np.array(ids, "int32")}).numpy()


def test_thirty_steps_from_prompts_of_unequal_length_equal_the_full_pass(model):
    ids = gpts.prompts(model)
    texts = [list(tokens) for tokens in gpts.real(model, ids)]
    state = model.start(ids, max_length=STEPS + 2)
    newest = model.last_ids(ids)
    assert_array_equal(newest, [text[-1] for text in texts])
    found = []
    for _ in range(STEPS):
        logits, state = model.step(newest, state)
        assert logits.shape == (3, 23) and logits.dtype == "float32"
        newest = np.argmax(logits, axis=-1).astype("int32")
        texts = [[*text, token] for text, token in zip(texts, newest, strict=True)]
        found.append(logits)
    assert int(state.index) == STEPS
    expected = all_logits(model, texts)[:, -STEPS - 1 : -1]  # [prompts, steps, vocabulary]
    assert_allclose(np.stack(found, axis=1), expected, atol=1e-4)
    assert_array_equal(np.argmax(found, axis=-1).T, np.argmax(expected, axis=-1))


@pytest.mark.parametrize("beams", [3, 8])
def test_beams_that_change_places_equal_the_full_pass(model, beams):
    ids = gpts.prompts(model)
    texts = [list(tokens) for tokens in gpts.real(model, ids) for _ in range(beams)]
    random = np.random.default_rng(1)
    state = model.start(ids, max_length=4, beams=beams)
    newest = np.repeat(model.last_ids(ids), beams)
    for _ in range(4):
        logits, state = model.step(newest, state)
        assert_allclose(logits, last_logits(model, texts), atol=1e-4)
        chosen = random.integers(0, beams, size=(3, beams)) + beams * np.arange(3)[:, None]
        rows = chosen.reshape(-1).astype("int32")
        state = model.reorder(state, rows)
        newest = random.integers(3, 23, size=3 * beams).astype("int32")
        texts = [[*texts[row], token] for row, token in zip(rows, newest, strict=True)]


def test_a_prompt_takes_no_more_of_the_cache_than_its_length(model):
    state = model.start(gpts.prompts(model), max_length=0, beams=3)
    heads = state.caches[0].keys.shape[1]
    assert state.caches[0].keys.shape == (3, heads, 3, 3, 4)  # 7 tokens in 3 times of 3 beams
    grown = model.grow(state, 5)
    assert grown.caches[0].keys.shape == (3, heads, 8, 3, 4)
    assert grown.ancestors.shape == (5, 3, 3)


@pytest.mark.parametrize("model", ["gpt2", "llama"], indirect=True)
def test_a_state_that_grows_gives_the_logits_of_one_with_room_from_the_start(model):
    ids = gpts.prompts(model)
    roomy = model.start(ids, max_length=6, beams=2)
    growing = model.start(ids, max_length=0, beams=2)
    swap = np.array([1, 0, 3, 2, 5, 4], "int32")
    newest = np.repeat(model.last_ids(ids), 2)
    for t in range(6):
        if t in (0, 1, 3):
            growing = model.grow(growing, (t + 1) * 2)
        logits, growing = model.step(newest, growing)
        expected, roomy = model.step(newest, roomy)
        assert_allclose(logits, expected, atol=1e-5)
        growing, roomy = model.reorder(growing, swap), model.reorder(roomy, swap)
        newest = np.arange(3, 9, dtype="int32") + t


def search(model, ids, beam_size=1, max_length=9, jit_compile=False, limits=None):
    """Texts found from prompts, the memory growing as they do unless XLA compiles the search."""

    @tf.function(jit_compile=jit_compile)
    def run(ids):
        config, rows = model.config, tf.shape(ids)[0]
        return beam_search(
            model,
            model.start(ids, max_length if jit_compile else 0, beams=beam_size),
            batch_size=rows,
            beam_size=beam_size,
            bos_id=model.last_ids(ids),
            eos_id=config.eos_token_id,
            # A vocabulary without padding fills up with ends.
            pad_id=config.eos_token_id if config.pad_token_id == -1 else config.pad_token_id,
            max_length=max_length,
            max_lengths=limits,
            grow=None if jit_compile else model.grow,
        )

    return run(tf.constant(ids))


@pytest.mark.parametrize("model", ["gpt2", "llama", "llama3"], indirect=True)
def test_greedy_search_finds_what_the_full_pass_prefers(model):
    ids, config = gpts.prompts(model), model.config
    found = search(model, ids)
    for row, prompt in enumerate(gpts.real(model, ids)):
        length = int(found.lengths[row, 0])
        new = found.ids[row, 0, :length].numpy()
        logits = all_logits(model, [[*prompt, *new]])[0, len(prompt) - 1 : -1]  # [length, vocab]
        if config.pad_token_id != -1:
            logits[:, config.pad_token_id] = -np.inf  # never emitted
        # At its limit a text has no choice but to end.
        free = min(length, 8)
        assert_array_equal(new[:free], np.argmax(logits[:free], axis=-1))
        assert new[-1] == config.eos_token_id


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_prompts_in_a_batch_find_the_texts_of_each_alone(kind):
    model = gpts.built(kind)
    ids = gpts.prompts(model)
    together = search(model, ids, beam_size=3)
    for row, text in list(enumerate(gpts.real(model, ids)))[:2]:
        alone = search(model, text[None], beam_size=3)
        assert_array_equal(together.ids[row], alone.ids[0])
        assert_allclose(together.scores[row], alone.scores[0], atol=1e-4)


def test_beam_search_scores_are_those_of_the_full_pass():
    model = gpts.built("llama")
    ids = gpts.prompts(model)
    found = search(model, ids, beam_size=4)
    for row, prompt in enumerate(gpts.real(model, ids)):
        length = int(found.lengths[row, 0])
        new = found.ids[row, 0, :length].numpy()
        text = np.concatenate([prompt, new])[None]
        log_probs = tf.nn.log_softmax(model({"token_ids": text[:, :-1]}))[0].numpy()
        total = log_probs[len(prompt) - 1 + np.arange(length), new].sum()
        assert_allclose(found.log_probs[row, 0], total, atol=1e-4)


@pytest.mark.slow
def test_a_search_compiled_by_xla_finds_the_same():
    model = gpts.built("llama")
    ids = gpts.prompts(model)
    found = search(model, ids, beam_size=2, jit_compile=True)
    assert_array_equal(found.ids, search(model, ids, beam_size=2).ids)


def test_a_row_at_the_end_of_its_table_does_not_fail_its_neighbour():
    model = gpts.built("gpt2")
    ids = np.zeros((2, 38), "int32")
    ids[0], ids[1, :2] = np.arange(38) % 20 + 3, [5, 6]
    limits = tf.constant([3, 30])
    together = search(model, ids, beam_size=2, max_length=30, limits=limits)
    alone = search(model, ids[1:, :2], beam_size=2, max_length=30, limits=limits[1:])
    assert_array_equal(together.ids[1], alone.ids[0])


def test_prompts_of_one_token_or_none_start_from_nothing():
    model = gpts.built("gpt2")
    ids = np.array([[0, 0], [0, 7], [9, 0]], "int32")
    assert_array_equal(model.last_ids(ids), [model.config.bos_token_id, 7, 9])
    logits, _ = model.step(model.last_ids(ids), model.start(ids, max_length=1))
    assert_allclose(logits, last_logits(model, [[1], [7], [9]]), atol=1e-5)


def test_the_graph_of_a_search_has_no_xla_op_and_takes_every_shape():
    """A default server refuses such ops."""
    model = gpts.built("llama")
    traces = []

    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)])
    def run(ids):
        traces.append(None)
        return greedy_search(
            model,
            model.start(ids, tf.constant(0)),
            batch_size=tf.shape(ids)[0],
            bos_id=model.last_ids(ids),
            eos_id=2,
            pad_id=0,
            max_length=9,
            grow=model.grow,
        ).ids

    ids = gpts.prompts(model)
    for rows, length in ((3, 7), (1, 1), (2, 4), (3, 7)):
        assert run(ids[:rows, :length]).shape == (rows, 1, 9)
    assert len(traces) == 1
    graph = run.get_concrete_function().graph
    operations = [op.type for op in graph.get_operations()]
    for function in graph.as_graph_def().library.function:
        operations += [node.op for node in function.node_def]
    assert len(operations) > 100 and not [op for op in operations if op.startswith("Xla")]


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_steps_in_half_precision_stay_near_the_full_pass(policy):
    model = Gpt(gpts.CONFIGS["llama"], dtype=policy)
    model.build()
    ids = gpts.prompts(model)
    state, newest = model.start(ids, max_length=3), model.last_ids(ids)
    assert state.caches[0].keys.dtype == keras.DTypePolicy(policy).compute_dtype
    texts = [list(text) for text in gpts.real(model, ids)]
    for _ in range(3):
        logits, state = model.step(newest, state)
        assert logits.dtype == "float32"
        tolerance = {"mixed_float16": 2e-3, "mixed_bfloat16": 2e-2}[policy]
        assert_allclose(logits, last_logits(model, texts), atol=tolerance)
        newest = np.full(3, 5, "int32")
        texts = [[*text, 5] for text in texts]


def test_decoding_may_start_with_a_model_that_was_never_called():
    model = Gpt(GptConfig(**gpts.SIZES))
    model.step(model.last_ids(np.ones((2, 3), "int32")), model.start(np.ones((2, 3), "int32"), 3))
    called = Gpt(GptConfig(**gpts.SIZES))
    called({"token_ids": np.ones((2, 3), "int32")})
    assert [w.path for w in model.weights] == [w.path for w in called.weights]
