"""Models made of tables, and the search over all sequences that a right answer is known from."""

import itertools
from typing import NamedTuple

import numpy as np
import tensorflow as tf

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIAL = dict(bos_id=BOS, eos_id=EOS, pad_id=PAD)


class Automaton(NamedTuple):
    """A table model: the next logits and the next state depend on a row's state and its token.

    The model's state is one number a row, so an answer is right only if rows are re-ordered in
    step with their hypotheses.
    """

    transitions: tf.Tensor  # int32 [states, vocab]
    logits: tf.Tensor  # float32 [states, vocab]: what follows once a state is reached
    calls: tf.Variable | None = None

    def step(self, ids, state):
        if self.calls is not None:
            self.calls.assign_add(1)
        state = tf.gather_nd(self.transitions, tf.stack([state, ids], axis=1))
        return tf.gather(self.logits, state), state

    def reorder(self, state, rows):
        return tf.gather(state, rows)


def random_automaton(seed, states=6, vocab=6, scale=2.0):
    rng = np.random.default_rng(seed)
    transitions = rng.integers(0, states, [states, vocab]).astype(np.int32)
    logits = (scale * rng.normal(size=[states, vocab])).astype(np.float32)
    return Automaton(transitions, logits)


def layered_automaton(seed, layers, states=6, vocab=6, scale=2.0):
    """As `random_automaton`, but each step has tables of its own.

    So no two texts are made of the same steps in another order, and none tie but for rounding.
    """
    automaton = random_automaton(seed, layers * states, vocab, scale)
    layer = np.arange(layers * states)[:, None] // states
    following = np.minimum(layer + 1, layers - 1) * states + automaton.transitions % states
    return automaton._replace(transitions=following.astype(np.int32))


def table_automaton(probabilities):
    """The model that follows `probabilities [steps][token]` whatever was emitted before."""
    steps = len(probabilities)
    with np.errstate(divide="ignore"):
        logits = np.log(np.asarray([probabilities[0], *probabilities], np.float32))
    vocab = logits.shape[1]
    following = np.minimum(np.arange(steps + 1) + 1, steps).astype(np.int32)
    return Automaton(np.tile(following[:, None], [1, vocab]), logits)


def log_softmax(logits):
    logits = np.asarray(logits, np.float64)
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def log_probability(automaton, start, ids):
    """The log-probability of `ids`, EOS among them, by walking the tables."""
    state, last, total = start, BOS, 0.0
    table = log_softmax(automaton.logits)
    for token in ids:
        state = automaton.transitions[state, last]
        total += table[state, token]
        last = token
    return total


def penalty(length, alpha):
    return ((5 + length) / 6) ** alpha


def brute_force(automaton, start, max_length, alpha, forbidden=(PAD, BOS, UNK), min_length=0):
    """All finished texts with their scores, best first: [(score, ids)]."""
    vocab = automaton.logits.shape[1]
    words = [i for i in range(vocab) if i != EOS and i not in forbidden]
    found = []
    for length in range(min_length, max_length):
        for text in itertools.product(words, repeat=length):
            ids = (*text, EOS)
            score = log_probability(automaton, start, ids) / penalty(len(ids), alpha)
            found.append((score, ids))
    return sorted(found, reverse=True)


def text(ids, length):
    """One hypothesis as a tuple, after a look at what stands behind its end."""
    ids = [int(i) for i in ids]
    assert all(i == PAD for i in ids[length:])
    assert ids[length - 1] == EOS and ids.count(EOS) == 1
    return tuple(ids[:length])
