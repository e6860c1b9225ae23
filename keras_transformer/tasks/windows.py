"""Windows over texts that are longer than the model takes, in the graph."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf


class Windows(NamedTuple):
    """Windows of a batch of texts, those of a text one after the other.

    A window begins every `step` tokens and holds `room` tokens, fewer where the text ends. Every
    token is in one of them, since a step is not longer than a window.
    """

    rows: tf.Tensor  # int64 [windows], the text of each
    starts: tf.Tensor  # int64 [windows], its first token
    counts: tf.Tensor  # int64 [batch], windows of each text; 0 for one without tokens
    first: tf.Tensor  # int64 [batch], the first window of each text


def windows_over(lengths: tf.Tensor, room: int | tf.Tensor, step: int) -> Windows:
    """Windows over texts of some lengths.

    Args:
        lengths: int64 `[batch]`, tokens of each text.
        room: tokens of a window; one number, or int64 `[batch]`.
        step: tokens from the start of a window to that of the next, at most `room`.

    >>> windows = windows_over(tf.constant([5, 0, 9], tf.int64), room=5, step=3)
    >>> windows.rows.numpy().tolist(), windows.starts.numpy().tolist()
    ([0, 2, 2, 2], [0, 0, 3, 6])
    """
    beyond = tf.maximum(lengths - room, 0)  # [batch]
    counts = tf.where(lengths > 0, 1 + (beyond + step - 1) // step, 0)  # [batch]
    numbers = tf.ragged.range(counts)  # [batch, (windows)]
    return Windows(
        rows=numbers.value_rowids(),
        starts=numbers.values * step,
        counts=counts,
        first=numbers.row_starts(),
    )


def best_window(
    places: tf.Tensor, room: int | tf.Tensor, step: int, counts: tf.Tensor
) -> tf.Tensor:
    """The window of its text in which a token stands nearest to the middle, and has most context.

    Args:
        places: int64, any shape: places of tokens in their texts.
        room, step: those of `windows_over`; `room` broadcasts to the places.
        counts: int64, broadcasts to the places: windows of their texts.

    Returns:
        int64, the shape of `places`: numbers of windows, counted within each text.

    >>> places = tf.range(9, dtype=tf.int64)
    >>> best_window(places, 5, 3, tf.constant(3, tf.int64)).numpy().tolist()
    [0, 0, 0, 0, 1, 1, 1, 2, 2]
    """
    # |start - (place - room / 2)| is smallest; the text's ends have but one window.
    number = (2 * places - room + step) // (2 * step)
    return tf.clip_by_value(number, 0, tf.maximum(counts - 1, 0))
