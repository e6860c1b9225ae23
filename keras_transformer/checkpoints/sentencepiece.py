"""The SentencePiece model of a Hugging Face directory, as Llama's have it."""

from __future__ import annotations

import os
from pathlib import Path

from keras_transformer.text import SentencePieceTokenizer
from keras_transformer.text.files import write_atomically
from keras_transformer.text.sentencepiece import MODEL_FILE


def load_sentencepiece(directory: str | os.PathLike[str]) -> SentencePieceTokenizer:
    """The tokenizer of a directory with a `tokenizer.model`.

    Raises:
        ValueError: when there is no such file, or it is damaged.

    >>> load_sentencepiece("llama")  # doctest: +SKIP
    """
    file = Path(directory, MODEL_FILE)
    if not file.is_file():
        raise ValueError(f"{directory} has no {MODEL_FILE}, the SentencePiece model.")
    try:
        return SentencePieceTokenizer(file.read_bytes())
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def save_sentencepiece(
    tokenizer: SentencePieceTokenizer, directory: str | os.PathLike[str]
) -> None:
    """Writes `tokenizer.model`, which Hugging Face's tokenizers of Llama are made from.

    Raises:
        ValueError: when the tokenizer normalises texts, or matches control symbols in them, which
            the file would not say.

    >>> save_sentencepiece(tokenizer, "for-transformers")  # doctest: +SKIP
    """
    if tokenizer.normalization != "identity" or tokenizer.match_control_symbols:
        raise ValueError(
            f"{MODEL_FILE} holds neither normalization={tokenizer.normalization!r} nor "
            f"match_control_symbols={tokenizer.match_control_symbols}: other programs would find "
            "other ids. Train one with normalization='identity'."
        )
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    write_atomically(directory / MODEL_FILE, tokenizer.model)
