"""Transformers in Keras, trained with `fit` and served as text to text."""

import keras

# Importing them registers their classes, so that `keras.models.load_model` knows them.
from keras_transformer import layers, models  # noqa: F401

if keras.backend.backend() == "tensorflow":  # layers and models alone run on the others
    from keras_transformer import training  # noqa: F401

__version__ = "0.1.0"
