import numpy as np
import pytest
import tensorflow as tf
from generation import fakes
from generation.fakes import BOS, EOS, PAD, SPECIAL, UNK

from keras_transformer.generation import greedy_search, sample

ROWS = 6
START = tf.range(ROWS)
AUTOMATON = fakes.random_automaton(9, states=30, vocab=40, scale=1.0)
OPTIONS = dict(batch_size=ROWS, max_length=12, forbidden_ids=(BOS, UNK), **SPECIAL)
SEEDS = tf.constant([5, 6, 7, 8, 9, 2**31 - 1])


def sampled(model=AUTOMATON, start=START, **options):
    return tf.function(lambda: sample(model, start, **{**OPTIONS, **options}))()


@pytest.mark.parametrize(
    "option",
    [
        dict(top_k=1),
        dict(top_p=0.0),
        dict(temperature=0.0),
        dict(top_k=tf.ones([ROWS], tf.int32), temperature=2.0),
    ],
    ids=["top_k", "top_p", "temperature", "top_k a row"],
)
def test_the_narrowest_choice_is_greedy(option):
    greedy = greedy_search(AUTOMATON, tf.range(ROWS), **OPTIONS)
    found = sampled(seeds=SEEDS, **option)
    np.testing.assert_array_equal(found.ids, greedy.ids)
    np.testing.assert_allclose(found.log_probs, greedy.log_probs, rtol=1e-6)


def test_options_that_are_off_change_nothing():
    plain = sampled(seeds=SEEDS)
    off = sampled(
        seeds=SEEDS, top_k=tf.constant([0, 99, 40, 0, 0, 0]), top_p=1.0, repetition_penalty=1.0
    )
    np.testing.assert_array_equal(plain.ids, off.ids)
    np.testing.assert_array_equal(plain.ids, sampled(seeds=SEEDS, top_k=0, temperature=1.0).ids)


def test_a_row_samples_the_same_alone_and_in_a_batch():
    together = sampled(seeds=SEEDS, top_p=0.9, temperature=1.3)
    for row in range(ROWS):
        alone = sample(
            AUTOMATON,
            tf.constant([row]),
            seeds=SEEDS[row : row + 1],
            top_p=0.9,
            temperature=1.3,
            **{**OPTIONS, "batch_size": 1},
        )
        np.testing.assert_array_equal(alone.ids[0], together.ids[row])
        np.testing.assert_array_equal(alone.log_probs[0], together.log_probs[row])


def test_seeds_decide():
    first = sampled(seeds=SEEDS).ids.numpy()
    np.testing.assert_array_equal(first, sampled(seeds=SEEDS).ids)
    other = sampled(seeds=SEEDS + tf.constant([1000] * 5 + [-1000])).ids.numpy()
    assert np.all(np.any(first != other, axis=(1, 2)))


def test_tokens_are_drawn_by_their_probabilities():
    probabilities = np.array([0, 0, 0, 0, 0.5, 0.3, 0.15, 0.05])
    model = fakes.table_automaton([probabilities + 1e-9, np.eye(8)[EOS]])
    rows = 2000
    found = sampled(
        model,
        tf.zeros([rows], tf.int32),
        seeds=tf.range(rows),
        batch_size=rows,
        max_length=2,
    )
    share = np.bincount(found.ids.numpy()[:, 0, 0], minlength=8) / rows
    error = np.sqrt(probabilities * (1 - probabilities) / rows)
    assert np.all(np.abs(share - probabilities) <= 4 * error + 1e-6)


def test_what_the_filters_rule_out_is_never_drawn():
    probabilities = [0, 0, 0, 0, 0.4, 0.3, 0.2, 0.1]
    model = fakes.table_automaton([probabilities, np.eye(8)[EOS]])
    rows = 300
    options = dict(batch_size=rows, max_length=2)
    start, seeds = tf.zeros([rows], tf.int32), tf.range(rows)
    for option, allowed in (
        (dict(top_k=2), {4, 5}),
        (dict(top_p=0.8), {4, 5, 6}),
        (dict(min_p=0.45), {4, 5, 6}),
        (dict(top_k=tf.fill([rows], 3), top_p=tf.fill([rows], 0.7)), {4, 5}),
    ):
        found = sampled(model, start, seeds=seeds, **option, **options)
        assert set(found.ids.numpy()[:, 0, 0]) == allowed


def test_lengths_and_special_tokens_hold():
    minima, maxima = tf.constant([1, 2, 3, 4, 5, 6]), tf.constant([3, 4, 5, 6, 7, 8])
    found = sampled(seeds=SEEDS, min_lengths=minima, max_lengths=maxima, temperature=3.0)
    assert np.all(found.lengths[:, 0] > minima) and np.all(found.lengths[:, 0] <= maxima)
    for row in range(ROWS):
        ids = fakes.text(found.ids[row, 0].numpy(), found.lengths[row, 0])
        assert not {PAD, BOS, UNK} & set(ids)


def test_a_strong_repetition_penalty_forbids_saying_a_thing_twice():
    words = [0, 0, 0, 0, 0.4, 0.3, 0.2, 0.1]
    model = fakes.table_automaton([np.array(words) / 9 + 1e-4] * 4 + [np.eye(8)[EOS] + 1e-9])
    options = dict(batch_size=1, top_k=1, seeds=[1])
    start = tf.zeros([1], tf.int32)
    minimum = tf.constant([4])
    dull = sampled(model, start, min_lengths=minimum, **options)
    lively = sampled(model, start, min_lengths=minimum, repetition_penalty=1e3, **options)
    assert dull.ids.numpy()[0, 0, :5].tolist() == [4, 4, 4, 4, EOS]
    assert lively.ids.numpy()[0, 0, :5].tolist() == [4, 5, 6, 7, EOS]
    expected = fakes.log_probability(model, 0, [4, 5, 6, 7, EOS])  # the model's own
    np.testing.assert_allclose(lively.log_probs[0, 0], expected, rtol=1e-5)


def test_what_was_said_before_counts_as_repeated_and_padding_does_not():
    words = [0, 0, 0, 0, 0.4, 0.3, 0.2, 0.1]
    model = fakes.table_automaton([np.array(words) / 9 + 1e-4] * 4 + [np.eye(8)[EOS] + 1e-9])
    for pad in (PAD, -1):
        context = tf.constant([[5, 4, pad], [pad, pad, 7]])
        found = sampled(
            model,
            tf.zeros([2], tf.int32),
            seeds=[1, 2],
            batch_size=2,
            max_length=2,
            top_k=1,
            context_ids=context,
            repetition_penalty=tf.constant([1e3, 1e3]),
            must_end=False,
            pad_id=pad,
            forbidden_ids=(PAD, BOS, UNK) if pad == -1 else (BOS, UNK),
        )
        assert found.ids[:, 0].numpy().tolist() == [[6, 7], [4, 5]]


def test_a_text_goes_on_with_the_random_numbers_of_its_later_tokens():
    whole = sampled(seeds=SEEDS, must_end=False)
    first = sampled(seeds=SEEDS, must_end=False, max_lengths=tf.constant([3] * ROWS))
    lengths = first.lengths[:, 0].numpy()
    states, last = [], []
    for row, ids in enumerate(first.ids[:, 0].numpy()):
        said = [BOS, *ids[: lengths[row]]]
        state = row
        for token in said[:-1]:
            state = int(AUTOMATON.transitions[state, token])
        states.append(state)
        last.append(said[-1])
    rest = sampled(
        start=tf.constant(states),
        bos_id=tf.constant(last),
        seeds=SEEDS,
        first_number=tf.constant(lengths),
        must_end=False,
    )
    went_on = 0
    for row in range(ROWS):
        if EOS not in first.ids[row, 0]:
            expected = whole.ids[row, 0, 3:].numpy()
            np.testing.assert_array_equal(rest.ids[row, 0, : len(expected)], expected)
            went_on += 1
    assert went_on > 1


def test_xla_draws_the_same():
    rows = tf.ones([ROWS])

    def search():
        return sample(
            AUTOMATON,
            tf.range(ROWS),
            seeds=SEEDS,
            temperature=1.2 * rows,
            top_k=20 * tf.ones([ROWS], tf.int32),
            top_p=0.9 * rows,
            min_p=0.01 * rows,
            repetition_penalty=1.1 * rows,
            must_end=False,
            **OPTIONS,
        )

    plain, compiled = tf.function(search)(), tf.function(search, jit_compile=True)()
    np.testing.assert_array_equal(plain.ids, compiled.ids)
