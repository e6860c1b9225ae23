import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.generation import logits as processors
from keras_transformer.generation.constraints import Constraints

LOGITS = tf.constant([[1.0, 3.0, 3.0, 0.0, 2.0], [0.0, -1.0, 5.0, 5.0, 5.0]])


def kept(logits):
    return [np.flatnonzero(row > -np.inf).tolist() for row in np.asarray(logits)]


@pytest.mark.parametrize("off", [None, 0, 5, 99])
def test_top_k_of_none_nought_or_all_leaves_everything(off):
    np.testing.assert_array_equal(processors.likeliest(LOGITS, top_k=off), LOGITS)


@pytest.mark.parametrize("as_tensor", [False, True])
def test_top_k_keeps_k_even_among_ties(as_tensor):
    for k, expected in ((1, [[1], [2]]), (2, [[1, 2], [2, 3]]), (3, [[1, 2, 4], [2, 3, 4]])):
        option = tf.fill([2], k) if as_tensor else k
        filtered = processors.likeliest(LOGITS, top_k=option)
        assert kept(filtered) == expected
        np.testing.assert_array_equal(
            filtered.numpy()[filtered > -np.inf], LOGITS[filtered > -np.inf]
        )


def test_top_k_is_each_rows_own():
    assert kept(processors.likeliest(LOGITS, top_k=tf.constant([0, 2]))) == [
        [0, 1, 2, 3, 4],
        [2, 3],
    ]
    assert kept(processors.likeliest(LOGITS, top_k=tf.constant([99, 1]))) == [[0, 1, 2, 3, 4], [2]]


def test_top_p_keeps_the_fewest_that_reach_p():
    logits = tf.math.log([[0.1, 0.4, 0.3, 0.2], [0.97, 0.01, 0.01, 0.01]])
    assert kept(processors.likeliest(logits, top_p=0.5)) == [[1, 2], [0]]
    assert kept(processors.likeliest(logits, top_p=0.75)) == [[1, 2, 3], [0]]
    assert kept(processors.likeliest(logits, top_p=tf.constant([0.0, 1.0]))) == [[1], [0, 1, 2, 3]]


@pytest.mark.parametrize("as_tensor", [False, True])
def test_top_p_of_nought_is_greedy_and_of_one_is_off(as_tensor):
    option = tf.constant if as_tensor else float
    assert kept(processors.likeliest(LOGITS, top_p=option(0.0))) == [[1], [2]]
    np.testing.assert_array_equal(processors.likeliest(LOGITS, top_p=option(1.0)), LOGITS)


def test_top_p_sees_no_tokens_that_are_ruled_out():
    logits = processors.forbid(LOGITS, [1, 2])
    assert kept(processors.likeliest(logits, top_p=1.0)) == [[0, 3, 4], [0, 3, 4]]
    assert kept(processors.likeliest(logits, top_p=0.5)) == [[4], [3, 4]]  # 3 and 4 have 0.498 each


def test_top_p_counts_the_probability_among_the_top_k():
    logits = tf.math.log([[0.1, 0.4, 0.3, 0.2]])
    assert kept(processors.likeliest(logits, top_k=3, top_p=0.75)) == [[1, 2]]  # 4 / 9 + 3 / 9
    assert kept(processors.likeliest(logits, top_p=0.75)) == [[1, 2, 3]]


def test_few_of_a_large_vocabulary_are_the_same_as_among_all_of_it():
    logits = tf.constant(np.random.default_rng(0).normal(size=[2, 3000]).astype(np.float32))
    few = processors.likeliest(logits, top_k=tf.constant([50, 9]), top_p=tf.constant([1.0, 0.8]))
    assert [len(row) for row in kept(few)][0] == 50
    for row, options in enumerate([(50, 1.0), (9, 0.8)]):
        # The other row keeps more than the few, so that all are sorted.
        all_of_it = processors.likeliest(
            tf.gather(logits, [row, 0]),
            top_k=tf.constant([options[0], 2000]),
            top_p=tf.constant([options[1], 1.0]),
        )
        np.testing.assert_array_equal(few[row], all_of_it[0])


def test_min_p_keeps_what_is_likely_beside_the_likeliest():
    logits = tf.math.log([[0.5, 0.2, 0.26, 0.04], [0.97, 0.01, 0.01, 0.01]])
    assert kept(processors.min_p(logits, 0.5)) == [[0, 2], [0]]
    assert kept(processors.min_p(logits, tf.constant([0.3, 0.0]))) == [[0, 1, 2], [0, 1, 2, 3]]
    np.testing.assert_array_equal(processors.min_p(logits, 0.0), logits)
    assert kept(processors.min_p(LOGITS, 1.0)) == [[1, 2], [2, 3, 4]]


def test_temperature_divides_up_to_a_shift():
    for value in (0.5, 2.0, tf.constant([0.5, 2.0])):
        divided = LOGITS / np.reshape(value, [-1, 1])
        np.testing.assert_allclose(
            tf.nn.softmax(processors.temperature(LOGITS, value)), tf.nn.softmax(divided), rtol=1e-5
        )


def test_temperature_of_nought_is_greedy_and_of_next_to_nought_is_finite():
    assert kept(processors.temperature(LOGITS, 0.0)) == [[1], [2]]
    mixed = processors.temperature(LOGITS, tf.constant([0.0, 1.0]))
    assert kept(mixed) == [[1], [0, 1, 2, 3, 4]]
    np.testing.assert_array_equal(mixed[1], LOGITS[1])
    tiny = tf.nn.softmax(processors.temperature(100.0 * LOGITS, 1e-37))
    np.testing.assert_allclose(tiny[0], [0, 0.5, 0.5, 0, 0])


def test_repetition_penalty_makes_used_tokens_less_likely():
    penalised = processors.repetition_penalty(
        LOGITS, [[1, 1, 0], [1, 3, 0]], tf.constant([2.0, 4.0]), pad_id=0
    )
    np.testing.assert_array_equal(
        penalised, [[1.0, 1.5, 3.0, 0.0, 2.0], [0.0, -4.0, 5.0, 1.25, 5.0]]
    )
    np.testing.assert_array_equal(
        processors.repetition_penalty(LOGITS, [[1], [2]], 1.0, pad_id=0), LOGITS
    )
    np.testing.assert_array_equal(  # padding need not be in the vocabulary
        processors.repetition_penalty(LOGITS, [[1, -1], [-1, -1]], 2.0, pad_id=-1),
        [[1.0, 1.5, 3.0, 0.0, 2.0], LOGITS[1]],
    )


def test_no_end_before_the_minimum_length():
    for length, expected in ((0, [False, False]), (1, [True, False]), (2, [True, True])):
        limited = processors.minimum_length(LOGITS, length, tf.constant([1, 2]), eos_id=2)
        assert np.isfinite(limited[:, 2]).tolist() == expected
        assert np.all(np.isfinite(np.delete(limited.numpy(), 2, axis=1)))


def test_the_bias_of_a_search_says_what_the_processors_say():
    constraints = Constraints.create(
        eos_id=2,
        pad_id=0,
        forbidden_ids=(1,),
        max_length=6,
        max_lengths=tf.constant([3, 9]),
        min_lengths=tf.constant([0, 4]),
    )
    for length in range(1, 7):
        expected = processors.forbid(LOGITS, [0, 1])
        expected = processors.minimum_length(
            expected, length - 1, constraints.min_lengths, eos_id=2
        )
        expected = expected.numpy()
        for row, limit in enumerate((3, 6)):
            if length >= limit:
                expected[row, np.arange(5) != 2] = -np.inf
        np.testing.assert_array_equal(LOGITS + constraints.bias(tf.constant(length), 5), expected)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: processors.likeliest(LOGITS, top_k=-1), "top_k is -1"),
        (lambda: processors.likeliest(LOGITS, top_p=1.5), "top_p is 1.5"),
        (lambda: processors.temperature(LOGITS, -0.1), "temperature is -0.1"),
        (lambda: processors.min_p(LOGITS, -0.1), "min_p is -0.1"),
        (lambda: processors.min_p(LOGITS, 1.1), "min_p is 1.1"),
        (lambda: processors.forbid(LOGITS, [5]), "Id 5 cannot be forbidden.* from 0 to 4"),
        (
            lambda: processors.repetition_penalty(LOGITS, [[1], [1]], 0.0, pad_id=0),
            "repetition_penalty is 0.0",
        ),
    ],
)
def test_impossible_options_are_refused_in_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
