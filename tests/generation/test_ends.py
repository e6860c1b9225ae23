"""What ends a text that need not end: the end marker, a limit, a sequence of tokens."""

import numpy as np
import pytest
import tensorflow as tf
from generation import fakes
from generation.fakes import BOS, EOS, PAD, SPECIAL, UNK, Automaton
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keras_transformer.generation import Stops, beam_search, greedy_search, sample

FREE = dict(forbidden_ids=(BOS, UNK), must_end=False, **SPECIAL)
VOCAB, STATES = 6, 6  # PAD, BOS, EOS, UNK and two words
ROWS = 4


def words_only(seed=3, rows=ROWS):
    """A model that never ends a text by itself, and a start state for each row."""
    automaton = fakes.random_automaton(seed, states=30, vocab=9)
    logits = automaton.logits - 99.0 * (np.arange(9) == EOS)
    return automaton._replace(logits=logits.astype(np.float32)), tf.range(rows)


def pairs(first, second, vocab):
    """Ends a text at two tokens in a row."""
    table = np.zeros([2, vocab], np.int32)
    table[:, first] = 1
    table[1, second] = 2
    return table


def searched(search, model, starts, **options):
    options = {**FREE, "batch_size": len(starts), "max_length": 8, **options}
    if search is sample:
        options["seeds"] = tf.range(len(starts))
    if search is beam_search:
        options["beam_size"] = 3
        starts = tf.repeat(starts, 3)
    return tf.function(lambda: search(model, starts, **options))()


@pytest.mark.parametrize("search", [greedy_search, sample, beam_search])
def test_a_text_at_its_limit_is_over_without_an_end(search):
    model, starts = words_only()
    limits = tf.constant([3, 8, 1, 5])
    found = searched(search, model, starts, max_lengths=limits)
    assert found.lengths.numpy()[:, 0].tolist() == limits.numpy().tolist()
    for row, limit in enumerate(limits.numpy()):
        ids = found.ids[row, 0].numpy()
        assert set(ids[:limit]) <= {4, 5, 6, 7, 8} and not ids[limit:].any()
        expected = fakes.log_probability(model, row, ids[:limit])
        np.testing.assert_allclose(found.log_probs[row, 0], expected, rtol=1e-5)


@pytest.mark.parametrize("search", [greedy_search, sample])
def test_a_limit_takes_away_nothing_but_what_is_behind_it(search):
    model, starts = words_only()
    whole = searched(search, model, starts)
    for limit in (1, 5):
        cut = searched(search, model, starts, max_lengths=tf.fill([ROWS], limit))
        np.testing.assert_array_equal(cut.ids[..., :limit], whole.ids[..., :limit])


@pytest.mark.parametrize("search", [greedy_search, sample, beam_search])
def test_a_limit_of_nought_gives_no_token_and_leaves_the_neighbours_alone(search):
    model, starts = words_only()
    alone = searched(search, model, starts[1:2] if search is not sample else starts, max_length=4)
    found = searched(search, model, starts, max_lengths=tf.constant([0, 4, 0, 2]))
    assert found.lengths.numpy()[:, 0].tolist() == [0, 4, 0, 2]
    assert not found.ids.numpy()[[0, 2]].any()
    row = 1 if search is sample else 0
    np.testing.assert_array_equal(alone.ids[row, 0], found.ids[1, 0, :4])
    if search is not beam_search:  # there it is a filler
        assert found.log_probs[0, 0] == 0.0


@pytest.mark.parametrize("search", [greedy_search, sample, beam_search])
def test_an_end_before_the_limit_counts_as_before(search):
    sure = np.eye(8)[[4, 5, EOS]] + 1e-9
    model = fakes.table_automaton(list(sure))
    found = searched(search, model, tf.zeros([2], tf.int32), min_lengths=tf.constant([0, 2]))
    assert found.ids[:, 0, :4].numpy().tolist() == [[4, 5, EOS, PAD]] * 2
    assert found.lengths[:, 0].numpy().tolist() == [3, 3]


@pytest.mark.parametrize("search", [greedy_search, sample, beam_search])
def test_a_sequence_of_tokens_ends_a_text_in_each_row_by_its_own_state(search):
    sure = np.eye(8)[[4, 4, 5, 4, 5]] + 1e-9
    model = fakes.table_automaton(list(sure))
    stops = Stops(tf.constant(pairs(4, 5, 8)), tf.constant([0, 0, 1]))
    found = searched(search, model, tf.zeros([3], tf.int32), stops=stops)
    assert found.ids[:, 0, :4].numpy().tolist() == [[4, 4, 5, PAD]] * 3
    assert found.lengths[:, 0].numpy().tolist() == [3] * 3
    assert found.stop_states[:, 0].numpy().tolist() == [2] * 3
    # Had the text of the last row begun before: its first token completes the sequence.
    second = Stops(tf.constant(pairs(5, 4, 8)), tf.constant([0, 0, 1]))
    found = searched(search, model, tf.zeros([3], tf.int32), stops=second)
    assert found.lengths[:, 0].numpy().tolist() == [4, 4, 1]


def all_texts(automaton, start, limit, alpha, table):
    """Every text that is over, by its end, its limit or a stop: [(score, ids)], best first."""
    over, open_ = [], [((), 0)]
    while open_:
        ids, state = open_.pop()
        for token in (EOS, 4, 5):
            following = state if table is None else table[state, token]
            text = (*ids, token)
            if token == EOS or len(text) == limit or (table is not None and following > 1):
                over.append(text)
            else:
                open_.append((text, following))
    scores = [
        fakes.log_probability(automaton, start, ids) / fakes.penalty(len(ids), alpha)
        for ids in over
    ]
    return sorted(zip(scores, over, strict=True), reverse=True)


@tf.function
def exhaustive(transitions, logits, alpha, limits, table):
    """8 beams hold every text of three words out of two."""
    return beam_search(
        Automaton(transitions, logits),
        tf.repeat([0, 1], 8),
        batch_size=2,
        beam_size=8,
        n_best=3,
        max_length=3,
        max_lengths=limits,
        length_penalty=alpha,
        stops=Stops(table),
        **FREE,
    )


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    alpha=st.sampled_from([0.0, 0.6, 2.0]),
    limits=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    stop=st.sampled_from([None, (4, 5), (5, 5)]),
)
@example(seed=0, alpha=0.6, limits=(3, 2), stop=(4, 5))
def test_a_beam_that_holds_everything_finds_the_best_of_all_texts(seed, alpha, limits, stop):
    automaton = fakes.random_automaton(seed, STATES, VOCAB)
    table = np.zeros([2, VOCAB], np.int32) if stop is None else pairs(*stop, VOCAB)
    found = exhaustive(
        tf.constant(automaton.transitions),
        tf.constant(automaton.logits),
        tf.fill([2], alpha),
        tf.constant(limits),
        tf.constant(table),
    )
    for row in range(2):
        expected = all_texts(automaton, row, limits[row], alpha, table)[:3]
        truth = dict((ids, score) for score, ids in expected)
        lengths = found.lengths[row].numpy()
        texts = [
            tuple(ids[:n]) for ids, n in zip(found.ids[row].numpy().tolist(), lengths, strict=True)
        ]
        scores = found.scores[row, : len(expected)].numpy()
        np.testing.assert_allclose(scores, [s for s, _ in expected], rtol=1e-5, atol=1e-5)
        if len({round(score, 4) for score, _ in expected}) == len(expected):  # no ties
            assert texts[: len(expected)] == list(truth)


def test_a_vocabulary_without_padding_is_filled_up_with_minus_one():
    model, starts = words_only()
    options = dict(FREE, pad_id=-1, forbidden_ids=(PAD, BOS, UNK))
    step = model.step

    class Padded:  # a model takes -1 for padding
        def step(self, ids, state):
            return step(tf.maximum(ids, 0), state)

    limits = tf.constant([2, 5, 8, 1])
    found = searched(sample, Padded(), starts, max_lengths=limits, **options)
    usual = searched(sample, model, starts, max_lengths=limits)
    real = tf.sequence_mask(limits, 8).numpy()
    np.testing.assert_array_equal(found.ids[:, 0], np.where(real, usual.ids[:, 0], -1))
