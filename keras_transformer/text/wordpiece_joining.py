"""How WordPiece tokens become text again."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from keras_transformer.text.ragged_rows import value_rows
from keras_transformer.text.wordpiece_vocabulary import SUFFIX, UNK

# No blank stands before, behind, or on either side of these.
CLOSING = frozenset(".,;:!?%)]}»”…؟،؛।॥")
OPENING = frozenset("([{«“„¿¡#@")
JOINING = frozenset("'’-/")
# Scripts that put no blanks between words: how the names of their characters begin.
UNSPACED_SCRIPTS = ("CJK", "HIRAGANA", "KATAKANA", "FULLWIDTH", "HALFWIDTH")
CJK_PUNCTUATION = range(0x3000, 0x3040)


class TokenJoiner:
    """Joins tokens by rule, since WordPiece forgets where blanks stood.

    - "##" joins a token to the one before.
    - Chinese characters and kana have no blank between them, nor between them and punctuation;
      between one of them and a word of another script there is one.
    - Chinese and full-width punctuation has no blank on either side.
    - Closing punctuation (. , ; : ! ? % ) ] } » ” …) has no blank before it, opening punctuation
      (( [ { « “ „ ¿ ¡ # @) none behind it, apostrophe, hyphen and slash none on either side.
    - One blank stands between all others.

    The unknown token prints as U+FFFD.

    Args:
        tokens: the vocabulary in the order of its ids.
    """

    def __init__(self, tokens: Sequence[str]):
        surfaces = [
            "\ufffd" if token == UNK else token.removeprefix(SUFFIX) or token for token in tokens
        ]
        self._surfaces = np.array([surface.encode() for surface in surfaces], object)  # [ids]
        first_unspaced = np.array([_is_unspaced(surface[0]) for surface in surfaces])
        last_unspaced = np.array([_is_unspaced(surface[-1]) for surface in surfaces])
        punctuation = np.array(
            [len(s) == 1 and unicodedata.category(s)[0] == "P" for s in surfaces]
        )
        joining = np.array([surface in JOINING for surface in surfaces])
        joining |= punctuation & first_unspaced
        suffix = np.array([token.startswith(SUFFIX) and token != SUFFIX for token in tokens])
        # What decides about a blank between two tokens, each bool [ids].
        self._tight_before = suffix | joining | [surface in CLOSING for surface in surfaces]
        self._tight_behind = joining | [surface in OPENING for surface in surfaces]
        self._first_unspaced, self._last_unspaced = first_unspaced, last_unspaced
        self._punctuation = punctuation

    def join(self, ids: tf.RaggedTensor) -> tf.Tensor:
        """int32 [batch, (tokens)], all in the vocabulary, to string [batch]."""
        flat = ids.values  # [all_tokens]
        row = value_rows(ids)  # [all_tokens]
        here, before = flat[1:], flat[:-1]  # [all_tokens - 1]
        chinese_here = tf.gather(self._first_unspaced, here)
        chinese_before = tf.gather(self._last_unspaced, before)
        tight = tf.gather(self._tight_before, here) | tf.gather(self._tight_behind, before)
        tight |= chinese_here & (chinese_before | tf.gather(self._punctuation, before))
        tight |= chinese_before & tf.gather(self._punctuation, here)
        tight |= row[1:] != row[:-1]
        first = tf.ones_like(flat[:1], tf.bool)  # [1], or none in an empty batch
        blanks = tf.where(tf.concat([first, tight], 0), "", " ")  # [all_tokens]
        pieces = tf.strings.join([blanks, tf.gather(self._surfaces, flat)])
        return tf.strings.unsorted_segment_join(pieces, row, ids.nrows())


def _is_unspaced(character: str) -> bool:
    return ord(character) in CJK_PUNCTUATION or unicodedata.name(character, "").startswith(
        UNSPACED_SCRIPTS
    )
