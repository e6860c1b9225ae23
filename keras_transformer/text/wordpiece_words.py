"""Texts to normalized words, as graph ops over constant tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.text import normalization as forms
from keras_transformer.text.ragged_rows import value_rows
from keras_transformer.text.wordpiece_rules import CharacterRules

BLANK = ord(" ")
# Stands for the character itself in what it becomes, so that all that stay share one entry.
ITSELF = -1
CODES_A_PAGE = 256
# Where characters are: planes 0 to 3, and of 14 format characters and variation selectors.
ASSIGNED = (range(0x33480), range(0xE0000, 0xE0200))
# Planes 15 and 16, where all are alike.
PRIVATE_USE = (slice(0xF0000, 0xFFFFE), slice(0x100000, 0x10FFFE))
SURROGATES = range(0xD800, 0xE000)


class CharacterTable(NamedTuple):
    """What every character becomes; NumPy arrays, so that each graph has constants of its own.

    Attributes:
        page_of: int32 [4352], the page of each run of 256 code points.
        pages: int32 [pages * 256], which entry a code point has.
        codes: int32 [all_codes], the entries' code points one after the other.
        splits: int64 [entries + 1], where each entry begins in `codes`.
        vanished: the entry of characters that disappear and belong to the one before.
    """

    page_of: np.ndarray
    pages: np.ndarray
    codes: np.ndarray
    splits: np.ndarray
    vanished: int


class Words(NamedTuple):
    """The words of a batch of texts.

    Attributes:
        codes: int32 [words, (characters)], normalized.
        rows: int64 [words], the text of each word.
        sources: int64 [all_characters], where each character of a word comes from: a place in the
            batch's characters, counted through.
        ends: int64 [all_characters of the texts], one past each character and what vanished
            behind it, counted through.
        row_starts: int64 [batch], where the characters of each text begin.
    """

    codes: tf.RaggedTensor
    rows: tf.Tensor
    sources: tf.Tensor
    ends: tf.Tensor
    row_starts: tf.Tensor


@lru_cache(maxsize=8)
def character_table(rules: CharacterRules) -> CharacterTable:
    """Builds the table of the rules; a fraction of a second, once a process."""
    entries: dict[tuple[int, ...] | str, int] = {(ITSELF,): 0, "vanished": 1}
    entry_of = np.zeros(0x110000, np.int32)
    for block in ASSIGNED:
        for code in block:
            if code in SURROGATES:
                continue
            character = chr(code)
            becomes = rules.becomes(character)
            if becomes == character:
                continue
            entry: tuple[int, ...] | str
            if not becomes and rules.is_mark(character):
                entry = "vanished"
            else:
                entry = tuple(ITSELF if part == character else ord(part) for part in becomes)
            entry_of[code] = entries.setdefault(entry, len(entries))
    for plane in PRIVATE_USE:
        if not rules.becomes(chr(plane.start)):
            entry_of[plane] = entries.setdefault((), len(entries))
    pages, page_of = np.unique(
        entry_of.reshape(-1, CODES_A_PAGE), axis=0, return_inverse=True
    )  # [pages, 256], [4352]
    codes = [() if isinstance(entry, str) else entry for entry in entries]
    return CharacterTable(
        page_of=page_of.reshape(-1).astype(np.int32),
        pages=pages.reshape(-1),
        codes=np.array([code for entry in codes for code in entry], np.int32),
        splits=np.cumsum([0, *map(len, codes)], dtype=np.int64),
        vanished=entries["vanished"],
    )


def cut_into_words(texts: tf.Tensor, table: CharacterTable, symbols: Sequence[str] = ()) -> Words:
    """Normalizes texts [batch] character by character and cuts them at the blanks.

    Args:
        texts: string [batch], UTF-8; invalid bytes read as U+FFFD.
        table: from `character_table`.
        symbols: strings that are words of their own, as they are, wherever they stand.
    """
    text_codes = tf.strings.unicode_decode(texts, "UTF-8")  # [batch, (characters)]
    flat = text_codes.values  # [all_characters]
    rows = value_rows(text_codes)  # [all_characters]
    page = tf.gather(table.page_of, flat // CODES_A_PAGE)
    entry = tf.gather(table.pages, page * CODES_A_PAGE + flat % CODES_A_PAGE)  # [all_characters]
    entry_codes, entry_splits = table.codes, table.splits
    for symbol in symbols:
        codes = [BLANK, *map(ord, symbol), BLANK]
        found, covered = _occurrences(flat, rows, symbol)
        entry = tf.where(found, len(entry_splits) - 1, tf.where(covered, table.vanished, entry))
        entry_codes = np.append(entry_codes, np.array(codes, np.int32))
        entry_splits = np.append(entry_splits, len(entry_codes))

    entries = tf.RaggedTensor.from_row_splits(
        entry_codes, entry_splits, validate=False
    )  # [entries, (codes)]
    new = tf.gather(entries, entry)  # [all_characters, (codes)]
    sources = value_rows(new)  # [all_codes]
    codes = tf.where(new.values == ITSELF, tf.gather(flat, sources), new.values)
    rows = tf.gather(rows, sources)  # [all_codes]

    inside = codes != BLANK  # [all_codes]
    follows = tf.concat([[False], inside[:-1] & (rows[1:] == rows[:-1])], 0)  # [all_codes]
    first = tf.boolean_mask(inside & ~follows, inside)  # [word_characters]
    word = tf.cumsum(tf.cast(first, tf.int64)) - 1  # [word_characters]
    word_rows = tf.boolean_mask(tf.boolean_mask(rows, inside), first)  # [words]
    words = tf.RaggedTensor.from_value_rowids(
        tf.boolean_mask(codes, inside), word, nrows=tf.size(word_rows, tf.int64), validate=False
    )  # [words, (characters)]
    return Words(
        codes=words,
        rows=word_rows,
        sources=tf.boolean_mask(sources, inside),
        ends=_ends(text_codes, entry != table.vanished),
        row_starts=text_codes.row_starts(),
    )


def spans_in_texts(
    words: Words, strings: tf.Tensor, starts: tf.RaggedTensor, ends: tf.RaggedTensor
) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
    """Moves byte spans in words to character spans in the texts that the words come from.

    Args:
        words: from `cut_into_words`.
        strings: string [words], their UTF-8.
        starts, ends: int [words, (tokens)], in bytes of `strings`; no span is empty.

    Returns:
        starts, ends: int32 [words, (tokens)]. A span reaches over marks that vanished behind it.
    """
    starts, ends = forms.byte_to_character_spans(strings, starts, ends)
    word = value_rows(starts)  # [all_tokens]
    begin = tf.gather(words.codes.row_starts(), word)  # [all_tokens]
    row_start = tf.gather(words.row_starts, tf.gather(words.rows, word))  # [all_tokens]
    first = tf.gather(words.sources, begin + tf.cast(starts.values, tf.int64))
    last = tf.gather(words.sources, begin + tf.cast(ends.values, tf.int64) - 1)
    end = tf.gather(words.ends, last)
    return (
        starts.with_values(tf.cast(first - row_start, tf.int32)),
        ends.with_values(tf.cast(end - row_start, tf.int32)),
    )


def _occurrences(flat: tf.Tensor, rows: tf.Tensor, symbol: str) -> tuple[tf.Tensor, tf.Tensor]:
    """Where a symbol begins, and which characters are the rest of one: bool [all_characters]."""
    size = tf.size(flat)
    tail = len(symbol) - 1
    following = tf.pad(flat, [[0, tail]], constant_values=-1)  # [all_characters + tail]
    following_rows = tf.pad(rows, [[0, tail]], constant_values=-1)
    found = following_rows[tail:] == rows
    for place, character in enumerate(symbol):
        found &= following[place : place + size] == ord(character)
    behind = tf.pad(found, [[tail, 0]])  # [all_characters + tail]
    covered = tf.zeros_like(found)
    for place in range(tail):
        covered |= behind[place : place + size]
    return found, covered


def _ends(text_codes: tf.RaggedTensor, stays: tf.Tensor) -> tf.Tensor:
    """One past each character and those that vanished behind it: int64 [all_characters]."""
    size = tf.size(stays, tf.int64)
    stops = tf.concat([tf.where(stays)[:, 0], [size]], 0)  # [staying + 1]
    upcoming = tf.cumsum(tf.cast(stays, tf.int64))  # [all_characters]
    row_ends = tf.gather(text_codes.row_limits(), value_rows(text_codes))  # [all_characters]
    return tf.minimum(tf.gather(stops, upcoming), row_ends)
