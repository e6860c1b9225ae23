"""WordPiece: the words of BERT, cut greedily into the longest pieces that are known."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text
from tensorflow_text.core.pybinds import pywrap_fast_wordpiece_tokenizer_model_builder as fast

from keras_transformer.text import normalization as forms
from keras_transformer.text.corpus import TrainingTexts
from keras_transformer.text.ragged_rows import value_rows
from keras_transformer.text.shapes import as_texts, map_texts
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.wordpiece_joining import TokenJoiner
from keras_transformer.text.wordpiece_rules import CharacterRules, WordNormalization
from keras_transformer.text.wordpiece_vocabulary import (
    CLS,
    LONGEST_WORD,
    MASK,
    PAD,
    SEP,
    SPECIAL_TOKENS,
    SUFFIX,
    UNK,
    check_special_tokens,
    check_vocabulary,
    read_vocabulary,
    write_vocabulary,
)
from keras_transformer.text.wordpiece_words import (
    Words,
    character_table,
    cut_into_words,
    spans_in_texts,
)

VOCABULARY_FILE = "vocab.txt"


class WordPieceTokenizer(Tokenizer):
    """WordPiece (Wu et al. 2016, section 4.1) as in BERT (Devlin et al. 2019).

    A text is normalized character by character and cut into words: at blanks, and around every
    punctuation character and every Chinese character. Each word is cut from the left into the
    longest pieces of the vocabulary (LinMaxMatch, Song et al. 2021); pieces that continue a word
    begin with "##". A word that cannot be spelled, or of more than 100 characters, is one unknown
    token.

    What it does to the text is `CharacterRules`': "default" treats the accents and letters of
    every script right; "bert" gives the ids of Hugging Face's BertTokenizer for checkpoints that
    were trained with it. The round trip gives the normalized text, with blanks by the rule that
    `TokenJoiner` states.

    Text never yields a control id: '[MASK]' is cut into pieces like any other word, unless
    `match_control_symbols` is set.

    Args:
        vocabulary: tokens in the order of their ids, "[UNK]" among them.
        lowercase: give every cased letter its small one.
        strip_accents: take accents away; None is False under "default", and as `lowercase` under
            "bert", as Hugging Face has it.
        normalization: "default" or "bert".
        special_tokens: which tokens are control tokens: text does not yield them and
            `detokenize` skips them. Names that the vocabulary lacks are left out.
        match_control_symbols: let special tokens be typed in the text. For text of one's own;
            [PAD], [UNK], [CLS] and [SEP] cannot be typed even then.

    The ids `pad_id`, `unk_id`, `cls_id` (also `bos_id`), `sep_id` (also `eos_id`) and `mask_id`
    are the vocabulary's, -1 for one that it lacks.

    >>> tokenizer = WordPieceTokenizer.train(["ein Käse", "zwei Käse"] * 2, 40)
    >>> ids, starts, ends = tokenizer.tokenize_with_offsets("Zwei KÄSE!")
    >>> [tokenizer.id_to_token(index) for index in ids.numpy()]
    ['zwei', 'käse', '[UNK]']
    >>> starts.numpy(), ends.numpy()
    (array([0, 5, 9], dtype=int32), array([ 4,  9, 10], dtype=int32))
    """

    def __init__(
        self,
        vocabulary: Sequence[str],
        lowercase: bool = True,
        strip_accents: bool | None = None,
        normalization: WordNormalization = "default",
        special_tokens: Sequence[str] = SPECIAL_TOKENS,
        match_control_symbols: bool = False,
        name: str | None = None,
    ):
        self._rules = _rules(normalization, lowercase, strip_accents)
        # The Unicode form is the shared code's part, the characters are ours.
        super().__init__(self._rules.unicode_form, name=name)
        check_vocabulary(vocabulary, lambda index: f"vocabulary[{index}]", "the vocabulary")
        self._vocabulary = tuple(vocabulary)
        self._ids = {token: index for index, token in enumerate(self._vocabulary)}
        named = check_special_tokens(special_tokens, "special_tokens")
        self._special_tokens = tuple(token for token in named if token in self._ids)
        self.match_control_symbols = match_control_symbols
        self.pad_id = self._ids.get(PAD, -1)
        self.unk_id = self._ids[UNK]
        self.cls_id = self.bos_id = self._ids.get(CLS, -1)
        self.sep_id = self.eos_id = self._ids.get(SEP, -1)
        self.mask_id = self._ids.get(MASK, -1)
        self._table = character_table(self._rules)
        self._joiner = TokenJoiner(self._vocabulary)
        # NumPy, so that every graph gets a constant of its own.
        self._model = np.frombuffer(
            fast.build_fast_wordpiece_model(
                list(self._vocabulary), 4 * LONGEST_WORD, SUFFIX, UNK, True, False
            ),
            np.uint8,
        )

    @classmethod
    def from_vocab(
        cls,
        path: str | os.PathLike[str],
        lowercase: bool = True,
        strip_accents: bool | None = None,
        normalization: WordNormalization = "default",
        match_control_symbols: bool = False,
    ) -> Self:
        """Takes the vocabulary of a `vocab.txt` file by Google or Hugging Face.

        Args:
            path: the file, a token a line.
            lowercase, strip_accents, normalization, match_control_symbols: as in the class. For a
                published checkpoint: "bert", and `lowercase` as its `do_lower_case`.

        Raises:
            ValueError: if the file cannot be read, or a line of it is blank or repeated.
        """
        return cls(
            read_vocabulary(path),
            lowercase=lowercase,
            strip_accents=strip_accents,
            normalization=normalization,
            match_control_symbols=match_control_symbols,
        )

    @classmethod
    def train(
        cls,
        texts: TrainingTexts | os.PathLike[str],
        vocab_size: int = 8000,
        *,
        lowercase: bool = True,
        strip_accents: bool | None = None,
        normalization: WordNormalization = "default",
        reserved_tokens: Sequence[str] = SPECIAL_TOKENS,
        character_coverage: float = 0.9995,
        min_count: int = 2,
    ) -> Self:
        """Learns a vocabulary. The same texts and options always give the same one.

        The pieces are merged as in BPE (Sennrich et al. 2016), the most frequent pair first.

        Args:
            texts: strings, or paths of UTF-8 files (plain or .gz), a text a line. Read once; the
                different words are held in memory.
            vocab_size: the most ids to use, the reserved ones included.
            lowercase, strip_accents, normalization: as in the class.
            reserved_tokens: control tokens: the first ids, in this order. [UNK] is a must.
            character_coverage: share of the texts' characters that get tokens of their own, one
                to begin a word and one to continue it. Words with other characters are unknown.
            min_count: how often a pair must occur to become a piece.

        Raises:
            ValueError: if the texts are empty, if `vocab_size` is too small for their characters
                (with the number), or if an argument is impossible.
        """
        # Here, because the trainer's library is for training alone.
        from keras_transformer.text.wordpiece_training import learn_vocabulary

        reserved = check_special_tokens(reserved_tokens, "reserved_tokens")
        if UNK not in reserved:
            raise ValueError(f"reserved_tokens must hold {UNK!r}, got {list(reserved)}.")
        vocabulary = learn_vocabulary(
            texts,
            _rules(normalization, lowercase, strip_accents),
            vocab_size=vocab_size,
            reserved_tokens=reserved,
            character_coverage=character_coverage,
            min_count=min_count,
        )
        return cls(
            vocabulary,
            lowercase=lowercase,
            strip_accents=strip_accents,
            normalization=normalization,
            special_tokens=reserved,
        )

    @property
    def vocab_size(self) -> int:
        """Number of ids, the special ones included."""
        return len(self._vocabulary)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The tokens in the order of their ids."""
        return tuple(self._vocabulary)

    @property
    def special_ids(self) -> tuple[int, ...]:
        """The ids of the special tokens; not the unknown id, which stands for text."""
        return tuple(self._ids[token] for token in self._special_tokens if token != UNK)

    @property
    def rules(self) -> CharacterRules:
        """What becomes of each character before the words are cut."""
        return self._rules

    def id_to_token(self, index: int) -> str:
        """The token of an id; "##" begins one that continues a word."""
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
            `text[starts[i]:ends[i]]`.
        """

        def rows(flat: tf.Tensor) -> tuple[tf.RaggedTensor, ...]:
            ids, *spans = self.tokenize_with_offsets(flat)  # [batch, (tokens)]
            in_bytes = [forms.character_to_byte_offsets(flat, offsets) for offsets in spans]
            return ids, *(tf.cast(offsets, tf.int32) for offsets in in_bytes)

        return map_texts(rows, as_texts(texts))

    def _words(self, texts: tf.Tensor) -> tuple[Words, tf.Tensor, tf.Tensor]:
        """The words of texts [batch], their UTF-8 [words], and which are too long [words]."""
        symbols = ()
        if self.match_control_symbols:
            symbols = [name for name in self._special_tokens if name not in (PAD, UNK, CLS, SEP)]
        words = cut_into_words(texts, self._table, symbols)
        too_long = words.codes.row_lengths() > LONGEST_WORD  # [words]
        return words, tf.strings.unicode_encode(words.codes, "UTF-8"), too_long

    def _pieces(self, strings: tf.Tensor, too_long: tf.Tensor) -> tuple[tf.RaggedTensor, ...]:
        """ids, starts, ends: int32 [words, (tokens)], in bytes of the words."""
        op = tf_text.FastWordpieceTokenizer(
            model_buffer=tf.constant(self._model), token_out_type=tf.int32
        )
        return op.tokenize_with_offsets(tf.where(too_long, UNK, strings))

    def _tokenize_rows(self, texts: tf.Tensor) -> tf.RaggedTensor:
        words, strings, too_long = self._words(texts)
        ids, _, _ = self._pieces(strings, too_long)
        return _rows_of_words(ids, words, texts)

    def _tokenize_rows_with_offsets(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, ...]:
        words, strings, too_long = self._words(texts)
        ids, starts, ends = self._pieces(strings, too_long)
        word = value_rows(ids)  # [all_tokens]
        sizes = tf.cast(tf.strings.length(strings), ends.dtype)  # [words]
        whole = tf.gather(sizes, word)  # [all_tokens]
        ends = ends.with_values(tf.where(tf.gather(too_long, word), whole, ends.values))
        starts, ends = spans_in_texts(words, strings, starts, ends)
        return tuple(_rows_of_words(part, words, texts) for part in (ids, starts, ends))

    def _detokenize_rows(self, ids: tf.RaggedTensor) -> tf.Tensor:
        return self._joiner.join(ids)

    def _settings(self) -> dict[str, Any]:
        return {
            "normalization": self._rules.normalization,
            "lowercase": self._rules.lowercase,
            "strip_accents": self._rules.strip_accents,
            "special_tokens": list(self._special_tokens),
            "match_control_symbols": self.match_control_symbols,
            "vocabulary_sha256": _sha256(self._vocabulary),
        }

    def _assets(self) -> dict[str, bytes]:
        return {VOCABULARY_FILE: write_vocabulary(self._vocabulary)}

    @classmethod
    def _restore(cls, directory: Path, settings: dict[str, Any]) -> Self:
        path = directory / VOCABULARY_FILE
        if not path.exists():
            raise ValueError(f"{directory} lacks {VOCABULARY_FILE}, the vocabulary.")
        vocabulary = read_vocabulary(path)
        settings = dict(settings)
        if _sha256(vocabulary) != settings.pop("vocabulary_sha256"):
            raise ValueError(f"{path} is damaged or belongs to another tokenizer (wrong SHA-256).")
        return cls(vocabulary, **settings)


def _rules(
    normalization: WordNormalization, lowercase: bool, strip_accents: bool | None
) -> CharacterRules:
    if strip_accents is None:
        strip_accents = lowercase if normalization == "bert" else False
    return CharacterRules(normalization, lowercase, strip_accents)


def _sha256(vocabulary: Sequence[str]) -> str:
    return hashlib.sha256(write_vocabulary(vocabulary)).hexdigest()


def _rows_of_words(parts: tf.RaggedTensor, words: Words, texts: tf.Tensor) -> tf.RaggedTensor:
    """[words, (tokens)] to [batch, (tokens)]."""
    row = tf.gather(words.rows, value_rows(parts))  # [all_tokens]
    return tf.RaggedTensor.from_value_rowids(
        parts.values, row, nrows=tf.size(texts, tf.int64), validate=False
    )
