"""Transformers in Keras, trained with `fit` and served as text to text."""

import sys

# `python -m keras_transformer` says what is wrong where the imports below fail: it does without.
_ASKED = sys.argv[:1] == ["-m"] and ["-m", __name__] in (
    sys.orig_argv[place : place + 2] for place in range(1, len(sys.orig_argv))
)

if not _ASKED:
    import keras

    # Importing them registers their classes, so that `keras.models.load_model` knows them.
    from keras_transformer import layers, models  # noqa: F401

    if keras.backend.backend() == "tensorflow":  # layers and models alone run on the others
        from keras_transformer import training  # noqa: F401

__version__ = "0.1.0"
