"""What a text generator says: what full passes of its model say, alone and in batches."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import example, given, settings
from hypothesis import strategies as st
from small_generators import KINDS, PROMPTS, WINDOW, assert_same, generator, slow_generator

from keras_transformer.tasks import TextGenerator

SPELLING = generator("characters")
SLOW = slow_generator("characters")


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_texts_are_what_full_passes_prefer(kind):
    """So do cached steps, windows that slide, prompts longer than a window, and empty ones."""
    slow = slow_generator(kind)
    options = {"temperature": 0, "min_new_tokens": 20}
    found = generator(kind).generate(PROMPTS, **options)
    for prompt, generation in zip(PROMPTS, found, strict=True):
        assert_same(generation, slow.generate(prompt, **options))
    assert any(generation.truncated for generation in found)
    assert max(generation.tokens for generation in found) > 2 * WINDOW  # windows did slide


@pytest.mark.parametrize("kind", KINDS)
def test_samples_are_what_full_passes_draw(kind):
    slow = slow_generator(kind)
    options = dict(temperature=0.8, top_k=20, top_p=0.95, min_p=0.01, repetition_penalty=1.2)
    found = generator(kind).generate(PROMPTS, seed=5, **options)
    for row, (prompt, generation) in enumerate(zip(PROMPTS, found, strict=True)):
        assert_same(generation, slow.generate(prompt, seed=5 + row, **options))
    assert len({generation.text for generation in found}) > len(PROMPTS) // 2


rows = st.tuples(
    st.sampled_from(PROMPTS),
    st.integers(-1, 20),  # max_new_tokens
    st.sampled_from([0.0, 0.61, 1.0, 1.9]),  # temperature
    st.sampled_from([0, 1, 3, 9, 99]),  # top_k
    st.sampled_from([0.0, 0.271828, 0.618034, 0.90909, 1.0]),  # top_p
    st.integers(0, 2**31 - 1),  # seed
)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.lists(rows, min_size=1, max_size=4))
@example([("the ", 9, 0.0, 0, 1.0, 1), ("the ", 9, 1.0, 0, 1.0, 1), ("the ", 0, 1.9, 3, 0.9, 1)])
def test_each_row_of_a_request_has_its_own_options(rows):
    names = ("prompt", "max_new_tokens", "temperature", "top_k", "top_p", "seed")
    types = (tf.string, tf.int32, tf.float32, tf.int32, tf.float32, tf.int32)
    columns = zip(names, types, zip(*rows, strict=True), strict=True)
    outputs = SPELLING.serving_generate(**{n: tf.constant(v, t) for n, t, v in columns})
    for row, (prompt, *values) in enumerate(rows):
        expected = SLOW.generate(prompt, **dict(zip(names[1:], values, strict=True)))
        assert outputs["text"][row].numpy().decode() == expected.text
        assert outputs["full_text"][row].numpy().decode() == prompt + expected.text
        assert outputs["score"][row].numpy() == pytest.approx(expected.score, abs=1e-3)
        assert outputs["truncated"][row].numpy() == expected.truncated


def test_a_row_says_the_same_alone_and_in_a_batch():
    prompts = (PROMPTS * 9)[:70]  # more than one chunk
    together = SPELLING.generate(prompts, seed=3)
    for row in (0, 1, 4, 7, 33, 69):
        (alone,) = SPELLING.generate([prompts[row]], seed=3 + row)
        assert_same(alone, together[row])


def test_chunks_of_few_rows_say_the_same(monkeypatch):
    expected = SPELLING.generate(PROMPTS, seed=3)
    monkeypatch.setattr("keras_transformer.tasks.generation_search.TOKENS_AT_A_TIME", 3 * WINDOW)
    other = TextGenerator(SPELLING.model, SPELLING.tokenizer, SPELLING.options)
    for found, right in zip(other.generate(PROMPTS, seed=3), expected, strict=True):
        assert_same(found, right)


@pytest.mark.parametrize(
    "options",
    [{"temperature": 0.9, "top_p": 0.9}, pytest.param({"beam_size": 2}, marks=pytest.mark.slow)],
)
def test_a_search_compiled_by_xla_says_the_same(options):
    options |= {"max_new_tokens": 14, "min_new_tokens": 14, "stop": ["ca"]}  # more than a window
    plain = SPELLING.generate(PROMPTS[2:5], **options)
    compiled = SPELLING.generate(PROMPTS[2:5], **options, jit_compile=True)
    for found, expected in zip(compiled, plain, strict=True):
        assert_same(found, expected)


def test_no_new_trace_for_other_lengths_options_and_batches(monkeypatch):
    SPELLING.generate(["a"], stop=["x"])
    monkeypatch.setattr("keras_transformer.tasks.text_stream.FIRST_CAPACITY", 2)
    "".join(SPELLING.stream("a", max_new_tokens=4, min_new_tokens=4))
    SPELLING.score(["a"])
    functions = [*SPELLING._functions.values(), SPELLING.serving_score]
    functions += [getattr(SPELLING._text_stream, name) for name in ("_start", "_step", "_grow")]
    traces = [function.experimental_get_tracing_count() for function in functions]
    for length in range(1, 11):
        prompts = ["a" * length] * (length % 3 + 1)
        SPELLING.generate(prompts, max_new_tokens=length, top_k=length, stop=["cat", "\n"][:1])
        "".join(SPELLING.stream(prompts[0], max_new_tokens=3, temperature=0.1 * length))
        SPELLING.score(prompts)
    assert [function.experimental_get_tracing_count() for function in functions] == traces
    assert min(traces) > 0


def test_which_prompts_are_truncated_can_be_asked_before():
    found = SPELLING.generate(PROMPTS, max_new_tokens=1)
    assert SPELLING.truncated(PROMPTS) == [generation.truncated for generation in found]
    with pytest.raises(ValueError, match="prompts must be a list of strings"):
        SPELLING.truncated("a")


def test_an_empty_batch_is_answered():
    assert SPELLING.truncated([]) == []
    assert SPELLING([]) == SPELLING.generate([]) == SPELLING.score([]) == []


@pytest.mark.parametrize("most", [0, -3])
def test_where_no_token_is_asked_for_there_is_no_new_text(most):
    for prompt in ("", "the "):
        (found,) = SPELLING.generate([prompt], max_new_tokens=most)
        assert found == ("", prompt, 0.0, 0, "length", False)
        assert list(SPELLING.stream(prompt, max_new_tokens=most)) == []


def test_the_call_gives_the_texts_of_generate():
    assert SPELLING(PROMPTS) == [generation.text for generation in SPELLING.generate(PROMPTS)]


def test_row_i_draws_with_the_seed_after_that_of_the_row_before():
    found = SPELLING.generate(["the "] * 4, seed=7)
    assert len({generation.text for generation in found}) == 4
    for row, generation in enumerate(found):
        assert SPELLING.generate(["the "], seed=7 + row)[0].text == generation.text
    last = SPELLING.generate(["the "] * 2, seed=2**31 - 1)
    assert last[1].text == SPELLING.generate(["the "], seed=0)[0].text


def test_first_tokens_are_drawn_by_their_probabilities():
    count = 3000
    outputs = SPELLING.serving_generate(
        prompt=tf.fill([count], "the "),
        max_new_tokens=tf.fill([count], 1),
        temperature=tf.fill([count], 1.5),
        top_k=tf.fill([count], 0),
        top_p=tf.fill([count], 1.0),
        seed=tf.range(count),
    )
    tokenizer = SPELLING.tokenizer
    logits = SLOW.logits(SLOW.prompt("the ")).astype(np.float64) / 1.5
    logits[sorted(SLOW.forbidden - {-1})] = -np.inf
    expected = np.exp(logits - logits.max())
    expected /= expected.sum()
    texts = [text.decode() for text in outputs["text"].numpy()]
    ids = [tokenizer.token_to_id(text) if text else tokenizer.eos_id for text in texts]
    share = np.bincount(ids, minlength=len(expected)) / count
    error = np.sqrt(expected * (1 - expected) / count)
    assert np.all(np.abs(share - expected) <= 4 * error + 2 / count)
