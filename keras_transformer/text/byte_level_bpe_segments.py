"""Texts, cut at the special tokens that are typed in them, as graph ops."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import tensorflow as tf

from keras_transformer.text.ragged_rows import value_rows

MARK = b"\xff"  # in no UTF-8
# A text that is empty or begins with a blank gets no other one.
NEEDS_NO_BLANK = r"(?s)( .*)?"


class Segments(NamedTuple):
    """What stands before, between and behind special tokens, and these.

    Attributes:
        plain: string [segments], what is to be cut into words; empty for a special token.
        rows: int64 [segments], the text of each segment.
        found: int32 [segments], the id of a special token, -1 for plain text.
        sizes: int64 [segments], bytes of the text.
        blanks: int64 [segments], how many blanks `plain` begins with that the text has not.
    """

    plain: tf.Tensor
    rows: tf.Tensor
    found: tf.Tensor
    sizes: tf.Tensor
    blanks: tf.Tensor


def cut_at_symbols(
    texts: tf.Tensor, symbols: Mapping[str, int], add_prefix_space: bool = False
) -> Segments:
    """Cuts texts [batch] at symbols, the longest of several that stand at one place.

    Args:
        texts: string [batch]; invalid UTF-8 becomes U+FFFD where there are symbols.
        symbols: ids of the symbols.
        add_prefix_space: begin every segment of plain text with a blank.

    >>> segments = cut_at_symbols(tf.constant(["a<|x|>b", "c"]), {"<|x|>": 7})
    >>> segments.plain.numpy().tolist(), segments.found.numpy().tolist()
    ([b'a', b'', b'b', b'c'], [-1, 7, -1, -1])
    """
    if symbols:
        longest_first = "|".join(map(re.escape, sorted(symbols, key=len, reverse=True)))
        texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8")
        # Not by tensorflow-text's `regex_split`, which loses what stands behind a NUL.
        marked = tf.strings.regex_replace(texts, f"({longest_first})", MARK + rb"\1" + MARK)
        parts = tf.strings.split(marked, MARK)  # [batch, (segments)]
        texts, rows = parts.values, value_rows(parts)
    else:
        rows = tf.range(tf.size(texts, tf.int64))
    found = tf.fill(tf.shape(texts), -1)  # [segments]
    for symbol, index in symbols.items():
        found = tf.where(texts == symbol, index, found)
    plain = tf.where(found < 0, texts, "")
    missing = tf.zeros_like(found, tf.bool)
    if add_prefix_space:
        missing = ~tf.strings.regex_full_match(plain, NEEDS_NO_BLANK)
        plain = tf.strings.join([tf.where(missing, " ", ""), plain])
    sizes = tf.cast(tf.strings.length(texts), tf.int64)
    return Segments(plain, rows, found, sizes, tf.cast(missing, tf.int64))


def join_segments(parts: tf.RaggedTensor, segments: Segments, texts: tf.Tensor) -> tf.RaggedTensor:
    """[segments, (tokens)] to [batch, (tokens)]."""
    row = tf.gather(segments.rows, value_rows(parts))  # [all_tokens]
    return tf.RaggedTensor.from_value_rowids(
        parts.values, row, nrows=tf.size(texts, tf.int64), validate=False
    )
