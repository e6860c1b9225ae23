"""The graph of scoring given texts: what the model gives for each token, window by window."""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow as tf

from keras_transformer.models import Gpt
from keras_transformer.tasks.bert_inputs import cut, slices
from keras_transformer.tasks.chunks import map_in_chunks
from keras_transformer.tasks.generation_search import TOKENS_AT_A_TIME
from keras_transformer.tasks.text_bounds import beginnings, most_bytes
from keras_transformer.tasks.text_window import Window, started
from keras_transformer.text import Tokenizer
from keras_transformer.text.ragged_rows import value_rows

LOGITS_AT_A_TIME = 2**26  # 256 MiB of them

MOST_TOKENS = 100_000
"""No more tokens of a text are scored, the first ones."""


@dataclass(frozen=True)
class TextScoring:
    """Log-probabilities of texts `[batch]` under a decoder-only model, in the graph.

    The windows are those in which `GenerationSearch` would have read the text had it written it:
    the first is full when it reaches the model's `max_position_embeddings`, each further one
    begins with the last half of the one before. Every token is scored once.
    """

    model: Gpt
    tokenizer: Tokenizer
    start_id: int | None

    def __call__(self, texts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Sums of log-probabilities (float32), numbers of tokens (int32) and which texts have more
        than `MOST_TOKENS` (bool): all `[batch]`."""
        window = Window(self.model.config.max_position_embeddings)
        texts, too_long = beginnings(texts, most_bytes(MOST_TOKENS))
        tokens = started(self.tokenizer.tokenize(texts), self.start_id, None)  # [batch, (tokens)]
        tokens, cut_off = cut(tokens, MOST_TOKENS + 1)
        scored = tf.maximum(tokens.row_lengths() - 1, 0)  # [batch]; the first has none before it
        beyond = tf.maximum(scored - window.size, 0)
        stride = window.size + 1 - window.kept
        windows = tf.where(scored > 0, 1 + (beyond + stride - 1) // stride, 0)  # [batch]
        numbers = tf.ragged.range(windows)  # [batch, (windows)]
        rows, starts = value_rows(numbers), numbers.values * stride  # [all_windows]
        ends = tf.minimum(starts + window.size, tf.gather(scored, rows))
        inputs = slices(tokens, rows, starts, ends)  # [all_windows, (tokens)]
        labels = slices(tokens, rows, starts + 1, ends + 1)
        # The first tokens of a further window were scored in the one before.
        known = tf.where(starts > 0, window.kept - 1, 0)
        lengths = tf.cast(ends - starts, tf.int32)
        longest = tf.clip_by_value(tf.reduce_max(lengths), 1, window.size)
        room = max(1, min(TOKENS_AT_A_TIME, LOGITS_AT_A_TIME // self.model.config.vocab_size))
        (sums,) = map_in_chunks(
            self._sums,
            (
                inputs.to_tensor(self.model.config.pad_token_id),
                labels.to_tensor(),
                tf.cast(known, tf.int32),
                lengths,
            ),
            lengths,
            tf.maximum(room // longest, 1),
            (tf.TensorSpec([None], tf.float32),),
        )
        sums = tf.math.unsorted_segment_sum(sums, rows, tokens.nrows())
        return sums, tf.cast(scored, tf.int32), too_long | cut_off

    def _sums(
        self, inputs: tf.Tensor, labels: tf.Tensor, known: tf.Tensor, lengths: tf.Tensor
    ) -> tuple[tf.Tensor]:
        """The log-probability of `labels [rows, width]` from `known [rows]` on, `[rows]`."""
        width = tf.reduce_max(lengths)
        logits = self.model({"token_ids": inputs[:, :width]}, training=False)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels[:, :width], tf.cast(logits, tf.float32)
        )  # [rows, width]
        places = tf.range(width)
        counts = (places >= known[:, None]) & (places < lengths[:, None])  # [rows, width]
        return (-tf.reduce_sum(tf.where(counts, losses, 0.0), axis=1),)
