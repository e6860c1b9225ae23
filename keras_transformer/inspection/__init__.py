"""Seeing inside: what a model attends to, step by step and over a training."""

from keras_transformer.inspection.attention import AttentionMap, TextAttention, attention_of
from keras_transformer.inspection.token_labels import Token

__all__ = ["AttentionMap", "TextAttention", "Token", "attention_of"]
