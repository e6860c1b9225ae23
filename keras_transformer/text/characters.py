"""One id for each character."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any, Self

import numpy as np
import tensorflow as tf

from keras_transformer.text.corpus import TrainingTexts, iterate_texts
from keras_transformer.text.normalization import Normalization, check_normalization, normalize_text
from keras_transformer.text.tokenizer import Tokenizer

SPECIAL_TOKENS = ("<pad>", "<s>", "</s>", "<unk>")
MASK = "<mask>"
REPLACEMENT_CHARACTER = 0xFFFD


class CharacterTokenizer(Tokenizer):
    """Every Unicode character is a token; the ids are pad 0, bos 1, eos 2, unk 3, characters.

    A character outside the vocabulary, or an invalid byte, becomes `unk_id` and prints as U+FFFD;
    everything else comes back exactly. The look-up is a binary search over constants: no table,
    nothing that could change or be left out of an export.

    Args:
        characters: the vocabulary in the order of its ids, each character once.
        normalization: "identity", "nfc" or "nfkc", applied first.
        mask: whether id 4 is a mask, which BERT's pretraining needs; characters follow it.

    >>> tokenizer = CharacterTokenizer.train(["abab中文a"])
    >>> tokenizer.tokenize("ab中?").numpy()
    array([4, 5, 6, 3], dtype=int32)
    >>> tokenizer.detokenize([1, 4, 5, 6, 3, 2]).numpy().decode()
    'ab中�'
    """

    def __init__(
        self,
        characters: str,
        normalization: Normalization = "identity",
        mask: bool = False,
        name: str | None = None,
    ):
        super().__init__(normalization, name=name)
        repeated = [character for character, times in Counter(characters).items() if times > 1]
        if repeated:
            raise ValueError(f"characters must differ; {repeated[0]!r} is given more than once.")
        if not characters:
            raise ValueError("characters must hold at least one character, got none.")
        self._characters = characters
        self._special_tokens = (*SPECIAL_TOKENS, *([MASK] if mask else []))
        self.mask_id = len(SPECIAL_TOKENS) if mask else -1
        codes = np.array([ord(character) for character in characters], np.int32)
        order = np.argsort(codes)
        first = len(self._special_tokens)
        # NumPy arrays, so that every graph gets constants of its own.
        self._sorted_codes = codes[order]  # [characters]
        self._sorted_ids = (order + first).astype(np.int32)  # [characters]
        specials = np.full(first, REPLACEMENT_CHARACTER, np.int32)
        self._codes = np.concatenate([specials, codes])  # [vocab_size]

    @classmethod
    def train(
        cls,
        texts: TrainingTexts | os.PathLike[str],
        vocab_size: int | None = None,
        *,
        min_count: int = 1,
        normalization: Normalization = "identity",
        mask: bool = False,
    ) -> Self:
        """Takes the characters of the texts, the most frequent first.

        Args:
            texts: strings, or paths of UTF-8 files (plain or gzip), a text a line. Read once.
            vocab_size: the most ids to use, the special ones included; None for all.
            min_count: leave out characters that occur less often.
            normalization: "identity", "nfc" or "nfkc", applied first.
            mask: whether there is a mask among the special ids.

        Raises:
            ValueError: if `vocab_size` leaves no room for a character or no character remains.
        """
        check_normalization(normalization)
        first = len(SPECIAL_TOKENS) + mask
        if vocab_size is not None and vocab_size <= first:
            raise ValueError(
                f"vocab_size={vocab_size} leaves no room for characters: {first} ids are special, "
                f"so it must be at least {first + 1}."
            )
        counts: Counter[str] = Counter()
        for text in iterate_texts(texts):
            counts.update(normalize_text(text, normalization))
        kept = [item for item in counts.items() if item[1] >= min_count]
        if not kept:
            raise ValueError(
                f"no character to learn: the texts hold {len(counts)} different ones, and none of "
                f"them occurs min_count={min_count} times."
            )
        kept.sort(key=lambda item: (-item[1], item[0]))  # ties by code point: no other order counts
        room = None if vocab_size is None else vocab_size - first
        return cls("".join(character for character, _ in kept[:room]), normalization, mask)

    @property
    def vocab_size(self) -> int:
        """Number of ids, the special ones included."""
        return len(self._codes)

    @property
    def special_ids(self) -> tuple[int, ...]:
        """The control ids, the mask among them if there is one."""
        return super().special_ids + ((self.mask_id,) if self.mask_id >= 0 else ())

    def id_to_token(self, index: int) -> str:
        """The character of an id (or the name of a special id)."""
        if not 0 <= index < self.vocab_size:
            raise ValueError(f"id {index} is not in the vocabulary of {self.vocab_size} ids.")
        first = len(self._special_tokens)
        return self._special_tokens[index] if index < first else self._characters[index - first]

    def token_to_id(self, token: str) -> int:
        """The id of a character (or of the name of a special id)."""
        if token in self._special_tokens:
            return self._special_tokens.index(token)
        place = self._characters.find(token) if len(token) == 1 else -1
        if place < 0:
            raise ValueError(f"token {token!r} is not in the vocabulary.")
        return place + len(self._special_tokens)

    def _tokenize_rows(self, texts: tf.Tensor) -> tf.RaggedTensor:
        codes = tf.strings.unicode_decode(texts, "UTF-8")  # [batch, (characters)]
        place = tf.searchsorted(self._sorted_codes, codes.values)  # [all_characters]
        place = tf.minimum(place, len(self._sorted_codes) - 1)
        known = tf.gather(self._sorted_codes, place) == codes.values
        ids = tf.where(known, tf.gather(self._sorted_ids, place), self.unk_id)
        return codes.with_values(ids)

    def _tokenize_rows_with_offsets(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, ...]:
        ids = self._tokenize_rows(texts)
        within = tf.ragged.range(ids.row_lengths()).values  # [all_characters]
        starts = ids.with_values(tf.cast(within, tf.int32))
        return ids, starts, starts + 1

    def _detokenize_rows(self, ids: tf.RaggedTensor) -> tf.Tensor:
        codes = ids.with_values(tf.gather(self._codes, ids.values))  # [batch, (characters)]
        return tf.strings.unicode_encode(codes, "UTF-8")

    def _settings(self) -> dict[str, Any]:
        settings = {**super()._settings(), "characters": self._characters}
        return settings | ({"mask": True} if self.mask_id >= 0 else {})
