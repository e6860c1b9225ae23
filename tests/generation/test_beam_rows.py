"""A sentence is searched as if it were alone, whatever its neighbours are."""

import numpy as np
import pytest
import tensorflow as tf
from generation import fakes
from generation.fakes import BOS, EOS, SPECIAL, Automaton
from generation.searches import FORBIDDEN, VOCAB, searched

from keras_transformer.generation import beam_search


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


def test_a_batch_of_nothing_gives_nothing():
    found = searched(fakes.random_automaton(0, vocab=VOCAB), [], beam_size=2, max_length=5)
    assert found.ids.shape == (0, 1, 5) and found.scores.shape == (0, 1)
