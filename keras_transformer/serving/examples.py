"""Inputs to show what a signature is asked."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.serving.warmup import WarmupRequest

TEXTS = {
    "text": "Ada lives in London.",
    "text_pair": "Ada lives in a city.",
    "question": "Who lives in London?",
    "context": "Ada lives in London.",
    "prompt": "Once upon a time",
}
MASKED = "Ada [MASK] in London."

LONGEST = 200  # characters of a shown text


def examples_of(
    signatures: Mapping[str, Mapping[str, tf.TensorSpec]],
    task: str = "",
    defaults: Mapping[str, Any] | None = None,
    requests: Sequence[WarmupRequest] = (),
) -> dict[str, dict[str, list]]:
    """One row of the inputs of each signature, as `example_inputs` says.

    Args:
        signatures: their inputs, by name.
        task, defaults: see `example_inputs`.
        requests: of any of them. A signature `<name>_xla` shows those of `<name>`, too.

    >>> text = {"text": tf.TensorSpec([None], tf.string)}
    >>> examples_of({"serving_default": text})
    {'serving_default': {'text': ['Ada lives in London.']}}
    """
    examples = {}
    for name, inputs in signatures.items():
        own = (r for r in requests if r.signature in (name, name.removesuffix("_xla")))
        examples[name] = example_inputs(inputs, task, defaults, own)
    return examples


def example_inputs(
    inputs: Mapping[str, tf.TensorSpec],
    task: str = "",
    defaults: Mapping[str, Any] | None = None,
    requests: Iterable[WarmupRequest] = (),
) -> dict[str, list]:
    """One row of a signature's inputs, as JSON has it.

    Args:
        inputs: the signature's inputs by name.
        task: name of the task's class: to fill a mask, one is needed.
        defaults: values of inputs such as a temperature.
        requests: of the signature; the first short one of them is taken, if there is one.

    >>> example_inputs({"text": tf.TensorSpec([None], tf.string)}, "FillMask")
    {'text': ['Ada [MASK] in London.']}
    """
    for request in requests:
        columns = {name: [_json(value) for value in request.inputs[name][:1]] for name in inputs}
        if all(len(str(value)) <= LONGEST for (value,) in columns.values()):
            return columns
    texts = TEXTS | {"text": MASKED} if task == "FillMask" else TEXTS
    usual = {**texts, **(defaults or {})}
    return {name: [usual.get(name, _plain(name, spec.dtype))] for name, spec in inputs.items()}


def _plain(name: str, dtype: tf.DType) -> Any:
    """A value for an input that is not known here."""
    if dtype == tf.string:
        return name
    return dtype.as_numpy_dtype(1).item()


def _json(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(value).decode("ascii")}
