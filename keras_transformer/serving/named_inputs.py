"""Values by the names of a signature's inputs, as a server's REST interface has them in JSON."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf


def arrays_of(
    values: Mapping[str, Any], specs: Mapping[str, tf.TensorSpec], where: str
) -> dict[str, np.ndarray]:
    """Arrays `[rows]` for the inputs of a signature.

    Args:
        values: for each input one value, or a list with one for each row; single values hold for
            all rows. A text is a `str`, `bytes`, or ``{"b64": ...}``, the base64 form of bytes.
        specs: the inputs' dtypes by name, all of shape `[None]`.
        where: what an error begins with.

    Raises:
        ValueError: when a value is not of its input's type, an input is missing, or lists differ
            in length or are empty.

    >>> specs = {"text": tf.TensorSpec([None], tf.string), "top_k": tf.TensorSpec([None], tf.int32)}
    >>> arrays = arrays_of({"text": ["a", "b"], "top_k": 5}, specs, "line 1")
    >>> arrays["text"].tolist(), arrays["top_k"].tolist()
    ([b'a', b'b'], [5, 5])
    >>> arrays_of({"text": "a", "top_k": 0.5}, specs, "line 1")
    Traceback (most recent call last):
    ValueError: line 1: top_k must be a whole number, not 0.5.
    """
    missing = [name for name in specs if name not in values]
    if missing:
        raise ValueError(f"{where}: {missing[0]} is missing.")
    lengths = {name: len(values[name]) for name in specs if isinstance(values[name], list)}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise ValueError(f"{where}: all inputs must have as many rows, not {shown}.")
    rows = next(iter(lengths.values()), 1)
    if not rows:
        raise ValueError(f"{where}: there must be at least one row.")
    arrays = {}
    for name, spec in specs.items():
        column = values[name] if name in lengths else [values[name]] * rows
        column = [_value(value, spec.dtype, f"{where}: {name}") for value in column]
        arrays[name] = np.array(column, spec.dtype.as_numpy_dtype).reshape([rows])
    return arrays


def _value(value: Any, dtype: tf.DType, where: str) -> Any:
    """One value as NumPy takes it."""
    if dtype == tf.string:
        return _bytes(value, where)
    if dtype == tf.bool:
        fits, kind = isinstance(value, bool), "true or false"
    elif dtype.is_integer:
        fits, kind = isinstance(value, int) and not isinstance(value, bool), "a whole number"
        if fits and not dtype.min <= value <= dtype.max:
            raise ValueError(f"{where} must be from {dtype.min} to {dtype.max}, not {value}.")
    else:
        fits, kind = isinstance(value, int | float) and not isinstance(value, bool), "a number"
        if fits and not abs(value) <= float(dtype.max):  # NaN, too, which JSON has not
            fits, kind = False, f"a number that {dtype.name} holds"
    if not fits:
        raise ValueError(f"{where} must be {kind}, not {value!r:.50}.")
    return value


def _bytes(value: Any, where: str) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, dict) and value.keys() == {"b64"} and isinstance(value["b64"], str):
        try:
            return base64.b64decode(value["b64"], validate=True)
        except (binascii.Error, ValueError):
            raise ValueError(f"{where}: {value['b64']!r:.50} is not base64.") from None
    if not isinstance(value, str):
        raise ValueError(f"{where} must be a text, not {value!r:.50}.")
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(f"{where} has half a surrogate pair, which is no character.") from None
