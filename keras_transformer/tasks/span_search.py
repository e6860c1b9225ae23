"""The best answer spans from scores of starts and ends (Devlin et al. 2019, 4.2), in the graph."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

IMPOSSIBLE = float("-inf")


class Spans(NamedTuple):
    """Spans of each row, best first; fillers have the score -inf and are at the place 0."""

    starts: tf.Tensor  # int64 [rows, count], first token
    ends: tf.Tensor  # int64 [rows, count], last token
    scores: tf.Tensor  # float32 [rows, count], start's score plus end's


def best_spans(
    start_scores: tf.Tensor,
    end_scores: tf.Tensor,
    may_start: tf.Tensor,
    may_end: tf.Tensor,
    longest: int,
    count: int,
) -> Spans:
    """The spans with the greatest sum of their start's and their end's score.

    An end before its start is no span; so the best end may be another than the best of all ends.

    Args:
        start_scores, end_scores: float32 `[rows, width]`.
        may_start, may_end: bool `[rows, width]`.
        longest: most tokens of a span.
        count: spans of each row.

    >>> scores, anywhere = tf.constant([[0.0, 5, 1]]), tf.ones([1, 3], tf.bool)
    >>> spans = best_spans(scores, scores[:, ::-1], anywhere, anywhere, longest=3, count=1)
    >>> spans.starts.numpy().tolist(), spans.ends.numpy().tolist(), spans.scores.numpy().tolist()
    ([[1]], [[1]], [[10.0]])
    """
    starts = tf.where(may_start, start_scores, IMPOSSIBLE)  # [rows, width]
    ends = tf.where(may_end, end_scores, IMPOSSIBLE)  # [rows, width]
    rows, width = tf.unstack(tf.shape(starts))
    beyond = tf.pad(ends, [[0, 0], [0, longest - 1]], constant_values=IMPOSSIBLE)
    # Column i of a start's row is the end i tokens behind it.
    ends = tf.stack([beyond[:, i : i + width] for i in range(longest)], axis=2)
    scores = tf.reshape(starts[:, :, None] + ends, [rows, width * longest])
    # -inf as often as it takes that there are enough to choose from.
    scores = tf.pad(scores, [[0, 0], [0, count]], constant_values=IMPOSSIBLE)
    scores, places = tf.math.top_k(scores, count)  # [rows, count]
    places = tf.where(scores > IMPOSSIBLE, tf.cast(places, tf.int64), 0)
    first = places // longest
    return Spans(first, first + places % longest, scores)


def best_of_texts(spans: Spans, texts: tf.Tensor, batch: tf.Tensor) -> Spans:
    """The best spans of each text from those of its windows.

    Args:
        spans: of windows, `[windows, count]`; a text's spans are all different.
        texts: int64 `[windows]`, ascending: the text of each window.
        batch: int64, how many texts there are.

    Returns:
        Spans of the texts, `[batch, count]`.
    """
    count = spans.scores.shape[1]
    # A filled row for each text, so that all have enough.
    texts = tf.concat([tf.repeat(texts, count), tf.repeat(tf.range(batch), count)], 0)

    def flat(values: tf.Tensor, filler: float) -> tf.Tensor:
        more = tf.fill([batch * count], tf.cast(filler, values.dtype))
        return tf.concat([tf.reshape(values, [-1]), more], 0)  # [(windows + batch) * count]

    columns = Spans(flat(spans.starts, 0), flat(spans.ends, 0), flat(spans.scores, IMPOSSIBLE))
    # Two stable sorts: by score, then by text. Memory stays that of the spans.
    order = tf.argsort(columns.scores, direction="DESCENDING", stable=True)
    order = tf.gather(order, tf.argsort(tf.gather(texts, order), stable=True))
    sorted_texts = tf.gather(texts, order)

    def best(values: tf.Tensor) -> tf.Tensor:
        values = tf.RaggedTensor.from_value_rowids(
            tf.gather(values, order), sorted_texts, nrows=batch, validate=False
        )  # [batch, (spans)]
        return tf.ensure_shape(values[:, :count].to_tensor(shape=[None, count]), [None, count])

    return Spans(*(best(values) for values in columns))
