"""The graph of a beam search: shapes, XLA, how many steps it takes, and what it refuses."""

import numpy as np
import pytest
import tensorflow as tf
from generation import fakes
from generation.fakes import EOS, SPECIAL
from generation.searches import FORBIDDEN, STATES, VOCAB, exhaustive_search, searched

from keras_transformer.generation import beam_search


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
