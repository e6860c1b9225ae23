import numpy as np
import pytest
import tensorflow as tf
from generation import fakes
from generation.fakes import BOS, EOS, PAD, SPECIAL, UNK, Automaton
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keras_transformer.generation import Hypotheses, beam_search, greedy_search, length_penalty

FORBIDDEN = (BOS, UNK)
VOCAB = 7  # PAD, BOS, EOS, UNK and three words
STATES = 6


def searched(model, starts, *, beam_size, max_length, jit_compile=False, **options):
    """Beam search inside a tf.function, from one start state a sentence."""
    options = {"forbidden_ids": FORBIDDEN, **SPECIAL, **options}

    @tf.function(jit_compile=jit_compile)
    def search():
        return beam_search(
            model,
            tf.repeat(tf.constant(starts, tf.int32), beam_size),
            batch_size=len(starts),
            beam_size=beam_size,
            max_length=max_length,
            **options,
        )

    return Hypotheses(*(tensor.numpy() for tensor in search()))


@tf.function
def exhaustive_search(transitions, logits, starts, alpha, max_lengths, min_lengths):
    """One trace for all random tables: 27 beams hold every text of three words, twice three."""
    return beam_search(
        Automaton(transitions, logits),
        tf.repeat(starts, 27),
        batch_size=2,
        beam_size=27,
        n_best=5,
        max_length=4,
        max_lengths=max_lengths,
        min_lengths=min_lengths,
        length_penalty=alpha,
        forbidden_ids=FORBIDDEN,
        **SPECIAL,
    )


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


def test_a_row_gives_the_same_to_the_last_bit_alone_and_in_a_batch():
    automaton = fakes.random_automaton(3, states=40, vocab=1000, scale=3.0)
    starts, limits = [0, 1, 2, 3], [4, 20, 9, 1]
    options = dict(beam_size=4, n_best=4, max_length=20)
    together = searched(automaton, starts, max_lengths=tf.constant(limits), **options)
    for row, (start, limit) in enumerate(zip(starts, limits, strict=True)):
        alone = searched(automaton, [start], max_lengths=tf.constant([limit]), **options)
        for one, many in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one[0], many[row])


def early_and_late():
    """Sentence 0 ends at step 2, sentence 1 at step 20; both states chains of one word each."""
    vocab = 6
    logits = np.full([60, vocab], -8.0, np.float32)
    logits[:, 4], logits[:, 5] = 2.0, 1.0
    transitions = np.tile(np.minimum(np.arange(60) + 1, 59)[:, None], [1, vocab])
    for first, last in ((0, 2), (10, 30)):
        logits[first + (last - first), EOS] = 12.0
    return Automaton(transitions.astype(np.int32), logits)


@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_a_finished_sentence_is_left_alone_while_its_neighbour_goes_on(alpha):
    automaton = early_and_late()
    options = dict(beam_size=3, n_best=3, max_length=25, length_penalty=alpha)
    alone = searched(automaton, [0], **options)
    together = searched(automaton, [0, 10], **options)
    assert alone.lengths[0, 0] == 2 and together.lengths[1, 0] == 20
    for one, many in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one[0], many[0])


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


class SourceModel:
    """Encoder-decoder in small: looks tokens up in a padded source, and remembers what it said.

    The state holds the source's ids and lengths, one row a beam, beside a history that only fits
    a hypothesis if it was re-ordered with it.
    """

    def __init__(self, vocab):
        rng = np.random.default_rng(5)
        self.table = rng.normal(scale=2.0, size=[vocab, vocab]).astype(np.float32)

    def start(self, sources, lengths, beam_size):
        sources, lengths = tf.repeat(sources, beam_size, 0), tf.repeat(lengths, beam_size, 0)
        history = tf.zeros([tf.shape(sources)[0], 30], tf.int32)
        return {"source": sources, "lengths": lengths, "said": (history, tf.constant(0))}

    def step(self, ids, state):
        history, position = state["said"]
        history = tf.where(tf.range(30) == position, ids[:, None], history)
        real = tf.cast(tf.sequence_mask(state["lengths"], 6), tf.float32)[..., None]
        looked_up = tf.gather(self.table, state["source"]) * real
        memory = tf.cast(tf.range(1, 31) * history, tf.float32)
        logits = tf.reduce_sum(looked_up, 1) * tf.cos(tf.reduce_sum(memory, 1, keepdims=True))
        logits += tf.gather(self.table, ids)
        return logits, {**state, "said": (history, position + 1)}

    def reorder(self, state, rows):
        history, position = state["said"]
        return {
            "source": tf.gather(state["source"], rows),
            "lengths": tf.gather(state["lengths"], rows),
            "said": (tf.gather(history, rows), position),
        }


def test_sources_of_different_lengths_with_padding_keep_to_their_beams():
    model = SourceModel(vocab=9)
    sources = tf.constant([[4, 5, 0, 0, 0, 0], [6, 7, 8, 4, 5, 6], [8, 0, 0, 0, 0, 0]])
    lengths = tf.constant([2, 6, 1])

    @tf.function(reduce_retracing=True)
    def search(sources, lengths):
        return beam_search(
            model,
            model.start(sources, lengths, 4),
            batch_size=tf.shape(sources)[0],
            beam_size=4,
            n_best=4,
            max_length=30,
            max_lengths=3 + 4 * lengths,
            forbidden_ids=FORBIDDEN,
            **SPECIAL,
        )

    together = search(sources, lengths)
    assert len({tuple(ids) for ids in together.ids[:, 0].numpy().tolist()}) == 3
    for row in range(3):
        alone = search(sources[row : row + 1], lengths[row : row + 1])
        np.testing.assert_array_equal(alone.ids[0], together.ids[row])
        np.testing.assert_allclose(alone.scores[0], together.scores[row], rtol=1e-6)
    # What is said of a text is true: its log-probability is what the model gives it, fed alone.
    for row in range(3):
        for place in range(4):
            ids = together.ids[row, place, : int(together.lengths[row, place])].numpy()
            state, total, last = model.start(sources[row, None], lengths[row, None], 1), 0.0, BOS
            for token in ids:
                logits, state = model.step(tf.constant([last]), state)
                total += float(tf.nn.log_softmax(logits)[0, token])
                last = int(token)
            np.testing.assert_allclose(together.log_probs[row, place], total, rtol=1e-5)


def test_a_batch_that_ends_at_step_three_takes_four_calls_at_most():
    end_at_three = [[1e-6, 1e-6, 1e-6, 1e-6, 0.7, 0.3]] * 2 + [[1e-9, 1e-9, 1, 1e-9, 1e-9, 1e-9]]
    calls = tf.Variable(0)
    model = fakes.table_automaton(end_at_three)._replace(calls=calls)

    @tf.function
    def search():
        return beam_search(
            model,
            tf.zeros([32 * 4], tf.int32),
            batch_size=32,
            beam_size=4,
            n_best=2,
            max_length=200,
            forbidden_ids=FORBIDDEN,
            **SPECIAL,
        )

    found = search()
    assert np.all(found.lengths.numpy() == 3)
    assert calls.numpy() <= 4


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


def test_a_length_that_is_only_known_at_run_time():
    automaton = fakes.random_automaton(4, vocab=VOCAB)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32), tf.TensorSpec([], tf.int32)])
    def search(starts, max_length):
        return beam_search(
            automaton,
            tf.repeat(starts, 2),
            batch_size=tf.shape(starts)[0],
            beam_size=2,
            max_length=max_length,
            forbidden_ids=FORBIDDEN,
            **SPECIAL,
        )

    for starts, max_length in (([0, 1, 2], 6), ([3], 2)):
        fixed = searched(automaton, starts, beam_size=2, max_length=max_length)
        loose = search(tf.constant(starts), tf.constant(max_length))
        assert loose.ids.shape == (len(starts), 1, max_length)
        for one, other in zip(fixed, loose, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("vocab", [VOCAB, 500])
def test_xla_finds_the_same(vocab):
    automaton = fakes.random_automaton(6, states=30, vocab=vocab)
    options = dict(beam_size=4, n_best=4, max_length=10, max_lengths=tf.constant([10, 5, 7]))
    plain = searched(automaton, [0, 1, 2], **options)
    compiled = searched(automaton, [0, 1, 2], jit_compile=True, **options)
    np.testing.assert_array_equal(plain.ids, compiled.ids)
    np.testing.assert_array_equal(plain.lengths, compiled.lengths)
    np.testing.assert_allclose(plain.scores, compiled.scores, rtol=1e-5)
    np.testing.assert_allclose(plain.log_probs, compiled.log_probs, rtol=1e-5)


def test_the_plain_graph_has_no_op_that_needs_xla():
    graph = exhaustive_search.get_concrete_function(
        tf.TensorSpec([STATES, VOCAB], tf.int32),
        tf.TensorSpec([STATES, VOCAB], tf.float32),
        *(tf.TensorSpec([2], dtype) for dtype in (tf.int32, tf.float32, tf.int32, tf.int32)),
    ).graph.as_graph_def()
    ops = {node.op for node in graph.node}
    ops |= {node.op for function in graph.library.function for node in function.node_def}
    assert {"TopKV2", "LogSoftmax"} <= ops  # the loop's body was looked into
    assert not [op for op in ops if op.startswith("Xla")]


def test_a_batch_of_nothing_gives_nothing():
    found = searched(fakes.random_automaton(0, vocab=VOCAB), [], beam_size=2, max_length=5)
    assert found.ids.shape == (0, 1, 5) and found.scores.shape == (0, 1)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (dict(beam_size=0), "beam_size is 0"),
        (dict(beam_size=2, n_best=3), "n_best is 3; it must be from 1 to beam_size"),
        (dict(beam_size=2, length_penalty=-1.0), "length_penalty is -1.0"),
        (dict(beam_size=2, max_length=0), "max_length is 0"),
        (dict(beam_size=2, forbidden_ids=(EOS,)), "no text could ever end"),
        (dict(beam_size=2, forbidden_ids=(99,)), "id 99 .* from 0 to 6"),
    ],
)
def test_impossible_options_are_refused_in_one_sentence(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        beam_search(
            fakes.random_automaton(0, vocab=VOCAB),
            tf.zeros([max(options["beam_size"], 1)], tf.int32),
            **{"batch_size": 1, "max_length": 4, **SPECIAL, **options},
        )


def test_a_state_that_grows_is_refused():
    class Growing:
        def step(self, ids, state):
            return tf.zeros([tf.shape(ids)[0], VOCAB]), tf.concat([state, state[:, -1:]], 1)

        def reorder(self, state, rows):
            return tf.gather(state, rows)

    with pytest.raises(ValueError, match=r"state tensor from shape \(2, 1\) to \(2, 2\)"):
        beam_search(Growing(), tf.zeros([2, 1]), batch_size=1, beam_size=2, max_length=4, **SPECIAL)
