"""The words of a text by one rule for all scripts, in the graph."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_transformer.tasks.texts import valid_unicode
from keras_transformer.text.ragged_rows import value_rows

# RE2 classes of single characters.
BLANKS = r"[\p{Z}\p{Cc}\x{200b}]"
FOLLOWING = r"[\p{M}\p{Cf}]"
LETTERS = r"[\p{L}\p{N}\p{Co}_]"
DIGITS = r"\p{N}"
CHINESE = r"\p{Han}"
INNER = r"['’.\-‐&]"
INNER_OF_NUMBERS = r"[.,:]"


class WordSpans(NamedTuple):
    """The words of a batch of texts."""

    words: tf.RaggedTensor  # string [batch, (words)], exact slices of the texts
    starts: tf.RaggedTensor  # int32 [batch, (words)], first character
    ends: tf.RaggedTensor  # int32 [batch, (words)], one past the last character


def split_words(texts: tf.Tensor) -> WordSpans:
    """Cuts texts into words, with their places in Unicode characters.

    - White space and control characters separate words and belong to none.
    - Letters, digits and underscores in a row are one word; but every Chinese character is a word
      of its own.
    - An apostrophe, full stop, hyphen or ampersand between two letters or digits, and a comma or
      colon between two digits, is part of their word: don't, U.S, AT&T, 1,000.50.
    - Every other character, of punctuation or a symbol, is a word of its own.
    - Marks, joiners and variation selectors go with the character before them.

    Args:
        texts: string `[batch]`, UTF-8; an invalid byte reads as the character U+FFFD.

    >>> split_words(tf.constant(["He's in New-York, 北京!"])).words.to_list()[0][:4]
    [b"He's", b'in', b'New-York', b',']
    """
    characters = tf.strings.unicode_split(valid_unicode(texts), "UTF-8")  # [batch, (characters)]
    flat, row = characters.values, value_rows(characters)  # [all_characters]
    size = tf.size(flat, tf.int64)

    # All else is decided between characters that do not merely follow another.
    blank = tf.strings.regex_full_match(flat, BLANKS)  # [all_characters]
    follows = tf.strings.regex_full_match(flat, FOLLOWING) & ~blank
    base = tf.where(~follows)[:, 0]  # [bases]
    base_row, base_blank = tf.gather(row, base), tf.gather(blank, base)
    first = _begins_a_word(tf.gather(flat, base), base_row, base_blank)  # [bases]

    # Back to all characters: what follows is of the word before it, if one ends there.
    place = tf.cumsum(tf.cast(~follows, tf.int64)) - 1  # [all_characters], the base at or before
    owner = tf.maximum(place, 0)
    owned = (place >= 0) & (tf.gather(tf.pad(base_row, [[0, 1]]), owner) == row)
    inside = owned & ~tf.gather(tf.pad(base_blank, [[0, 1]]), owner)  # [all_characters]
    begins = tf.scatter_nd(tf.boolean_mask(base, first)[:, None], _ones(first), [size])
    word = tf.boolean_mask(tf.cumsum(begins) - 1, inside)  # [word_characters]

    count = tf.reduce_sum(begins)
    letters = tf.RaggedTensor.from_value_rowids(
        tf.boolean_mask(flat, inside), word, nrows=count, validate=False
    )  # [words, (characters)]
    start = tf.boolean_mask(base, first)  # [words], counted through the batch
    word_row = tf.gather(row, start)  # [words]
    start -= tf.gather(characters.row_starts(), word_row)
    end = start + letters.row_lengths()
    return WordSpans(
        *(
            tf.RaggedTensor.from_value_rowids(
                values, word_row, nrows=tf.size(texts, tf.int64), validate=False
            )
            for values in (
                # By the values' rows, as `reduce_join` makes a table of words by letters.
                tf.strings.unsorted_segment_join(letters.values, word, count),
                tf.cast(start, tf.int32),
                tf.cast(end, tf.int32),
            )
        )
    )


def _ones(mask: tf.Tensor) -> tf.Tensor:
    return tf.ones_like(tf.boolean_mask(mask, mask), tf.int64)


def _begins_a_word(characters: tf.Tensor, rows: tf.Tensor, blank: tf.Tensor) -> tf.Tensor:
    """Which characters begin a word: bool `[characters]`, from their rows and the blank ones."""
    chinese = tf.strings.regex_full_match(characters, CHINESE)
    letter = tf.strings.regex_full_match(characters, LETTERS) & ~chinese
    digit = tf.strings.regex_full_match(characters, DIGITS) & letter
    inner = tf.strings.regex_full_match(characters, INNER)
    inner_of_numbers = tf.strings.regex_full_match(characters, INNER_OF_NUMBERS)
    same = tf.concat([[False], rows[1:] == rows[:-1]], 0)[: tf.size(rows)]  # as the one before

    def between(kind: tf.Tensor) -> tf.Tensor:
        behind = _before(kind) & same
        ahead = _after(kind & same)
        return behind & ahead

    part = letter | (inner & between(letter)) | (inner_of_numbers & between(digit))
    continues = part & _before(part) & same
    return ~blank & ~continues


def _before(flags: tf.Tensor) -> tf.Tensor:
    """The flag of the character before; False for the first."""
    return tf.pad(flags, [[1, 0]])[:-1]


def _after(flags: tf.Tensor) -> tf.Tensor:
    """The flag of the character behind; False for the last."""
    return tf.pad(flags, [[0, 1]])[1:]
