"""What a beam search finds: the best texts, by their own scores."""

import numpy as np
import tensorflow as tf
from generation import fakes
from generation.fakes import BOS, EOS, PAD, SPECIAL, UNK, Automaton
from generation.searches import FORBIDDEN, STATES, VOCAB, exhaustive_search, searched
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keras_transformer.generation import beam_search, greedy_search, length_penalty


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    alpha=st.sampled_from([0.0, 0.6, 1.0, 2.0]),
    max_lengths=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    min_lengths=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    scale=st.sampled_from([0.3, 2.0, 8.0]),
)
@example(seed=0, alpha=0.6, max_lengths=(4, 4), min_lengths=(0, 0), scale=2.0)
def test_a_beam_that_holds_everything_equals_brute_force(
    seed, alpha, max_lengths, min_lengths, scale
):
    automaton = fakes.random_automaton(seed, STATES, VOCAB, scale)
    found = exhaustive_search(
        tf.constant(automaton.transitions),
        tf.constant(automaton.logits),
        tf.constant([0, 1]),
        tf.fill([2], alpha),
        tf.constant(max_lengths),
        tf.constant(min_lengths),
    )
    for row in range(2):
        least = min(min_lengths[row], max_lengths[row] - 1)
        expected = fakes.brute_force(automaton, row, max_lengths[row], alpha, min_length=least)
        truth = {ids: score for score, ids in expected}
        available = min(5, len(expected))
        texts = [
            fakes.text(found.ids[row, i].numpy(), int(found.lengths[row, i]))
            for i in range(available)
        ]
        assert len(set(texts)) == available
        scores = found.scores[row, :available].numpy()
        # Each text has the score it has by enumeration, and no better text was missed.
        np.testing.assert_allclose(scores, [truth[t] for t in texts], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(
            scores, [score for score, _ in expected[:available]], rtol=1e-5, atol=1e-5
        )
        np.testing.assert_allclose(
            found.log_probs[row, :available],
            [fakes.log_probability(automaton, row, t) for t in texts],
            rtol=1e-5,
            atol=1e-5,
        )
        # Fillers stand where there are no more texts.
        assert np.all(np.isneginf(found.scores[row, available:]))
        assert np.all(np.isneginf(found.log_probs[row, available:]))
        assert np.all(found.lengths[row, available:].numpy() == 0)
        assert np.all(found.ids[row, available:].numpy() == PAD)


def reference_beam_search(automaton, start, *, beam_size, n_best, max_length, alpha):
    """A narrow beam by the book, in float32 sums, that never stops early."""
    table = fakes.log_softmax(automaton.logits).astype(np.float32)
    live, finished = [(np.float32(0), (), start, BOS)], []
    for length in range(1, max_length + 1):
        candidates = []
        for log_prob, ids, state, last in live:
            state = int(automaton.transitions[state, last])
            for token in range(table.shape[1]):
                if token in (PAD, *FORBIDDEN) or (length == max_length and token != EOS):
                    continue
                total = np.float32(log_prob + table[state, token])
                candidates.append((total, (*ids, token), state, token))
        candidates.sort(key=lambda candidate: -candidate[0])
        candidates = candidates[: 2 * beam_size]
        finished += [(c[0] / fakes.penalty(length, alpha), c[1]) for c in candidates if c[3] == EOS]
        live = [c for c in candidates if c[3] != EOS][:beam_size]
    return sorted(finished, key=lambda f: -f[0])[:n_best]


@tf.function
def narrow_search(transitions, logits, starts, alpha):
    return beam_search(
        Automaton(transitions, logits),
        tf.repeat(starts, 3),
        batch_size=4,
        beam_size=3,
        n_best=3,
        max_length=9,
        length_penalty=alpha,
        forbidden_ids=FORBIDDEN,
        **SPECIAL,
    )


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), alpha=st.sampled_from([0.0, 0.6, 1.0, 3.0]))
def test_stopping_early_gives_what_searching_to_the_end_gives(seed, alpha):
    automaton = fakes.layered_automaton(seed, layers=10, states=STATES, vocab=VOCAB)
    found = narrow_search(
        tf.constant(automaton.transitions),
        tf.constant(automaton.logits),
        tf.range(4),
        tf.fill([4], alpha),
    )
    for row in range(4):
        expected = reference_beam_search(
            automaton, row, beam_size=3, n_best=3, max_length=9, alpha=alpha
        )
        texts = [fakes.text(found.ids[row, i].numpy(), found.lengths[row, i]) for i in range(3)]
        assert texts == [ids for _, ids in expected]
        np.testing.assert_allclose(found.scores[row], [score for score, _ in expected], rtol=1e-5)


def two_roads(first_score=0.52, second_score=0.48):
    """Word 4 leads to the end at once, word 5 to a longer text that is all but certain."""
    sure = 1.0 - 3e-4
    tiny = 1e-4
    rows = [
        [tiny, tiny, tiny, tiny, first_score, second_score],  # at the start
        [tiny, tiny, sure, tiny, tiny, tiny],  # after 4: EOS
        [tiny, tiny, tiny, tiny, tiny, sure],  # after 5: 5 again
        [tiny, tiny, tiny, tiny, tiny, sure],
        [tiny, tiny, sure, tiny, tiny, tiny],  # EOS
    ]
    transitions = np.zeros([5, 6], np.int32)
    transitions[0, 4], transitions[0, 5] = 1, 2
    transitions[2], transitions[3], transitions[1], transitions[4] = 3, 4, 1, 4
    return Automaton(transitions, np.log(np.asarray(rows, np.float32)))


def test_search_goes_on_while_a_longer_text_can_still_win():
    automaton = two_roads()
    found = searched(automaton, [0], beam_size=2, max_length=6, length_penalty=0.6)
    expected = fakes.brute_force(automaton, 0, 6, 0.6)[0]
    # The best beam ends at step 2; the winner is the second beam, which ends at step 4.
    assert fakes.text(found.ids[0, 0], found.lengths[0, 0]) == expected[1] == (5, 5, 5, EOS)
    np.testing.assert_allclose(found.scores[0, 0], expected[0], rtol=1e-5)


def test_length_penalty_changes_the_winner_and_counts_each_text_by_its_own_length():
    automaton = two_roads()
    plain = searched(automaton, [0], beam_size=2, n_best=2, max_length=6, length_penalty=0.0)
    longer = searched(automaton, [0], beam_size=2, n_best=2, max_length=6, length_penalty=1.0)
    short, long = (4, EOS), (5, 5, 5, EOS)
    assert [fakes.text(*t) for t in zip(plain.ids[0], plain.lengths[0], strict=True)] == [
        short,
        long,
    ]
    assert [fakes.text(*t) for t in zip(longer.ids[0], longer.lengths[0], strict=True)] == [
        long,
        short,
    ]
    # By hand: log 0.48 / (9 / 6) and log 0.52 / (7 / 6), but for the sure steps.
    np.testing.assert_allclose(longer.scores[0], [-0.490, -0.561], atol=2e-3)
    np.testing.assert_allclose(plain.scores, plain.log_probs)


def test_each_row_has_its_own_length_penalty():
    automaton = two_roads()
    found = searched(
        automaton, [0, 0], beam_size=2, max_length=6, length_penalty=tf.constant([0.0, 1.0])
    )
    assert found.lengths[:, 0].tolist() == [2, 4]


def test_more_results_than_exist_are_filled_up():
    automaton = fakes.random_automaton(1, vocab=VOCAB)
    found = searched(automaton, [0, 1], beam_size=5, n_best=5, max_length=1)
    assert found.ids.shape == (2, 5, 1)
    assert np.all(found.ids[:, 0, 0] == EOS) and np.all(found.ids[:, 1:] == PAD)
    assert np.all(np.isfinite(found.scores[:, 0])) and np.all(np.isneginf(found.scores[:, 1:]))
    assert found.lengths.tolist() == [[1, 0, 0, 0, 0]] * 2


def test_minimum_length_holds_and_special_tokens_are_never_emitted():
    automaton = fakes.random_automaton(8, states=20, vocab=VOCAB)
    keen_to_end = automaton._replace(logits=automaton.logits + 6.0 * (np.arange(VOCAB) <= UNK))
    starts = list(range(20))
    minima = tf.constant([1, 2, 3, 4] * 5)
    found = searched(keen_to_end, starts, beam_size=3, n_best=3, max_length=8, min_lengths=minima)
    assert np.all(found.lengths > minima.numpy()[:, None])
    for row in range(20):
        for ids, length in zip(found.ids[row], found.lengths[row], strict=True):
            assert not {PAD, BOS, UNK} & set(fakes.text(ids, length))
    without = searched(keen_to_end, starts, beam_size=3, max_length=8)
    assert np.any(without.lengths == 1)  # so the minimum was what kept them from being blank


def test_one_beam_is_greedy_search():
    automaton = fakes.random_automaton(2, states=30, vocab=50)
    starts = tf.range(8)
    options = dict(batch_size=8, max_length=12, forbidden_ids=FORBIDDEN, **SPECIAL)
    greedy = greedy_search(automaton, starts, length_penalty=0.6, **options)
    beam = beam_search(automaton, starts, beam_size=1, length_penalty=0.6, **options)
    for one, other in zip(greedy, beam, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(
        greedy.scores, greedy.log_probs / length_penalty(greedy.lengths, 0.6), rtol=1e-6
    )


def test_ties_go_to_the_lower_beam_and_the_lower_id():
    flat = fakes.table_automaton([[1.0] * 8] * 4)  # all texts of one length are equally likely
    found = searched(flat, [0], beam_size=3, n_best=3, max_length=3, length_penalty=2.0)
    assert found.ids[0].tolist() == [[2, 0, 0], [4, 2, 0], [5, 2, 0]]
