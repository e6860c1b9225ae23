"""WordPiece tokenizers for tests of BERT's data."""

from __future__ import annotations

import string

from keras_transformer.text import WordPieceTokenizer

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CLS, SEP, MASK = 2, 3, 4


def letters_tokenizer() -> WordPieceTokenizer:
    """Every word is cut into its letters and digits."""
    signs = string.ascii_lowercase + string.digits
    punctuation = list(".,?!'-()")
    return WordPieceTokenizer([*SPECIAL, *signs, *(f"##{sign}" for sign in signs), *punctuation])


def words_tokenizer(count: int = 200) -> WordPieceTokenizer:
    """Words w0, w1, ...: one token each."""
    return WordPieceTokenizer([*SPECIAL, *(f"w{i}" for i in range(count))])
