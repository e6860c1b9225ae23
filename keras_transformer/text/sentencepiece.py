"""Subwords that lose nothing: SentencePiece BPE and unigram models."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

import sentencepiece as spm
import tensorflow as tf
import tensorflow_text as tf_text
from sentencepiece import sentencepiece_model_pb2 as model_pb2
from tensorflow_text.python.ops import sentencepiece_tokenizer as tf_text_sentencepiece

from keras_transformer.text import normalization as forms
from keras_transformer.text.corpus import TrainingTexts
from keras_transformer.text.sentencepiece_training import train_model
from keras_transformer.text.tokenizer import Tokenizer

MODEL_FILE = "tokenizer.model"

_Piece = model_pb2.ModelProto.SentencePiece


class _SharedModelResource(tf_text_sentencepiece._SentencepieceModelResource):
    """tensorflow-text's model resource, under a name of its own.

    Without a name the resource belongs to the op's kernel, and is gone when TensorFlow clears its
    kernels, as `keras.utils.set_random_seed` makes it do. The name is made from the model's
    content: tokenizers that share a name are the same.
    """

    def _create_resource(self) -> tf.Tensor:
        return tf_text_sentencepiece.gen_sentencepiece_tokenizer.sentencepiece_op(
            model=self._model,
            shared_name=f"sentencepiece_{hashlib.sha256(self._model).hexdigest()}",
        )


class SentencePieceTokenizer(Tokenizer):
    """BPE (Sennrich et al. 2016) or unigram (Kudo 2018) subwords by SentencePiece.

    As `train` makes it, with `byte_fallback` and without normalization, every valid Unicode text
    comes back exactly: runs of blanks, leading and trailing ones, tabs, newlines, control and
    zero-width characters, and U+2581, which SentencePiece by itself turns into a blank. Bytes
    that are not UTF-8 are read as U+FFFD. Without `byte_fallback`, characters outside the
    vocabulary become `unk_id` and print as U+FFFD.

    Text never yields a control id: '<s>' or a control symbol such as '[MASK]' is cut into pieces
    like any other word, unless `match_control_symbols` is set.

    Args:
        model: a serialized SentencePiece model. `train` gives it pad 0, bos 1, eos 2, unk 3; a
            model from elsewhere keeps its own ids (-1 for one that it lacks) and normalization.
        normalization: "identity", "nfc" or "nfkc", applied first.
        match_control_symbols: let the control symbols asked for in `train` be typed in the
            text. For text of one's own; pad, bos and eos cannot be typed even then.

    >>> tokenizer = SentencePieceTokenizer.train(["hello world"] * 9, 300, hard_vocab_limit=False)
    >>> ids = tokenizer.tokenize(["hello  world", "中文"])
    >>> [text.decode() for text in tokenizer.detokenize(ids).numpy()]
    ['hello  world', '中文']
    """

    def __init__(
        self,
        model: bytes,
        normalization: forms.Normalization = "identity",
        match_control_symbols: bool = False,
        name: str | None = None,
    ):
        super().__init__(normalization, name=name)
        try:
            proto = model_pb2.ModelProto.FromString(model)
            self._pieces = spm.SentencePieceProcessor(model_proto=model)
        except Exception as error:  # protobuf and sentencepiece each raise several kinds
            raise ValueError(f"model is not a SentencePiece model: {error}") from None
        self._model = model
        self.match_control_symbols = match_control_symbols
        self.pad_id = self._pieces.pad_id()
        self.bos_id = self._pieces.bos_id()
        self.eos_id = self._pieces.eos_id()
        self.unk_id = self._pieces.unk_id()
        self._special_ids = tuple(
            index for index, piece in enumerate(proto.pieces) if piece.type == _Piece.CONTROL
        )
        if match_control_symbols:
            # A user-defined symbol is what SentencePiece looks for in the text.
            for index in set(self._special_ids) - {self.pad_id, self.bos_id, self.eos_id}:
                proto.pieces[index].type = _Piece.USER_DEFINED
            model = proto.SerializeToString(deterministic=True)
        self._op = tf_text.SentencepieceTokenizer(model)
        self._op._model_resource = _SharedModelResource(model, None)

    @classmethod
    def train(
        cls,
        texts: TrainingTexts | os.PathLike[str],
        vocab_size: int = 8000,
        *,
        model_type: Literal["bpe", "unigram"] = "bpe",
        byte_fallback: bool = True,
        character_coverage: float = 0.9995,
        normalization: forms.Normalization = "identity",
        user_defined_symbols: Sequence[str] = (),
        control_symbols: Sequence[str] = (),
        hard_vocab_limit: bool = True,
        split_digits: bool = False,
        split_han: bool = False,
        max_piece_length: int = 16,
    ) -> Self:
        """Learns a vocabulary. The same texts and options always give the same model.

        Args:
            texts: strings, or paths of UTF-8 files (plain or .gz), a text a line. Read once. Of
                more than 2,000,000 a random sample of so many is learned from, to bound memory.
            vocab_size: number of ids, the special ones (and 256 bytes) included.
            model_type: "bpe" or "unigram".
            byte_fallback: spell characters outside the vocabulary in bytes: nothing is unknown.
            character_coverage: share of the texts' characters that get a piece of their own.
            normalization: "identity", "nfc" or "nfkc", applied first, here and in `tokenize`.
            user_defined_symbols: strings that are one token wherever they occur in a text.
            control_symbols: names of further control ids, which text does not yield.
            hard_vocab_limit: if False, `vocab_size` is the most to learn, and texts that support
                fewer pieces give the vocabulary that they support.
            split_digits: make every digit a token of its own.
            split_han: make every Chinese character a token of its own, so that no piece joins
                words, which nothing separates in Chinese.
            max_piece_length: most characters of a piece.

        The ids begin pad, bos, eos, unk, then control symbols, then user-defined symbols, each
        in the given order.

        Raises:
            ValueError: if the texts are empty or support fewer (or need more) than `vocab_size`
                ids, with the number; or if an argument is impossible.
        """
        model = train_model(
            texts,
            vocab_size=vocab_size,
            model_type=model_type,
            byte_fallback=byte_fallback,
            character_coverage=character_coverage,
            normalization=forms.check_normalization(normalization),
            user_defined_symbols=list(user_defined_symbols),
            control_symbols=list(control_symbols),
            hard_vocab_limit=hard_vocab_limit,
            split_digits=split_digits,
            split_han=split_han,
            max_piece_length=max_piece_length,
        )
        return cls(model, normalization)

    @property
    def model(self) -> bytes:
        """The SentencePiece model, as it stands in files."""
        return self._model

    @property
    def vocab_size(self) -> int:
        """Number of ids, special ones, symbols and bytes included."""
        return self._pieces.get_piece_size()

    @property
    def special_ids(self) -> tuple[int, ...]:
        """pad, bos, eos and the control symbols; not the unknown id, which stands for text."""
        return self._special_ids

    def id_to_token(self, index: int) -> str:
        """The piece of an id; '▁' in it is a blank, '<0x41>' a byte."""
        if not 0 <= index < self.vocab_size:
            raise ValueError(f"id {index} is not in the vocabulary of {self.vocab_size} ids.")
        return self._pieces.id_to_piece(int(index))

    def token_to_id(self, token: str) -> int:
        """The id of a piece as `id_to_token` spells it."""
        index = self._pieces.piece_to_id(token)
        if index == self.unk_id and token != self._pieces.id_to_piece(index):
            raise ValueError(f"token {token!r} is not in the vocabulary.")
        return index

    def _tokenize_rows(self, texts: tf.Tensor) -> tf.RaggedTensor:
        return self._op.tokenize(texts)

    def _tokenize_rows_with_offsets(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, ...]:
        ids, starts, ends = self._op.tokenize_with_offsets(texts)
        starts, ends = forms.byte_to_character_spans(texts, starts, ends)
        # SentencePiece gives a character's span to the last of its bytes, and nothing to the rest.
        return ids, starts, ends.with_values(tf.maximum(ends.values, starts.values + 1))

    def _detokenize_rows(self, ids: tf.RaggedTensor) -> tf.Tensor:
        return self._op.detokenize(ids)

    def _settings(self) -> dict[str, Any]:
        return {
            **super()._settings(),
            "match_control_symbols": self.match_control_symbols,
            "model_sha256": hashlib.sha256(self._model).hexdigest(),
        }

    def _assets(self) -> dict[str, bytes]:
        return {MODEL_FILE: self._model}

    @classmethod
    def _restore(cls, directory: Path, settings: dict[str, Any]) -> Self:
        path = directory / MODEL_FILE
        try:
            model = path.read_bytes()
        except FileNotFoundError:
            raise ValueError(f"{directory} lacks {MODEL_FILE}, the SentencePiece model.") from None
        settings = dict(settings)
        if hashlib.sha256(model).hexdigest() != settings.pop("model_sha256"):
            raise ValueError(f"{path} is damaged or belongs to another tokenizer (wrong SHA-256).")
        return cls(model, **settings)
