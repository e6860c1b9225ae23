"""Byte-level BPE: the subwords of GPT-2, which spell any text in bytes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import tensorflow as tf

from keras_transformer.text import normalization as forms
from keras_transformer.text.byte_level_bpe_merging import MergeTable
from keras_transformer.text.byte_level_bpe_segments import Segments, cut_at_symbols, join_segments
from keras_transformer.text.byte_level_bpe_vocabulary import (
    BYTE_CHARACTERS,
    Merge,
    check_vocabulary,
    in_order,
    read_merges,
    read_vocabulary,
    token_bytes,
    write_merges,
    write_vocabulary,
)
from keras_transformer.text.byte_level_bpe_words import cut_into_words
from keras_transformer.text.corpus import TrainingTexts
from keras_transformer.text.ragged_rows import value_rows
from keras_transformer.text.shapes import as_texts, map_texts
from keras_transformer.text.tokenizer import Tokenizer

VOCABULARY_FILE = "vocab.json"
MERGES_FILE = "merges.txt"

PAD = "<pad>"
END_OF_TEXT = "<|endoftext|>"
REPLACEMENT = "\ufffd".encode()


class ByteLevelBPETokenizer(Tokenizer):
    """Byte-level byte pair encoding (Radford et al. 2019, section 2.2) with GPT-2's ids.

    A text is cut into words by GPT-2's pattern, each word is spelled in the bytes of its UTF-8,
    and neighbouring bytes are merged in the order of the merges. Nothing is unknown: every valid
    text comes back exactly. Bytes that are not UTF-8 are read as U+FFFD, and ids that do not spell
    UTF-8 print as it.

    The ids are those of Hugging Face's GPT2TokenizerFast, except in a word of more than 256 bytes:
    it is cut, at characters, into parts of at most 256 bytes that are merged by themselves, so that
    the cost of a text is bounded by its length. It comes back exactly all the same.

    Text never yields a control id: '<|endoftext|>' is cut into pieces like any other word, unless
    `match_control_symbols` is set.

    Args:
        vocabulary: tokens in the order of their ids, spelled in GPT-2's letters for bytes ("Ġ" is
            the blank); all 256 bytes among them.
        merges: pairs of tokens, the most important first.
        special_tokens: which tokens are control tokens: text does not yield them and
            `detokenize` skips them.
        pad_token, bos_token, eos_token: which special tokens give `pad_id`, `bos_id` and `eos_id`;
            None gives the id -1. One may play several parts, as '<|endoftext|>' does in GPT-2.
        add_prefix_space: begin every text with a blank, so that its first word is the same as
            inside the text. The blank does not go away again: such a text comes back with it.
        normalization: "identity" (as GPT-2), "nfc" or "nfkc", applied first.
        match_control_symbols: let special tokens be typed in the text, as Hugging Face does. For
            text of one's own. One that is there for padding alone cannot be typed even then.

    `unk_id` and `mask_id` are -1: there are none.

    >>> tokenizer = ByteLevelBPETokenizer.train(["low lower lowest"] * 2, 300)
    >>> ids = tokenizer.tokenize("lowest 🙂")
    >>> [tokenizer.id_to_token(index) for index in ids.numpy()]
    ['low', 'e', 'st', 'Ġ', 'ð', 'Ł', 'Ļ', 'Ĥ']
    >>> tokenizer.detokenize(ids).numpy().decode()
    'lowest 🙂'
    """

    unk_id = -1

    def __init__(
        self,
        vocabulary: Sequence[str],
        merges: Sequence[Merge],
        special_tokens: Sequence[str] = (END_OF_TEXT,),
        pad_token: str | None = None,
        bos_token: str | None = END_OF_TEXT,
        eos_token: str | None = END_OF_TEXT,
        add_prefix_space: bool = False,
        normalization: forms.Normalization = "identity",
        match_control_symbols: bool = False,
        name: str | None = None,
    ):
        super().__init__(normalization, name=name)
        self._special_tokens = _check_names(special_tokens)
        self._vocabulary = tuple(vocabulary)
        self._merges = tuple(tuple(pair) for pair in merges)
        self._ids = check_vocabulary(self._vocabulary, self._merges, self._special_tokens)
        self._roles = {"pad_token": pad_token, "bos_token": bos_token, "eos_token": eos_token}
        for role, token in self._roles.items():
            if token is not None and token not in self._special_tokens:
                raise ValueError(
                    f"{role}={token!r} is not one of special_tokens={list(self._special_tokens)}."
                )
        self.pad_id = self._ids.get(pad_token, -1)
        self.cls_id = self.bos_id = self._ids.get(bos_token, -1)
        self.sep_id = self.eos_id = self._ids.get(eos_token, -1)
        self.add_prefix_space = add_prefix_space
        self.match_control_symbols = match_control_symbols
        ids = self._ids
        self._table = MergeTable(
            [(ids[left], ids[right], ids[left + right]) for left, right in self._merges]
        )
        # NumPy arrays, so that every graph gets constants of its own.
        self._byte_ids = np.array([ids[character] for character in BYTE_CHARACTERS], np.int32)
        self._byte_strings = np.array([bytes([byte]) for byte in range(256)], object)
        spelled = [
            token.encode() if token in self._special_tokens else token_bytes(token)
            for token in self._vocabulary
        ]
        spelled.append(REPLACEMENT)  # the last entry, for impossible ids
        self._sizes = np.array([len(token) for token in spelled], np.int64)  # [vocab_size + 1]
        self._bytes = np.frombuffer(b"".join(spelled), np.uint8).astype(np.int32)  # [all_bytes]

    @classmethod
    def from_files(
        cls,
        vocabulary: str | os.PathLike[str],
        merges: str | os.PathLike[str],
        **options: Any,
    ) -> Self:
        """Takes the `vocab.json` and `merges.txt` of OpenAI or Hugging Face.

        Args:
            vocabulary, merges: the two files.
            **options: the other arguments of the class.

        Raises:
            ValueError: if a file cannot be read or is damaged, or if they do not fit together.
        """
        tokens = in_order(read_vocabulary(vocabulary), os.fspath(vocabulary))
        return cls(tokens, read_merges(merges), **options)

    @classmethod
    def train(
        cls,
        texts: TrainingTexts | os.PathLike[str],
        vocab_size: int = 8000,
        *,
        pad_token: str | None = PAD,
        bos_token: str | None = END_OF_TEXT,
        eos_token: str | None = END_OF_TEXT,
        special_tokens: Sequence[str] = (),
        add_prefix_space: bool = False,
        normalization: forms.Normalization = "identity",
        min_count: int = 2,
    ) -> Self:
        """Learns merges. The same texts and options always give the same ones.

        Args:
            texts: strings, or paths of UTF-8 files (plain or .gz), a text a line. Read once; the
                different words are held in memory.
            vocab_size: the most ids to use, the special ones and the 256 bytes included.
            pad_token, bos_token, eos_token: control tokens, the first ids in this order; None for
                one that is not wanted.
            special_tokens: further control tokens, the ids after them.
            add_prefix_space, normalization: as in the class.
            min_count: how often a pair must occur to be merged.

        Raises:
            ValueError: if the texts are empty, if `vocab_size` is too small, or if an argument is
                impossible.
        """
        # Here, because the trainer's library is for training alone.
        from keras_transformer.text.byte_level_bpe_training import learn_merges

        forms.check_normalization(normalization)
        roles = (pad_token, bos_token, eos_token)
        special = _check_names(special_tokens)
        special = tuple(dict.fromkeys([role for role in roles if role is not None] + [*special]))
        vocabulary, merges = learn_merges(
            texts,
            vocab_size=vocab_size,
            special_tokens=_check_names(special),
            add_prefix_space=add_prefix_space,
            normalization=normalization,
            min_count=min_count,
        )
        return cls(
            vocabulary, merges, special, *roles, add_prefix_space, normalization=normalization
        )

    @property
    def vocab_size(self) -> int:
        """Number of ids, the special ones included."""
        return len(self._vocabulary)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The tokens in the order of their ids, in GPT-2's letters for bytes."""
        return tuple(self._vocabulary)

    @property
    def merges(self) -> tuple[Merge, ...]:
        """The pairs that are merged, the most important first."""
        return tuple(self._merges)

    @property
    def special_tokens(self) -> tuple[str, ...]:
        """The control tokens."""
        return tuple(self._special_tokens)

    @property
    def roles(self) -> dict[str, str | None]:
        """The control tokens of `pad_token`, `bos_token` and `eos_token`."""
        return dict(self._roles)

    @property
    def special_ids(self) -> tuple[int, ...]:
        """The ids of the control tokens."""
        return tuple(self._ids[token] for token in self._special_tokens)

    def id_to_token(self, index: int) -> str:
        """The token of an id, in GPT-2's letters for bytes: "Ġ" in it is a blank."""
        if not 0 <= index < self.vocab_size:
            raise ValueError(f"id {index} is not in the vocabulary of {self.vocab_size} ids.")
        return self._vocabulary[index]

    def token_to_id(self, token: str) -> int:
        """The id of a token as `id_to_token` spells it."""
        if token not in self._ids:
            raise ValueError(f"token {token!r} is not in the vocabulary.")
        return self._ids[token]

    def tokenize_with_byte_offsets(self, texts: Any) -> tuple[tf.RaggedTensor | tf.Tensor, ...]:
        """Like `tokenize_with_offsets`, in bytes of the texts' UTF-8.

        Returns:
            ids, starts, ends: int32 [..., (tokens)]; token i covers the bytes
            `text[starts[i]:ends[i]]`, always whole characters.
        """

        def rows(flat: tf.Tensor) -> tuple[tf.RaggedTensor, ...]:
            ids, *spans = self.tokenize_with_offsets(flat)  # [batch, (tokens)]
            in_bytes = [forms.character_to_byte_offsets(flat, offsets) for offsets in spans]
            return ids, *(tf.cast(offsets, tf.int32) for offsets in in_bytes)

        return map_texts(rows, as_texts(texts))

    # Text to ids.

    def _segments(self, texts: tf.Tensor) -> Segments:
        symbols = {token: self._ids[token] for token in self._typed_symbols()}
        return cut_at_symbols(texts, symbols, self.add_prefix_space)

    def _typed_symbols(self) -> tuple[str, ...]:
        if not self.match_control_symbols:
            return ()
        padding = {self._roles["pad_token"]} - {self._roles["bos_token"], self._roles["eos_token"]}
        return tuple(token for token in self._special_tokens if token not in padding)

    def _tokenize_segments(self, segments: Segments) -> tf.RaggedTensor:
        """int32 [segments, (tokens)]."""
        words = cut_into_words(segments.plain)
        # Each different word is merged once.
        different, place = tf.unique(words.strings)  # [different], [words]
        codes = tf.io.decode_raw(tf.strings.reduce_join(different), tf.uint8)  # [all_bytes]
        spelled = tf.RaggedTensor.from_row_lengths(
            tf.gather(self._byte_ids, tf.cast(codes, tf.int32)),
            tf.cast(tf.strings.length(different), tf.int64),
            validate=False,
        )  # [different, (bytes)]
        tokens = tf.gather(self._table.merge(spelled), place)  # [words, (tokens)]
        count = tf.size(segments.rows, tf.int64)
        ids = tf.RaggedTensor.from_value_rowids(
            tokens.values, tf.gather(words.rows, value_rows(tokens)), count, validate=False
        )  # [segments, (tokens)]
        if not self._typed_symbols():
            return ids
        special = tf.RaggedTensor.from_row_lengths(
            tf.boolean_mask(segments.found, segments.found >= 0),
            tf.cast(segments.found >= 0, tf.int64),
            validate=False,
        )  # [segments, (1 or 0)]
        return tf.concat([ids, special], axis=1)

    def _tokenize_rows(self, texts: tf.Tensor) -> tf.RaggedTensor:
        segments = self._segments(texts)
        return join_segments(self._tokenize_segments(segments), segments, texts)

    def _tokenize_rows_with_offsets(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, ...]:
        # What the tokens spell: invalid bytes have become U+FFFD.
        texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8")
        segments = self._segments(texts)
        ids = self._tokenize_segments(segments)  # [segments, (tokens)]
        segment = value_rows(ids)  # [all_tokens]
        sizes = tf.gather(self._sizes, ids.values)  # [all_tokens]
        # Places among the bytes of all texts, which the tokens cover one after the other.
        ends = tf.cumsum(sizes) - tf.gather(tf.cumsum(segments.blanks), segment)
        least = tf.gather(tf.cumsum(segments.sizes, exclusive=True), segment)
        bases = tf.cumsum(tf.cast(tf.strings.length(texts), tf.int64), exclusive=True)  # [batch]
        base = tf.gather(bases, tf.gather(segments.rows, segment))  # [all_tokens]
        # A blank that is not in the text counts with the character behind it.
        places = (tf.maximum(ends - sizes, least), tf.maximum(ends, least + 1))
        spans = (join_segments(ids.with_values(place - base), segments, texts) for place in places)
        starts, ends = forms.byte_to_character_spans(texts, *spans)
        return join_segments(ids, segments, texts), starts, ends

    # Ids to text.

    def _detokenize_rows(self, ids: tf.RaggedTensor) -> tf.Tensor:
        possible = tf.where(ids.values >= 0, ids.values, self.vocab_size)  # [all_tokens]
        table = tf.RaggedTensor.from_row_lengths(self._bytes, self._sizes, validate=False)
        spelled = tf.gather(table, possible)  # [all_tokens, (bytes)]
        text = tf.strings.unsorted_segment_join(
            tf.gather(self._byte_strings, spelled.values),
            tf.gather(value_rows(ids), value_rows(spelled)),
            ids.nrows(),
        )  # [batch]
        return tf.strings.unicode_transcode(text, "UTF-8", "UTF-8")

    # Directories.

    def _settings(self) -> dict[str, Any]:
        return {
            **super()._settings(),
            "special_tokens": list(self._special_tokens),
            **self._roles,
            "add_prefix_space": self.add_prefix_space,
            "match_control_symbols": self.match_control_symbols,
            "files_sha256": _sha256(self._vocabulary, self._merges),
        }

    def _assets(self) -> dict[str, bytes]:
        return {
            VOCABULARY_FILE: write_vocabulary(self._vocabulary),
            MERGES_FILE: write_merges(self._merges),
        }

    @classmethod
    def _restore(cls, directory: Path, settings: dict[str, Any]) -> Self:
        vocabulary, merges = directory / VOCABULARY_FILE, directory / MERGES_FILE
        for path, what in ((vocabulary, "vocabulary"), (merges, "merges")):
            if not path.exists():
                raise ValueError(f"{directory} lacks {path.name}, the {what}.")
        settings = dict(settings)
        expected = settings.pop("files_sha256")
        tokenizer = cls.from_files(vocabulary, merges, **settings)
        if _sha256(tokenizer.vocabulary, tokenizer.merges) != expected:
            raise ValueError(
                f"{vocabulary} or {merges.name} beside it is damaged or belongs to another "
                f"tokenizer (wrong SHA-256)."
            )
        return tokenizer


def _check_names(tokens: Sequence[str]) -> tuple[str, ...]:
    if isinstance(tokens, str):
        raise ValueError(f"special_tokens must be a list of strings, got {tokens!r}.")
    for index, token in enumerate(tokens):
        if not isinstance(token, str) or not token:
            raise ValueError(f"special_tokens[{index}] must be a string, not empty; got {token!r}.")
        if token in tokens[:index]:
            raise ValueError(f"special_tokens holds {token!r} more than once.")
    return tuple(tokens)


def _sha256(vocabulary: Sequence[str], merges: Sequence[Merge]) -> str:
    return hashlib.sha256(write_vocabulary(vocabulary) + write_merges(merges)).hexdigest()
