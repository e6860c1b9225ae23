"""Sequences of tokens that end a text: an automaton beside the search."""

from typing import NamedTuple

import tensorflow as tf


class Stops(NamedTuple):
    """An automaton over the tokens of a text; leaving its table ends the text.

    Each hypothesis is in a state, a number from 0 up. A state that is no row of the table is
    final: its text ends with the token that led there.

    >>> stops = Stops(tf.constant([[0, 1, 0], [0, 2, 0]]))  # ends at the token 1 twice in a row
    >>> states = tf.constant([0, 1])
    >>> states = stops.follow(states, tf.constant([1, 1]))
    >>> states.numpy().tolist(), stops.final(states).numpy().tolist()
    ([1, 2], [False, True])
    """

    transitions: tf.Tensor  # int32 [states, vocab]
    start: tf.Tensor | int = 0  # int32 [batch], or one for all: the states before the first token

    def follow(self, states: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
        """The states, int32 `[...]`, after tokens `[...]`; a final one remains."""
        final = self.final(states)
        places = tf.stack([tf.where(final, 0, states), ids], axis=-1)  # [..., 2]
        return tf.where(final, states, tf.gather_nd(self.transitions, places))

    def final(self, states: tf.Tensor) -> tf.Tensor:
        """Which texts have ended: bool `[...]`."""
        return states >= tf.shape(self.transitions)[0]
