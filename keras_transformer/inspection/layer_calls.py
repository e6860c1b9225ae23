"""What every layer of a model gives, while the model runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import keras


@dataclass(frozen=True)
class LayerCall:
    """One call of a layer.

    Attributes:
        layer: the layer.
        callers: the layers that were running, the outermost first; the model is not among them.
        output: what it gave.
        options: the arguments that were given by name.
        inner: whether it called layers itself.
    """

    layer: keras.layers.Layer
    callers: tuple[keras.layers.Layer, ...]
    output: Any
    options: dict[str, Any]
    inner: bool


@contextmanager
def record_calls(model: keras.Model) -> Iterator[list[LayerCall]]:
    """Collects the calls of all layers of a model, in the order in which they end.

    The model must be built, and must run inside the block, eagerly. Its layers are as they were
    when the block is left.

    Yields:
        A list that fills while the model runs.

    >>> import numpy as np
    >>> from keras_transformer.layers import FeedForward
    >>> model = keras.Sequential([FeedForward(8)])
    >>> model.build((None, 3, 4))
    >>> with record_calls(model) as calls:
    ...     _ = model(np.ones((1, 3, 4), "float32"))
    >>> [(call.layer.name, tuple(call.output.shape)) for call in calls][0]
    ('input_dense', (1, 3, 8))
    """
    calls: list[LayerCall] = []
    running: list[keras.layers.Layer] = []

    def recorded(layer: keras.layers.Layer) -> Any:
        original = layer.call

        def call(*args: Any, **kwargs: Any) -> Any:
            callers, before = tuple(running), len(calls)
            running.append(layer)
            try:
                output = original(*args, **kwargs)
            finally:
                running.pop()
            calls.append(LayerCall(layer, callers, output, kwargs, len(calls) > before))
            return output

        return call

    # Keras keeps the list of all layers inside of layers to itself.
    layers = list(model._flatten_layers(include_self=False))
    try:
        for layer in layers:
            layer.call = recorded(layer)  # hides the method of the class
        yield calls
    finally:
        for layer in layers:
            layer.__dict__.pop("call", None)
