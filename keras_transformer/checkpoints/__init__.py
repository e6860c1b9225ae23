"""Checkpoints of other libraries, read and written: Hugging Face directories."""

from keras_transformer.checkpoints.huggingface import (
    load_huggingface,
    read_labels,
    save_huggingface,
)
from keras_transformer.checkpoints.sentencepiece import load_sentencepiece, save_sentencepiece
from keras_transformer.checkpoints.tokenizers import (
    load_byte_level_bpe,
    load_wordpiece,
    save_byte_level_bpe,
    save_wordpiece,
)

__all__ = [
    "load_byte_level_bpe",
    "load_huggingface",
    "load_sentencepiece",
    "load_wordpiece",
    "read_labels",
    "save_byte_level_bpe",
    "save_huggingface",
    "save_sentencepiece",
    "save_wordpiece",
]
