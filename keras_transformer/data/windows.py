"""Long texts cut into overlapping windows, so that all of them are read; in the graph.

Training and serving cut by the same functions: a model meets the windows that it learned from.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_transformer.checks import check_at_least


class Windows(NamedTuple):
    """Windows over the tokens of a batch of texts, those of a text one after the other."""

    rows: tf.Tensor  # int64 [windows], the text of each
    starts: tf.Tensor  # int64 [windows], its first token
    ends: tf.Tensor  # int64 [windows], one past its last token
    counts: tf.Tensor  # int64 [batch], windows of each text; 0 for one without tokens


def stride_windows(lengths: tf.Tensor, room: int | tf.Tensor, stride: int) -> Windows:
    """Windows that each begin `stride` tokens after the one before, until one reaches the end.

    Where the stride is longer than the room the windows lie end to end: no token is left out.

    Args:
        lengths: int64 `[batch]`, tokens of each text.
        room: tokens of a window, at least one; one number, or int64 `[batch]`.
        stride: at least one.

    >>> windows = stride_windows(tf.constant([5, 0, 9], tf.int64), room=5, stride=3)
    >>> [part.numpy().tolist() for part in windows[:3]]
    [[0, 2, 2, 2], [0, 0, 3, 6], [5, 5, 8, 9]]
    """
    check_at_least(1, stride=stride)
    rooms = tf.broadcast_to(tf.cast(room, tf.int64), tf.shape(lengths))  # [batch]
    steps = tf.minimum(tf.cast(stride, tf.int64), rooms)  # [batch]
    beyond = tf.maximum(lengths - rooms, 0)  # [batch]
    counts = tf.where(lengths > 0, 1 + (beyond + steps - 1) // steps, 0)  # [batch]
    numbers = tf.ragged.range(counts)  # [batch, (windows)]
    rows = numbers.value_rowids()  # [windows]
    starts = numbers.values * tf.gather(steps, rows)
    ends = tf.minimum(starts + tf.gather(rooms, rows), tf.gather(lengths, rows))
    return Windows(rows, starts, ends, counts)


def best_window(
    places: tf.Tensor, room: int | tf.Tensor, stride: int, counts: tf.Tensor
) -> tf.Tensor:
    """The window of its text in which a token stands nearest to the middle, and has most context.

    Args:
        places: int64, any shape: places of tokens in their texts.
        room: that of `stride_windows`, broadcasts to the places.
        stride: at most the room.
        counts: int64, broadcasts to the places: windows of their texts.

    Returns:
        int64, the shape of `places`: numbers of windows, counted within each text.

    >>> places = tf.range(9, dtype=tf.int64)
    >>> best_window(places, 5, 3, tf.constant(3, tf.int64)).numpy().tolist()
    [0, 0, 0, 0, 1, 1, 1, 2, 2]
    """
    # |start - (place - room / 2)| is smallest; the text's ends have but one window.
    number = (2 * places - room + stride) // (2 * stride)
    return tf.clip_by_value(number, 0, tf.maximum(counts - 1, 0))


class WordWindows(NamedTuple):
    """Windows of whole words, in the order of the words, which are counted through the batch.

    Each word is answered for by one window, where it has the most words around it.
    """

    rows: tf.Tensor  # int64 [windows], the text of each
    starts: tf.Tensor  # int64 [windows], the first word that is read
    ends: tf.Tensor  # int64 [windows], one past the last word that is read
    firsts: tf.Tensor  # int64 [windows], the first word that this window answers for
    lasts: tf.Tensor  # int64 [windows], one past the last of these


def word_windows(sizes: tf.RaggedTensor, room: int, overlap: int) -> WordWindows:
    """Windows over words of several pieces each; none is cut.

    Args:
        sizes: int64 `[batch, (words)]`, pieces of each word, at least one; more than `room` count
            as `room`.
        room: most pieces of a window.
        overlap: most pieces that a window shares with the one before it; fewer where whole words
            do not fit.

    Raises:
        ValueError: there is no room, or the overlap leaves nothing new.

    >>> sizes = tf.ragged.constant([[1] * 7, [3, 3]], dtype=tf.int64, row_splits_dtype=tf.int64)
    >>> windows = word_windows(sizes, room=4, overlap=2)
    >>> [part.numpy().tolist() for part in windows[:3]]
    [[0, 0, 0, 1, 1], [0, 2, 4, 7, 8], [4, 6, 7, 8, 9]]
    >>> [part.numpy().tolist() for part in windows[3:]]
    [[0, 3, 5, 7, 8], [3, 5, 7, 8, 9]]
    """
    if room < 1 or not 0 <= overlap < room:
        raise ValueError(
            f"windows of {room} pieces that share {overlap}: the overlap must be 0 or more, and "
            "less than the window."
        )
    pieces = tf.minimum(sizes.values, room)  # [words]
    before = tf.pad(tf.cumsum(pieces), [[1, 0]])  # [words + 1], pieces of all words before each
    limits = sizes.row_limits()  # [batch], where each text ends
    words = tf.size(pieces, tf.int64)

    def read_on(
        rows: tf.Tensor, starts: tf.Tensor, found: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Adds the windows that begin at `starts`, one for each of the texts that go on."""
        limit = tf.gather(limits, rows)  # [texts]
        full = tf.gather(before, starts) + room  # [texts]
        ends = tf.searchsorted(before, full, side="right", out_type=tf.int64) - 1
        ends = tf.minimum(ends, limit)  # [texts]
        found = tf.concat([found, tf.stack([rows, starts, ends], 1)], 0)  # [windows, 3]
        # Back from the end as far as the overlap allows and the next word still fits.
        ended = tf.gather(before, ends)
        following = tf.gather(before, tf.minimum(ends + 1, words)) - ended  # [texts], its pieces
        most = tf.minimum(room - following, overlap)
        again = tf.searchsorted(before, ended - most, side="left", out_type=tf.int64)
        starts = tf.maximum(starts + 1, again)  # [texts]
        going_on = ends < limit
        return tf.boolean_mask(rows, going_on), tf.boolean_mask(starts, going_on), found

    rows = tf.where(sizes.row_lengths() > 0)[:, 0]  # [texts]
    state = rows, tf.gather(sizes.row_starts(), rows), tf.zeros([0, 3], tf.int64)
    _, _, found = tf.while_loop(
        lambda rows, *_: tf.size(rows) > 0,
        read_on,
        state,
        shape_invariants=tuple(tf.TensorShape([None, *part.shape[1:]]) for part in state),
    )
    found = tf.gather(found, tf.argsort(found[:, 1]))  # [windows, 3], in the order of the words
    rows, starts, ends = tf.unstack(found, axis=1)  # [windows] each
    # Two windows of a text part in the middle of what they share.
    parted = tf.pad(rows[1:] == rows[:-1], [[1, 0]])[: tf.size(rows)]  # [windows]
    middles = tf.pad((starts[1:] + ends[:-1]) // 2, [[1, 0]])[: tf.size(rows)]  # [windows]
    firsts = tf.where(parted, middles, starts)
    lasts = tf.pad(firsts[1:], [[0, 1]], constant_values=words)[: tf.size(rows)]
    return WordWindows(rows, starts, ends, firsts, lasts)
