"""WordPiece tokenizers that several tests share, and ways to look at what they make of a text."""

import functools

from keras_transformer.text import WordPieceTokenizer

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# From the example of BERT's own tests.
VOCABULARY = [
    *SPECIAL,
    "want",
    "##want",
    "##ed",
    "wa",
    "un",
    "runn",
    "##ing",
    ",",
    "##aff",
    "##able",
]
CORPUS = [
    "한국어 텍스트",
    "중국어 й ї हिन्दी",
    "going to [MASK] study, don't (well-known)!",
    "un café, cafe\u0301; 中文文本 ΟΔΟΣ οδος",
    "[unused1] [PAD] <s>",
]


@functools.cache
def trained():
    """Learned from `CORPUS`, by the default rules."""
    return WordPieceTokenizer.train(CORPUS * 2, 400)


@functools.cache
def reference():
    """Of `VOCABULARY`, by BERT's rules."""
    return WordPieceTokenizer(VOCABULARY, normalization="bert")


def tokens(tokenizer, text):
    return [tokenizer.id_to_token(index) for index in tokenizer.tokenize(text).numpy()]


def round_trip(tokenizer, text):
    return tokenizer.detokenize(tokenizer.tokenize(text)).numpy().decode()


def slices(tokenizer, text):
    _, starts, ends = tokenizer.tokenize_with_offsets(text)
    return [text[s:e] for s, e in zip(starts.numpy(), ends.numpy(), strict=True)]
