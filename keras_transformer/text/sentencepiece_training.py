"""Training of SentencePiece models that give back every text exactly."""

from __future__ import annotations

import io
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sentencepiece as spm
from sentencepiece import sentencepiece_model_pb2 as model_pb2

from keras_transformer.text.corpus import TrainingTexts, iterate_texts
from keras_transformer.text.normalization import Normalization, normalize_text

# SentencePiece writes a blank as U+2581 inside and turns every U+2581 into a blank at the end. So
# that a U+2581 of the text survives, the model's own character maps escape it with U+0010 (DATA
# LINK ESCAPE) on the way in and undo that on the way out: DLE -> DLE 0, U+2581 -> DLE 1. After the
# escape every U+2581 is a blank. (Rules: code points in hexadecimal, from TAB to.)
ESCAPES = "10\t10 30\n2581\t10 31\n"
UNESCAPES = "10 30\t10\n10 31\t2581\n2581\t20\n"

BLANK = "\u2581"
# The trainer drops a whole sentence that holds one of these; they are spelled in bytes instead.
UNTRAINABLE = re.compile("[\0\u2585]")
# It also drops long sentences, and counts positions in 16 bits: cut well below.
SENTENCE_CHARACTERS = 1000
# Chinese characters, one by one, and what stands between them.
HAN_AND_OTHERS = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]|"
    "[^\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
# Of more sentences it learns from a sample: it holds them all in memory.
MOST_SENTENCES = 2_000_000
# Its sums depend on how the work is split, so this is fixed and not the machine's.
THREADS = 16


def train_model(
    texts: TrainingTexts | os.PathLike[str],
    *,
    vocab_size: int,
    model_type: str,
    byte_fallback: bool,
    character_coverage: float,
    normalization: Normalization,
    user_defined_symbols: list[str],
    control_symbols: list[str],
    hard_vocab_limit: bool,
    split_digits: bool,
    split_han: bool,
    max_piece_length: int,
) -> bytes:
    """Trains a model and returns it serialized; see `SentencePieceTokenizer.train`."""
    if model_type not in ("bpe", "unigram"):
        raise ValueError(f"model_type must be 'bpe' or 'unigram', got {model_type!r}.")
    if not 0 < character_coverage <= 1:
        raise ValueError(f"character_coverage must lie in (0, 1], got {character_coverage}.")
    _check_symbols(user_defined_symbols + control_symbols)
    reserved = 4 + len(user_defined_symbols) + len(control_symbols) + 256 * byte_fallback
    if vocab_size <= reserved:
        raise ValueError(
            f"vocab_size={vocab_size} is too small: {reserved} ids are taken by special ids, "
            f"symbols{' and the 256 bytes' if byte_fallback else ''}."
        )

    sentences = _Sentences(texts, normalization, split_han)
    written = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        escapes, unescapes = Path(folder, "escapes.tsv"), Path(folder, "unescapes.tsv")
        escapes.write_text(ESCAPES)
        unescapes.write_text(UNESCAPES)
        spm.set_random_generator_seed(1)  # the same sample each time
        try:
            spm.SentencePieceTrainer.train(
                sentence_iterator=iter(sentences),
                model_writer=written,
                vocab_size=vocab_size,
                model_type=model_type,
                byte_fallback=byte_fallback,
                character_coverage=character_coverage,
                user_defined_symbols=user_defined_symbols,
                control_symbols=control_symbols,
                hard_vocab_limit=hard_vocab_limit,
                split_digits=split_digits,
                max_sentencepiece_length=max_piece_length,
                pad_id=0,
                bos_id=1,
                eos_id=2,
                unk_id=3,
                unk_surface="\ufffd",
                add_dummy_prefix=False,
                remove_extra_whitespaces=False,
                allow_whitespace_only_pieces=True,
                required_chars=BLANK,  # text without blanks must not make a blank cost three bytes
                normalization_rule_tsv=str(escapes),
                denormalization_rule_tsv=str(unescapes),
                input_sentence_size=MOST_SENTENCES,
                shuffle_input_sentence=True,  # a sample of all, not the first ones
                max_sentence_length=32 * SENTENCE_CHARACTERS,
                num_threads=THREADS,
                minloglevel=2,
            )
        except Exception as error:
            if sentences.error is not None:
                raise sentences.error from None
            raise _explained(error, sentences.count, vocab_size) from None
    return _finished(written.getvalue())


class _Sentences:
    """Texts cut to what the trainer takes; remembers the error that it would turn into its own."""

    def __init__(
        self,
        texts: TrainingTexts | os.PathLike[str],
        normalization: Normalization,
        split_han: bool,
    ):
        self._texts = texts
        self._split_han = split_han
        self._normalization = normalization
        self.count = 0
        self.error: BaseException | None = None

    def __iter__(self) -> Iterator[str]:
        try:
            for text in iterate_texts(self._texts):
                text = normalize_text(text, self._normalization)
                for part in UNTRAINABLE.split(text):
                    # No piece reaches beyond a sentence: where each character is one, no piece
                    # of several is ever learned.
                    for unit in HAN_AND_OTHERS.findall(part) if self._split_han else [part]:
                        for sentence in _cut(unit):
                            self.count += 1
                            yield sentence
        except GeneratorExit:
            raise
        except BaseException as error:
            self.error = error
            raise


def _cut(text: str) -> Iterator[str]:
    """Cuts a text into sentences of bounded length, before a blank where there is one."""
    start = 0
    while len(text) - start > SENTENCE_CHARACTERS:
        limit = start + SENTENCE_CHARACTERS
        end = text.rfind(" ", start + 1, limit)
        end = end if end > 0 else limit
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def _check_symbols(symbols: list[str]) -> None:
    for symbol in symbols:
        if not symbol or re.search(f"[ \0\x10{BLANK}]", symbol):
            raise ValueError(f"symbol {symbol!r} must not be empty or hold a blank, NUL or DLE.")
        if symbol in ("<pad>", "<s>", "</s>", "<unk>") or re.fullmatch("<0x[0-9A-F]{2}>", symbol):
            raise ValueError(f"symbol {symbol!r} is a name that the vocabulary has already.")
        if symbols.count(symbol) > 1:
            raise ValueError(f"symbol {symbol!r} is given more than once.")


def _explained(error: Exception, sentences: int, vocab_size: int) -> Exception:
    """Says in one sentence what the trainer's message means."""
    message = str(error)
    if not sentences:
        return ValueError("texts hold nothing to learn from: every one is empty, or there is none.")
    if found := re.search(r"Vocabulary size too high .*value <= (\d+)", message):
        return ValueError(
            f"vocab_size={vocab_size} is more than these texts support: they yield {found[1]} ids "
            f"at most; lower vocab_size, give more text, or set hard_vocab_limit=False."
        )
    if found := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return ValueError(
            f"vocab_size={vocab_size} is too small for these texts: special ids, symbols, bytes "
            f"and single characters alone need {found[1]}; raise vocab_size or lower "
            f"character_coverage."
        )
    return RuntimeError(f"SentencePiece could not train: {message}")


def _finished(model: bytes) -> bytes:
    """Completes the model: the way back must only unescape, and no path may be left inside."""
    proto = model_pb2.ModelProto.FromString(model)
    specs: list[Any] = [proto.normalizer_spec, proto.denormalizer_spec]
    for spec in specs:
        spec.ClearField("normalization_rule_tsv")
    proto.denormalizer_spec.add_dummy_prefix = False
    proto.denormalizer_spec.remove_extra_whitespaces = False
    proto.denormalizer_spec.escape_whitespaces = False
    return proto.SerializeToString(deterministic=True)
