r"""Texts to the words (pre-tokens) that GPT-2 merges bytes in, as graph ops over constants.

GPT-2 cuts by the pattern

    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+

(Radford et al. 2019, the published `encoder.py`). TensorFlow's regular expressions cannot look
ahead, and need not: whether a word begins at a character follows from the characters next to it, so
that all of a batch are found at once.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_transformer.text.byte_level_bpe_unicode import (
    BLANK,
    CODES_A_PAGE,
    OTHER,
    class_table,
)
from keras_transformer.text.ragged_rows import value_rows

LONGEST_WORD = 256  # bytes
# Where a longer word is cut: a part begins before its next multiple of this in the word, and
# ends, with a character of at most 4 bytes, within 256.
PART = LONGEST_WORD - 3

# No class and no code: what stands before the first and behind the last character of a text.
NOTHING = -1


class Words(NamedTuple):
    """The words of a batch of texts.

    Attributes:
        strings: string [words], valid UTF-8 of at most 256 bytes, none empty.
        rows: int64 [words], the text of each word.
    """

    strings: tf.Tensor
    rows: tf.Tensor


def cut_into_words(texts: tf.Tensor) -> Words:
    """Cuts texts into words, which together are the whole text.

    Args:
        texts: string [batch], UTF-8; invalid bytes read as U+FFFD.

    >>> words = cut_into_words(tf.constant(["I'm  here, 24h"]))
    >>> [word.decode() for word in words.strings.numpy()]
    ['I', "'m", ' ', ' here', ',', ' 24', 'h']
    """
    characters = tf.strings.unicode_decode(texts, "UTF-8")  # [batch, (characters)]
    codes = characters.values  # [all_characters]
    rows = value_rows(characters)  # [all_characters]
    starts = _cut_long_words(codes, _word_starts(codes, rows))  # [all_characters]
    first = tf.where(starts)[:, 0]  # [words]
    splits = tf.concat([first, [tf.size(codes, tf.int64)]], 0)  # [words + 1]
    words = tf.RaggedTensor.from_row_splits(codes, splits, validate=False)  # [words, (characters)]
    return Words(tf.strings.unicode_encode(words, "UTF-8"), tf.gather(rows, first))


def _word_starts(codes: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """Where words begin: bool [all_characters], from codes int32 and rows int64."""
    table = class_table()
    page = tf.gather(table.page_of, codes // CODES_A_PAGE)  # [all_characters]
    kind = tf.gather(table.pages, page * CODES_A_PAGE + codes % CODES_A_PAGE)

    def neighbour(values: tf.Tensor, offset: int) -> tf.Tensor:
        """The value `offset` characters on (or back), within the same text: [all_characters]."""
        same_text = _shifted(rows, offset) == rows
        return tf.where(same_text, _shifted(values, offset), NOTHING)

    before, after = neighbour(kind, -1), neighbour(kind, 1)
    # A blank goes with the blanks before it, unless something follows: then the last one stands
    # apart, and the word that follows takes it in if it is U+0020.
    last_of_several = (after != BLANK) & (after != NOTHING)
    starts = tf.where(
        kind == BLANK,
        (before != BLANK) | last_of_several,
        (before != kind) & (neighbour(codes, -1) != ord(" ")),
    )
    # 's, 't, 'm, 'd, 're, 've, 'll in small letters, where an apostrophe begins a word.
    one, two = neighbour(codes, 1), neighbour(codes, 2)
    apostrophe = starts & (kind == OTHER) & (codes == ord("'"))
    short = tf.zeros_like(starts)
    for letter in "stmd":
        short |= one == ord(letter)
    long = tf.zeros_like(starts)
    for first, second in ("re", "ve", "ll"):
        long |= (one == ord(first)) & (two == ord(second))
    short, long = apostrophe & short, apostrophe & long
    inside = _shifted(short | long, -1)
    behind = _shifted(short, -2) | _shifted(long, -3)
    return (starts & ~inside) | behind


def _cut_long_words(codes: tf.Tensor, starts: tf.Tensor) -> tf.Tensor:
    """Adds the starts of the parts of words that are too long: bool [all_characters]."""
    size = 1 + sum(tf.cast(codes >= least, tf.int64) for least in (0x80, 0x800, 0x10000))
    place = tf.cumsum(size, exclusive=True)  # bytes, [all_characters]
    ends = tf.concat([tf.boolean_mask(place, starts), [tf.reduce_sum(size)]], 0)  # [words + 1]
    word = tf.cumsum(tf.cast(starts, tf.int32)) - 1  # [all_characters]
    begin = tf.gather(ends, word)  # [all_characters]
    too_long = tf.gather(ends, word + 1) - begin > LONGEST_WORD
    part = (place - begin) // PART  # [all_characters]
    return starts | (too_long & (part != _shifted(part, -1)))


def _shifted(values: tf.Tensor, offset: int) -> tf.Tensor:
    """values[i + offset] at i, and -1 or False beyond the ends; of the same length."""
    fill = tf.constant(False) if values.dtype == tf.bool else tf.constant(NOTHING, values.dtype)
    if offset < 0:
        return tf.pad(values, [[-offset, 0]], constant_values=fill)[:offset]
    return tf.pad(values, [[0, offset]], constant_values=fill)[offset:]
