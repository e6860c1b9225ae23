"""Logits processors: pure functions from logits to logits.

All take and give float32 [rows, vocab] and rule a token out by `-inf`. Options are a number for all
rows or a tensor [rows], one value a row; a value that turns an option off leaves its row as it was.
"""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

_IMPOSSIBLE = float("-inf")


def forbid(logits: tf.Tensor, ids: Sequence[int]) -> tf.Tensor:
    """Rules out the tokens `ids` in every row.

    >>> forbid(tf.zeros([1, 3]), [0]).numpy().tolist()
    [[-inf, 0.0, 0.0]]
    """
    vocab_size = logits.shape[-1]
    outside = [i for i in ids if not 0 <= i < vocab_size]
    if outside:
        raise ValueError(
            f"Id {outside[0]} cannot be forbidden: it must be from 0 to {vocab_size - 1}."
        )
    forbidden = np.zeros([vocab_size], bool)
    forbidden[list(ids)] = True
    return tf.where(forbidden, _IMPOSSIBLE, logits)


def minimum_length(
    logits: tf.Tensor, length: int | tf.Tensor, min_lengths: int | tf.Tensor, *, eos_id: int
) -> tf.Tensor:
    """Rules out EOS in rows that have fewer than `min_lengths` tokens.

    `length` is the number of tokens that stand before the one to be chosen.

    >>> minimum_length(tf.zeros([2, 3]), 1, tf.constant([1, 2]), eos_id=2).numpy().tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, -inf]]
    """
    too_short = _per_row(tf.cast(length, tf.int32) < tf.cast(min_lengths, tf.int32))  # [rows, 1]
    is_end = np.arange(logits.shape[-1]) == eos_id  # [vocab]
    return tf.where(too_short & is_end, _IMPOSSIBLE, logits)


def temperature(logits: tf.Tensor, value: float | tf.Tensor | None) -> tf.Tensor:
    """Divides the logits: below 1 the choice is surer, above 1 bolder. None is off, as is 1.

    0 leaves only the likeliest token (the lower id on a tie).

    >>> temperature(tf.constant([[0.0, 1.0]]), 0.5).numpy().tolist()
    [[-2.0, 0.0]]
    """
    if value is None:
        return logits
    if isinstance(value, int | float):
        if value < 0:
            raise ValueError(f"temperature is {value}; it must be 0 or more (0: greedy).")
        if value == 1:
            return logits
    value = _per_row(tf.cast(value, tf.float32))  # [rows, 1]
    # Softmax does not see a shift; with the largest at 0 no small divisor can overflow to +inf.
    shifted = logits - tf.reduce_max(logits, axis=-1, keepdims=True)
    best = tf.argmax(logits, axis=-1, output_type=tf.int32)  # [rows]
    greedy = tf.where(best[:, None] == tf.range(logits.shape[-1]), 0.0, _IMPOSSIBLE)
    divided = shifted / tf.where(value > 0, value, 1.0)
    divided = tf.where(shifted == 0.0, 0.0, divided)
    return tf.where(value > 0, tf.where(value == 1.0, logits, divided), greedy)


def top_k(logits: tf.Tensor, k: int | tf.Tensor | None) -> tf.Tensor:
    """Keeps the `k` likeliest tokens (Fan et al. 2018, "Hierarchical Neural Story Generation").

    None or 0 is off, more than the vocabulary keeps all, and of equal logits the lower id is kept
    first, so that 1 is greedy.

    >>> top_k(tf.constant([[2.0, 3.0, 1.0]]), 2).numpy().tolist()
    [[2.0, 3.0, -inf]]
    """
    if k is None:
        return logits
    vocab_size = logits.shape[-1]
    if isinstance(k, int):
        if k < 0:
            raise ValueError(f"top_k is {k}; it must be 0 (off) or more.")
        if k == 0 or k >= vocab_size:
            return logits
        ordered = tf.math.top_k(logits, k).values  # [rows, k]
    else:
        ordered = _falling(logits)  # [rows, vocab]
    k = tf.cast(k, tf.int32)
    k = tf.where(k > 0, tf.minimum(k, vocab_size), vocab_size)
    return _keep_likeliest(logits, ordered, _per_row(k))


def top_p(logits: tf.Tensor, p: float | tf.Tensor | None) -> tf.Tensor:
    """Keeps the fewest tokens that together have at least the probability `p` ("nucleus").

    Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration", section 3.1. None or 1 is
    off; 0 keeps the likeliest token alone. One token is always kept.

    >>> top_p(tf.constant([[1.0, 3.0, 2.0]]), 0.7).numpy().tolist()
    [[-inf, 3.0, 2.0]]
    """
    if p is None:
        return logits
    if isinstance(p, int | float):
        if not 0 <= p <= 1:
            raise ValueError(f"top_p is {p}; it must be from 0 to 1 (1: off).")
        if p == 1:
            return logits
    p = _per_row(tf.cast(p, tf.float32))  # [rows, 1]
    ordered = _falling(logits)  # [rows, vocab]
    before = tf.cumsum(tf.nn.softmax(ordered), axis=-1, exclusive=True)  # [rows, vocab]
    wanted = tf.reduce_sum(tf.cast(before < p, tf.int32), axis=-1, keepdims=True)  # [rows, 1]
    wanted = tf.where(p < 1.0, tf.maximum(wanted, 1), logits.shape[-1])
    return _keep_likeliest(logits, ordered, wanted)


def repetition_penalty(
    logits: tf.Tensor, previous_ids: tf.Tensor, penalty: float | tf.Tensor | None, *, pad_id: int
) -> tf.Tensor:
    """Makes tokens that have been used less likely (Keskar et al. 2019, "CTRL", section 4.1).

    Their logits are divided by `penalty` if positive and multiplied by it otherwise. 1 or None is
    off, below 1 repetition is encouraged.

    Args:
        logits: float32 [rows, vocab].
        previous_ids: int32 [rows, length]; PAD in it does not count as used.
        penalty: above 0; a number or float32 [rows].
        pad_id: fills up `previous_ids`.

    >>> repetition_penalty(tf.constant([[1.0, 4.0, 1.0]]), [[1]], 2.0, pad_id=0).numpy().tolist()
    [[1.0, 2.0, 1.0]]
    """
    if penalty is None:
        return logits
    if isinstance(penalty, int | float):
        if penalty <= 0:
            raise ValueError(f"repetition_penalty is {penalty}; it must be above 0 (1: off).")
        if penalty == 1:
            return logits
    penalty = _per_row(tf.cast(penalty, tf.float32))  # [rows, 1]
    previous_ids = tf.cast(previous_ids, tf.int32)
    rows = tf.zeros_like(previous_ids) + tf.range(tf.shape(logits)[0])[:, None]  # [rows, length]
    times_used = tf.scatter_nd(
        tf.stack([rows, previous_ids], axis=-1),  # [rows, length, 2]
        tf.cast(previous_ids != pad_id, tf.int32),
        tf.shape(logits),
    )  # [rows, vocab]
    penalised = tf.where(logits > 0, logits / penalty, logits * penalty)
    return tf.where(times_used > 0, penalised, logits)


def _per_row(value: tf.Tensor) -> tf.Tensor:
    return tf.reshape(value, [-1, 1])  # [rows or 1, 1]


def _falling(logits: tf.Tensor) -> tf.Tensor:
    return tf.math.top_k(logits, logits.shape[-1]).values  # [rows, vocab]


def _keep_likeliest(logits: tf.Tensor, ordered: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
    """Keeps `number [rows or 1, 1]` tokens a row, given the logits in falling order.

    Tokens that tie with the last one kept are kept from the lower id on, until the number is full.
    """
    ranks = tf.range(1, tf.shape(ordered)[-1] + 1)  # [vocab]
    least = tf.reduce_max(  # the logit of rank `number`
        tf.where(ranks >= number, ordered, _IMPOSSIBLE), axis=-1, keepdims=True
    )  # [rows, 1]
    above = logits > least  # [rows, vocab]
    tied = tf.cast(logits == least, tf.int32)
    places = number - tf.reduce_sum(tf.cast(above, tf.int32), axis=-1, keepdims=True)  # [rows, 1]
    keep = above | ((tied > 0) & (tf.cumsum(tied, axis=-1) <= places))
    return tf.where(keep, logits, _IMPOSSIBLE)
