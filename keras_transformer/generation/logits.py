"""Logits processors: pure functions from logits to logits.

All take and give float32 [rows, vocab] and rule a token out by `-inf`. Options are a number for all
rows or a tensor [rows], one value a row; a value that turns an option off leaves its row as it was.
"""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from keras_transformer.generation.top_k import wide_top_k

_IMPOSSIBLE = float("-inf")
_FEW = 64  # no more than this is what top_k usually is


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


def likeliest(
    logits: tf.Tensor,
    *,
    top_k: int | tf.Tensor | None = None,
    top_p: float | tf.Tensor | None = None,
) -> tf.Tensor:
    """Keeps the `top_k` likeliest tokens, and of these the fewest that reach `top_p` together.

    Fan et al. 2018, "Hierarchical Neural Story Generation"; Holtzman et al. 2020, "The Curious Case
    of Neural Text Degeneration", section 3.1 ("nucleus"). One token is always kept, and of equal
    logits the lower id first.

    Args:
        logits: float32 [rows, vocab].
        top_k: None or 0 is off, 1 is greedy, more than the vocabulary keeps all.
        top_p: None or 1 is off, 0 keeps the likeliest token alone. The probability is that among
            the tokens which `top_k` leaves.

    >>> likeliest(tf.constant([[2.0, 3.0, 1.0]]), top_k=2).numpy().tolist()
    [[2.0, 3.0, -inf]]
    >>> likeliest(tf.constant([[1.0, 3.0, 2.0]]), top_p=0.7).numpy().tolist()
    [[-inf, 3.0, 2.0]]
    """
    if isinstance(top_k, int) and top_k < 0:
        raise ValueError(f"top_k is {top_k}; it must be 0 (off) or more.")
    if isinstance(top_p, int | float) and not 0 <= top_p <= 1:
        raise ValueError(f"top_p is {top_p}; it must be from 0 to 1 (1: off).")
    k = _per_row(tf.cast(0 if top_k is None else top_k, tf.int32))  # [rows or 1, 1]
    p = _per_row(tf.cast(1.0 if top_p is None else top_p, tf.float32))  # [rows or 1, 1]

    def among(width: int) -> tf.Tensor:
        """The answer by sorting the `width` likeliest tokens alone."""
        ordered = wide_top_k(logits, width)[0]  # [rows, width], falling
        ranks = tf.range(width)
        ordered = tf.where((k <= 0) | (ranks < k), ordered, _IMPOSSIBLE)
        before = tf.cumsum(tf.nn.softmax(ordered), axis=-1, exclusive=True)  # [rows, width]
        kept = (ordered > _IMPOSSIBLE) & ((p >= 1.0) | (before < p) | (ranks == 0))
        number = tf.reduce_sum(tf.cast(kept, tf.int32), axis=-1, keepdims=True)  # [rows, 1]
        return _keep_likeliest(logits, ordered, tf.maximum(number, 1))

    vocab_size = logits.shape[-1]
    few = min(_FEW, vocab_size)
    # Sorting a large vocabulary costs as much as a small model's step.
    return tf.cond(
        tf.reduce_all((k <= 0) & (p >= 1.0)),
        lambda: logits,
        lambda: tf.cond(
            tf.reduce_all((k > 0) & (k <= few)), lambda: among(few), lambda: among(vocab_size)
        ),
    )


def min_p(logits: tf.Tensor, value: float | tf.Tensor | None) -> tf.Tensor:
    """Keeps tokens of at least `value` times the likeliest one's probability.

    Nguyen et al. 2024, "Turning Up the Heat: Min-p Sampling for Creative and Coherent LLM
    Outputs", section 3. None or 0 is off; 1 leaves the likeliest token and its equals.

    >>> min_p(tf.constant([[3.0, 1.0, 2.5]]), 0.5).numpy().tolist()
    [[3.0, -inf, 2.5]]
    """
    if value is None:
        return logits
    if isinstance(value, int | float) and not 0 <= value <= 1:
        raise ValueError(f"min_p is {value}; it must be from 0 (off) to 1.")
    least = tf.math.log(_per_row(tf.cast(value, tf.float32)))  # [rows or 1, 1]; -inf: off
    best = tf.reduce_max(logits, axis=-1, keepdims=True)  # [rows, 1]
    return tf.where(logits >= best + least, logits, _IMPOSSIBLE)


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
        pad_id: fills up `previous_ids`; it need not be in the vocabulary.

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
    penalty = _per_row(tf.cast(penalty, tf.float32))  # [rows or 1, 1]

    def penalised() -> tf.Tensor:
        ids = tf.cast(previous_ids, tf.int32)
        real = ids != pad_id
        rows = tf.zeros_like(ids) + tf.range(tf.shape(logits)[0])[:, None]  # [rows, length]
        times_used = tf.scatter_nd(
            tf.stack([rows, tf.where(real, ids, 0)], axis=-1),  # [rows, length, 2]
            tf.cast(real, tf.int32),
            tf.shape(logits),
        )  # [rows, vocab]
        lowered = tf.where(logits > 0, logits / penalty, logits * penalty)
        return tf.ensure_shape(tf.where(times_used > 0, lowered, logits), logits.shape)

    return tf.cond(tf.reduce_all(penalty == 1.0), lambda: logits, penalised)


def _per_row(value: tf.Tensor) -> tf.Tensor:
    return tf.reshape(value, [-1, 1])  # [rows or 1, 1]


def _keep_likeliest(logits: tf.Tensor, ordered: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
    """Keeps `number [rows, 1]` tokens a row, given the likeliest logits in falling order.

    Tokens that tie with the last one kept are kept from the lower id on, until the number is full.
    """
    least = tf.gather(ordered, number - 1, batch_dims=1)  # [rows, 1]: the logit of that rank
    above = logits > least  # [rows, vocab]
    tied = tf.cast(logits == least, tf.int32)
    places = number - tf.reduce_sum(tf.cast(above, tf.int32), axis=-1, keepdims=True)  # [rows, 1]
    keep = above | ((tied > 0) & (tf.cumsum(tied, axis=-1) <= places))
    return tf.where(keep, logits, _IMPOSSIBLE)
