"""Looking at attention: the weights of every layer and head, while a model runs.

The models' code path is the same with and without capture. When nothing captures, the only cost is
reading one context variable while a call is traced.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Tensor = Any

_active: ContextVar[dict[str, Tensor] | None] = ContextVar("attention_capture", default=None)


@contextmanager
def capture_attention() -> Iterator[dict[str, Tensor]]:
    """Collects the attention weights of all `MultiHeadAttention` calls inside the block.

    Yields:
        A dictionary that fills while models run: the path of the attention layer (for instance
        ``transformer/decoder/layer_1/cross_attention``) to its weights, float32
        ``[batch, heads, queries, keys]``, before dropout. A layer that runs twice keeps its last
        weights.

    The model must run inside the block, eagerly, or traced by a function that also returns the
    weights; `model.predict` runs a graph traced earlier and so shows nothing.

    >>> import numpy as np
    >>> from keras_transformer.layers import MultiHeadAttention
    >>> attention = MultiHeadAttention(num_heads=2, key_dim=4, name="self_attention")
    >>> with capture_attention() as weights:
    ...     _ = attention(np.ones((1, 3, 8), "float32"), np.ones((1, 3, 8), "float32"))
    >>> [(path, tuple(w.shape)) for path, w in weights.items()]
    [('self_attention', (1, 2, 3, 3))]
    """
    weights: dict[str, Tensor] = {}
    token = _active.set(weights)
    try:
        yield weights
    finally:
        _active.reset(token)


def record_attention(path: str, weights: Tensor) -> None:
    """Called by attention layers: hands their weights to the capture that is on, if one is."""
    captured = _active.get()
    if captured is not None:
        captured[path] = weights
