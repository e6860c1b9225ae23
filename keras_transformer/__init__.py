"""Transformers in Keras, trained with `fit` and served as text to text."""

__version__ = "0.1.0"
