"""What a decoder-only model reads of a text: its start, and a window that slides."""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow as tf


@dataclass(frozen=True)
class Window:
    """What the model reads of a text: all of it, or once that is too much, its last tokens.

    A text that has outgrown the window is read anew from its last half window on, and goes on
    until the window is full again. So every token is guessed from at least the half window before
    it, and a new reading pays for many tokens.
    """

    size: int
    """Most tokens that the model reads at once."""

    @property
    def kept(self) -> int:
        """How many tokens of a longer text are read."""
        return max(1, self.size // 2)

    def read(self, lengths: tf.Tensor) -> tf.Tensor:
        """How many tokens, the last ones, are read of texts of so many."""
        return tf.where(lengths <= self.size, lengths, self.kept)

    def room(self, read: tf.Tensor) -> tf.Tensor:
        """How many tokens a text can get after a reading; the last one is never read."""
        return self.size + 1 - read


def started(
    tokens: tf.RaggedTensor, start_id: int | None, otherwise: int | None
) -> tf.RaggedTensor:
    """Tokens `[batch, (tokens)]` with a start in front.

    Args:
        tokens: int32 `[batch, (tokens)]`.
        start_id: stands before every row, or before none if it is None.
        otherwise: stands in rows that would have no token at all, if it is not None.
    """
    lengths = tokens.row_lengths()  # [batch]
    if start_id is not None:
        starts = tf.ones_like(lengths)
    elif otherwise is not None:
        starts, start_id = tf.cast(lengths == 0, lengths.dtype), otherwise
    else:
        return tokens
    values = tf.fill([tf.reduce_sum(starts)], start_id)
    starts = tf.RaggedTensor.from_row_lengths(values, starts, validate=False)
    return tf.concat([starts, tokens], axis=1)
