import numpy as np
import tensorflow as tf
from generation import fakes
from generation.fakes import BOS, EOS, PAD, SPECIAL, UNK, Automaton

from keras_transformer.generation import greedy_search

OPTIONS = dict(forbidden_ids=(BOS, UNK), **SPECIAL)


def chain(ends, vocab=6):
    """One chain of states a sentence, 40 apart; sentence i ends at step `ends[i]`."""
    states = 40 * len(ends)
    logits = np.random.default_rng(0).normal(size=[states, vocab]).astype(np.float32)
    logits[:, EOS] = -9.0
    logits[:, [PAD, BOS, UNK]] = 20.0  # what a text must never hold is what the model likes best
    for sentence, end in enumerate(ends):
        logits[40 * sentence + end, EOS] = 9.0
    transitions = np.tile(np.arange(1, states + 1).clip(max=states - 1)[:, None], [1, vocab])
    return Automaton(transitions.astype(np.int32), logits), 40 * tf.range(len(ends))


def test_everything_after_the_first_end_is_padding():
    model, starts = chain([3, 9])
    found = greedy_search(model, starts, batch_size=2, max_length=12, **OPTIONS)
    assert found.ids.shape == (2, 1, 12)
    assert found.lengths.numpy().tolist() == [[3], [9]]
    for row in range(2):
        words = fakes.text(found.ids[row, 0].numpy(), found.lengths[row, 0])[:-1]
        assert set(words) <= {4, 5}


def test_a_row_gives_the_same_to_the_last_bit_alone_and_in_a_batch():
    automaton = fakes.random_automaton(3, states=40, vocab=1000)
    limits = [4, 20, 9]
    together = greedy_search(
        automaton,
        tf.range(3),
        batch_size=3,
        max_length=20,
        max_lengths=tf.constant(limits),
        **OPTIONS,
    )
    for row in range(3):
        alone = greedy_search(
            automaton,
            tf.constant([row]),
            batch_size=1,
            max_length=20,
            max_lengths=tf.constant(limits[row : row + 1]),
            **OPTIONS,
        )
        for one, many in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one[0], many[row])
        assert together.lengths[row, 0] <= limits[row]


def test_the_log_probability_is_that_of_the_text():
    automaton = fakes.random_automaton(5, states=9, vocab=8)
    found = greedy_search(automaton, tf.range(9), batch_size=9, max_length=7, **OPTIONS)
    for row in range(9):
        ids = fakes.text(found.ids[row, 0].numpy(), found.lengths[row, 0])
        expected = fakes.log_probability(automaton, row, ids)
        np.testing.assert_allclose(found.log_probs[row, 0], expected, rtol=1e-5)
        np.testing.assert_allclose(found.scores[row, 0], expected, rtol=1e-5)


def test_a_text_at_its_limit_ends_with_the_end_token():
    model, starts = chain([30])
    found = greedy_search(model, starts, batch_size=1, max_length=5, **OPTIONS)
    assert found.ids.numpy()[0, 0, -1] == EOS and found.lengths.numpy().tolist() == [[5]]


def test_a_batch_that_ends_at_step_three_takes_four_calls_at_most():
    model, starts = chain([3] * 32)
    calls = tf.Variable(0)
    model = model._replace(calls=calls)
    tf.function(lambda: greedy_search(model, starts, batch_size=32, max_length=200, **OPTIONS))()
    assert calls.numpy() <= 4


def test_no_blank_text_where_a_minimum_is_asked():
    automaton = fakes.random_automaton(11, states=100, vocab=8)
    blank = automaton._replace(logits=automaton.logits + 9.0 * (np.arange(8) == EOS))
    options = dict(batch_size=100, max_length=6, **OPTIONS)
    assert np.all(greedy_search(blank, tf.range(100), **options).lengths == 1)
    found = greedy_search(blank, tf.range(100), min_lengths=tf.ones([100], tf.int32), **options)
    assert np.all(found.lengths == 2)


def test_each_row_may_start_from_its_own_token():
    model = Automaton(
        np.tile(np.arange(8, dtype=np.int32), [8, 1]), 9.0 * np.eye(8, k=1, dtype=np.float32)
    )  # the state is the last token; after token i comes i + 1
    found = greedy_search(
        model,
        tf.zeros([2], tf.int32),
        batch_size=2,
        max_length=4,
        bos_id=tf.constant([3, 5]),
        eos_id=7,
        pad_id=0,
    )
    assert found.ids.numpy()[:, 0].tolist() == [[4, 5, 6, 7], [6, 7, 0, 0]]


def test_padding_and_end_may_be_one_token():
    model, starts = chain([2, 5])
    options = dict(bos_id=BOS, eos_id=EOS, pad_id=EOS, forbidden_ids=(PAD, BOS, UNK))
    found = greedy_search(model, starts, batch_size=2, max_length=7, **options)
    assert found.lengths.numpy().tolist() == [[2], [5]]
    assert np.all(found.ids.numpy()[0, 0, 1:] == EOS)
    assert np.all(found.ids.numpy()[1, 0, :4] >= 4)


def test_xla_finds_the_same():
    model, starts = chain([3, 9])

    def search(max_length):
        return greedy_search(model, starts, batch_size=2, max_length=max_length, **OPTIONS)

    plain = tf.function(search)(tf.constant(12))
    compiled = tf.function(search, jit_compile=True)(12)
    np.testing.assert_array_equal(plain.ids, compiled.ids)
    np.testing.assert_allclose(plain.log_probs, compiled.log_probs, rtol=1e-5)
