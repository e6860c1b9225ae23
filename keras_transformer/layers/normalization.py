"""The choice of normalisation: LayerNorm (Ba et al. 2016) or RMSNorm (Zhang and Sennrich 2019)."""

from typing import Any

import keras

NORMS = ("layer_norm", "rms_norm")


def normalization(kind: str, epsilon: float, **kwargs: Any) -> keras.layers.Layer:
    """A normalisation layer over the last axis; Keras computes both in at least float32.

    Raises:
        ValueError: when ``kind`` is neither "layer_norm" nor "rms_norm".

    >>> normalization("rms_norm", 1e-6).__class__.__name__
    'RMSNormalization'
    """
    check_normalization(kind)
    if kind == "rms_norm":
        return keras.layers.RMSNormalization(epsilon=epsilon, **kwargs)
    return keras.layers.LayerNormalization(epsilon=epsilon, **kwargs)


def check_normalization(kind: str) -> None:
    """Refuses a ``kind`` that there is not.

    Raises:
        ValueError: when ``kind`` is neither "layer_norm" nor "rms_norm".
    """
    if kind not in NORMS:
        raise ValueError(f"norm must be one of {', '.join(NORMS)}, not {kind!r}.")
