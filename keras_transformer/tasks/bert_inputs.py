"""From tokens to what a BERT takes: special tokens, segments, limits; all in the graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import tensorflow as tf

from keras_transformer.tasks.text_bounds import beginnings, most_bytes
from keras_transformer.text import Tokenizer


class BertBatch(NamedTuple):
    """The input of a BERT."""

    token_ids: tf.Tensor  # int32 [rows, width], filled up with PAD
    segment_ids: tf.Tensor  # int32 [rows, width]: 0 for the first text, 1 for the second
    lengths: tf.Tensor  # int32 [rows], real tokens


class BertReading(NamedTuple):
    """All that a BERT is given of some texts: of each text one row, or one for each window."""

    batch: BertBatch
    rows: tf.Tensor  # int64 [rows], the text of each
    truncated: tf.Tensor  # bool [batch], which texts are not read as a whole


@dataclass(frozen=True)
class BertInputs:
    """Puts tokens between [CLS] and [SEP], the tokenizer's `cls_id` and `sep_id`.

    Attributes:
        tokenizer: what the tokens are of.
        segments: number of segments that the model knows; with one, both texts are of it.

    Raises:
        ValueError: when the vocabulary lacks one of the two ids.
    """

    tokenizer: Tokenizer
    segments: int = 2

    def __post_init__(self) -> None:
        for name, index in (("[CLS]", self.tokenizer.cls_id), ("[SEP]", self.tokenizer.sep_id)):
            if index < 0:
                raise ValueError(f"The tokenizer's vocabulary lacks {name}, which a BERT needs.")

    def single(self, tokens: tf.RaggedTensor) -> BertBatch:
        """``[CLS] tokens [SEP]`` for int32 `[rows, (tokens)]`."""
        return self._batch([tokens])

    def pair(self, first: tf.RaggedTensor, second: tf.RaggedTensor) -> BertBatch:
        """``[CLS] first [SEP] second [SEP]`` for int32 `[rows, (tokens)]` each."""
        return self._batch([first, second])

    def reading(
        self,
        texts: tf.Tensor,
        text_pairs: tf.Tensor | None,
        max_length: int,
        tokenize: Callable[[tf.Tensor], tf.RaggedTensor] | None = None,
    ) -> BertReading:
        """Texts `[batch]`, or pairs of them, cut to so many tokens, special ones included.

        `tokenize` stands for the tokenizer's where it is given.
        """
        tokenize = tokenize or self.tokenizer.tokenize
        texts, too_long = beginnings(texts, most_bytes(max_length))
        first = tokenize(texts)  # [batch, (tokens)]
        if text_pairs is None:
            first, truncated = cut(first, max_length - 2)
            batch = self.single(first)
        else:
            text_pairs, also = beginnings(text_pairs, most_bytes(max_length))
            second = tokenize(text_pairs)  # [batch, (tokens)]
            first, second, truncated = cut_pair(first, second, max_length - 3)
            batch, too_long = self.pair(first, second), too_long | also
        return BertReading(batch, tf.range(first.nrows()), too_long | truncated)

    def _batch(self, texts: list[tf.RaggedTensor]) -> BertBatch:
        rows = texts[0].nrows(tf.int32)
        ids = (self.tokenizer.cls_id, self.tokenizer.sep_id)
        cls, sep = (tf.fill([rows, 1], index) for index in ids)
        parts = [cls]
        for text in texts:
            parts += [text, sep]
        tokens = tf.concat(parts, axis=1)  # [rows, (tokens)]
        ids = tokens.to_tensor(self.tokenizer.pad_id)  # [rows, width]
        lengths = tf.cast(tokens.row_lengths(), tf.int32)  # [rows]
        segment_ids = tf.zeros_like(ids)
        if len(texts) == 2 and self.segments > 1:
            places = tf.range(tf.shape(ids)[1])  # [width]
            second = tf.cast(texts[0].row_lengths(), tf.int32) + 2  # [rows], where it begins
            inside = (places >= second[:, None]) & (places < lengths[:, None])  # [rows, width]
            segment_ids = tf.cast(inside, tf.int32)
        return BertBatch(ids, segment_ids, lengths)


def cut(tokens: tf.RaggedTensor, most: int) -> tuple[tf.RaggedTensor, tf.Tensor]:
    """The first tokens of each row `[batch, (tokens)]`, and which rows were longer `[batch]`."""
    return tokens[:, :most], tokens.row_lengths() > most


def cut_pair(
    first: tf.RaggedTensor, second: tf.RaggedTensor, most: int
) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.Tensor]:
    """Cuts the longer text of each pair first, then both alike, until they fit together.

    Args:
        first, second: `[batch, (tokens)]`.
        most: tokens of both together.

    Returns:
        Both texts, and which pairs were cut `[batch]`.

    >>> first = tf.ragged.constant([[1, 2, 3, 4], [1]])
    >>> second = tf.ragged.constant([[5, 6, 7, 8], [5, 6, 7, 8, 9]])
    >>> [part.to_list() for part in cut_pair(first, second, 5)[:2]]
    [[[1, 2, 3], [1]], [[5, 6], [5, 6, 7, 8]]]
    """
    lengths, other = first.row_lengths(), second.row_lengths()
    too_long = lengths + other > most
    kept = tf.maximum(most - other, tf.minimum(lengths, (most + 1) // 2))
    kept = tf.where(too_long, kept, lengths)  # [batch]
    other_kept = tf.where(too_long, most - kept, other)  # [batch]
    rows = tf.range(first.nrows())
    zeros = tf.zeros_like(rows)
    return slices(first, rows, zeros, kept), slices(second, rows, zeros, other_kept), too_long


def slices(
    tokens: tf.RaggedTensor, rows: tf.Tensor, starts: tf.Tensor, ends: tf.Tensor
) -> tf.RaggedTensor:
    """``tokens[rows[i], starts[i]:ends[i]]`` for each i.

    Args:
        tokens: `[batch, (tokens)]`.
        rows, starts, ends: int64 `[slices]`.

    Returns:
        `[slices, (tokens)]`.
    """
    base = tf.gather(tokens.row_starts(), rows)  # [slices]
    return tf.gather(tokens.values, tf.ragged.range(base + starts, base + ends))
