"""Unicode normalization forms and character offsets, as graph ops."""

from __future__ import annotations

import unicodedata
from typing import Literal, get_args

import tensorflow as tf
import tensorflow_text as tf_text

from keras_transformer.text.ragged_rows import value_rows

Normalization = Literal["identity", "nfc", "nfkc"]


def check_normalization(name: str) -> Normalization:
    """Returns `name` if it is one of "identity", "nfc", "nfkc"; raises a ValueError otherwise."""
    if name not in get_args(Normalization):
        raise ValueError(f"normalization must be one of {get_args(Normalization)}, got {name!r}.")
    return name


def normalize_text(text: str, normalization: Normalization) -> str:
    """Normalizes one Python string (for training; the graph uses `normalize`)."""
    if normalization == "identity":
        return text
    return unicodedata.normalize(normalization.upper(), text)


def normalize(texts: tf.Tensor, normalization: Normalization) -> tf.Tensor:
    """Normalizes texts (string, any shape) to the Unicode form (UAX 15)."""
    if normalization == "identity":
        return texts
    return tf_text.normalize_utf8(texts, normalization.upper())


def normalize_with_map(texts: tf.Tensor, normalization: Normalization) -> tuple:
    """Like `normalize` for texts [batch]; adds the map [batch + 1] for `source_characters`."""
    if normalization == "identity":
        return texts, None
    # With a spare empty text, because the op that reads the map crashes on an empty batch.
    texts = tf.concat([texts, [""]], 0)  # [batch + 1]
    normalized, offsets_map = tf_text.normalize_utf8_with_offsets_map(texts, normalization.upper())
    return normalized[:-1], offsets_map


def source_characters(
    starts: tf.RaggedTensor,
    ends: tf.RaggedTensor,
    normalized: tf.Tensor,
    texts: tf.Tensor,
    offsets_map: tf.Tensor,
) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
    """Moves character spans in normalized texts to spans in the texts as given.

    Args:
        starts, ends: int32 [batch, (tokens)], in characters of `normalized`; no span is empty.
        normalized, texts: string [batch].
        offsets_map: from `normalize_with_map`.

    Returns:
        starts, ends: int32 [batch, (tokens)] in characters of `texts`; no span is empty. Where
        one character became several ("ﬃ" to "ffi"), each of the several spans that one.
    """
    source = []
    for offsets in (starts, ends):
        in_bytes = character_to_byte_offsets(normalized, offsets)
        dense = in_bytes.to_tensor()  # [batch, max_tokens]
        # The spare text's row; and a spare column, because the op refuses rows of length 0.
        dense = tf.pad(dense, [[0, 1], [0, 1]])  # [batch + 1, max_tokens + 1]
        dense = tf_text.find_source_offsets(offsets_map, dense)[:-1]  # [batch, max_tokens + 1]
        source.append(tf.RaggedTensor.from_tensor(dense, lengths=in_bytes.row_lengths()))
    starts, ends = byte_to_character_spans(texts, *source)
    return starts.with_values(tf.minimum(starts.values, ends.values - 1)), ends


def byte_to_character_spans(
    texts: tf.Tensor, starts: tf.RaggedTensor, ends: tf.RaggedTensor
) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
    """Converts spans in UTF-8 bytes to spans in Unicode characters.

    Args:
        texts: string [batch].
        starts, ends: int [batch, (tokens)] in bytes.

    Returns:
        starts: int32 [batch, (tokens)], the character that holds the first byte.
        ends: int32 [batch, (tokens)], one past the character that holds the last byte.
    """
    characters, bases = _character_starts(texts)
    first_of_row = tf.cast(characters.row_splits[:-1], tf.int32)  # [batch]

    def count(offsets: tf.RaggedTensor, side: str) -> tf.RaggedTensor:
        rows = value_rows(offsets)  # [all_tokens]
        places = tf.cast(offsets.values, tf.int64) + tf.gather(bases, rows)  # [all_tokens]
        found = tf.searchsorted(characters.values, places, side=side)  # [all_tokens]
        return offsets.with_values(found - tf.gather(first_of_row, rows))

    return count(starts, "right") - 1, count(ends, "left")


def character_to_byte_offsets(texts: tf.Tensor, offsets: tf.RaggedTensor) -> tf.RaggedTensor:
    """Converts offsets [batch, (tokens)] in characters of texts [batch] to int64 byte offsets."""
    characters, bases = _character_starts(texts)
    ends = bases + tf.cast(tf.strings.length(texts), tf.int64)  # [batch]
    # An offset may stand at the end of its text, where no character starts.
    places = tf.concat([characters, ends[:, None]], axis=1)  # [batch, (characters + 1)]
    rows = value_rows(offsets)  # [all_tokens]
    at = tf.gather(places.row_splits, rows) + tf.cast(offsets.values, tf.int64)  # [all_tokens]
    return offsets.with_values(tf.gather(places.values, at) - tf.gather(bases, rows))


def _character_starts(texts: tf.Tensor) -> tuple[tf.RaggedTensor, tf.Tensor]:
    """Byte positions of all characters, as if the texts stood one after the other.

    One spare byte stands after each text, so that its end differs from the start of the next and
    one search over the flat, sorted positions serves the whole batch.

    Returns:
        positions: int64 [batch, (characters)], ascending through the whole batch.
        bases: int64 [batch], where each text starts.
    """
    _, starts = tf.strings.unicode_decode_with_offsets(texts, "UTF-8")  # [batch, (characters)]
    sizes = tf.cast(tf.strings.length(texts), tf.int64) + 1  # [batch]
    bases = tf.cumsum(sizes, exclusive=True)  # [batch]
    return starts.with_values(starts.values + tf.gather(bases, value_rows(starts))), bases
