"""Whole models, each with a configuration of its own."""

from keras_transformer.models.transformer import DecodingState, Transformer
from keras_transformer.models.transformer_config import TransformerConfig

__all__ = ["DecodingState", "Transformer", "TransformerConfig"]
