"""Tokenizers: text to ids and back, inside the TensorFlow graph."""

from keras_transformer.text.byte_level_bpe import ByteLevelBPETokenizer
from keras_transformer.text.characters import CharacterTokenizer
from keras_transformer.text.sentencepiece import SentencePieceTokenizer
from keras_transformer.text.tokenizer import Tokenizer, load_tokenizer
from keras_transformer.text.wordpiece import WordPieceTokenizer

__all__ = [
    "ByteLevelBPETokenizer",
    "CharacterTokenizer",
    "SentencePieceTokenizer",
    "Tokenizer",
    "WordPieceTokenizer",
    "load_tokenizer",
]
