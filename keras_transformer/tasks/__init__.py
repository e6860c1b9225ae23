"""Tasks: tokenizers, a model and decoding in one object, with save, load and export."""

from keras_transformer.tasks.task import Task
from keras_transformer.tasks.translator import (
    Translation,
    TranslationAttention,
    TranslationOptions,
    Translator,
)

__all__ = ["Task", "Translation", "TranslationAttention", "TranslationOptions", "Translator"]
