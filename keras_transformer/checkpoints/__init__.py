"""Checkpoints of other libraries, read and written: Hugging Face directories."""

from keras_transformer.checkpoints.huggingface import (
    load_huggingface,
    read_labels,
    save_huggingface,
)

__all__ = ["load_huggingface", "read_labels", "save_huggingface"]
