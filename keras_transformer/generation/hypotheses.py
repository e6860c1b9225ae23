"""What every search returns, and the length penalty by which hypotheses are ranked."""

from typing import NamedTuple

import tensorflow as tf


class Hypotheses(NamedTuple):
    """Finished texts, best first. Greedy search and sampling give one a row (`n_best` = 1).

    A text ends with EOS, unless it may stand without (`must_end`) and has come to its limit, or it
    was ended by one of `stops`.

    Where a row has fewer than `n_best` hypotheses, fillers stand at the end: only PAD, length 0,
    score and log-probability `-inf`.
    """

    ids: tf.Tensor  # int32 [batch, n_best, max_length]: tokens, then only PAD
    scores: tf.Tensor  # float32 [batch, n_best]: log_probs / length_penalty(lengths)
    lengths: tf.Tensor  # int32 [batch, n_best]: number of tokens, EOS among them
    log_probs: tf.Tensor  # float32 [batch, n_best]: sum over the tokens, EOS among them
    stop_states: tf.Tensor  # int32 [batch, n_best]: of `Stops`; 0 without


def length_penalty(length: tf.Tensor | int, alpha: tf.Tensor | float) -> tf.Tensor:
    """`((5 + length) / 6) ** alpha`, by which a log-probability is divided (float32).

    Wu et al. 2016, "Google's Neural Machine Translation System", section 7. `length` counts EOS;
    0 ranks by log-probability, larger values of `alpha` favour longer texts. The two broadcast.

    >>> float(length_penalty(7, 1.0))
    2.0
    """
    return tf.pow((5.0 + tf.cast(length, tf.float32)) / 6.0, tf.cast(alpha, tf.float32))
