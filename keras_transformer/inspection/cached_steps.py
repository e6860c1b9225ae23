"""Attention of step-by-step decoding: the weights of all steps put together to whole maps.

The steps run as a search runs them, with a cache of keys and values, for tokens that are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.layers import capture_attention
from keras_transformer.models import Gpt, Transformer
from keras_transformer.tasks.graph_function import graph_function

# So few steps cost less than tracing one.
FEW_STEPS = 8

Weights = dict[str, np.ndarray]


def translation_steps(model: Transformer, source: Sequence[int], read: Sequence[int]) -> Weights:
    """The weights of all layers of encoder and decoder.

    Args:
        model: the model.
        source: ids of the source.
        read: ids that the decoder is fed one after the other, BOS first.

    Returns:
        The path of each attention layer to its weights, float32 ``[heads, queries, keys]``.
    """
    with capture_attention() as encoder:
        state = model.start(tf.constant([source], tf.int32), max_length=len(read))
    steps = _run_steps(model.step, read, state)
    rows = {path: np.concatenate([step[path] for step in steps], axis=1) for path in steps[0]}
    return _numpy(encoder) | rows


def generation_steps(model: Gpt, prompt: Sequence[int], read: Sequence[int]) -> Weights:
    """The weights of all layers.

    Args:
        model: the model.
        prompt: ids of the prompt, all of which but the last are read in one pass.
        read: ids that the steps are fed after that, the prompt's last first.

    Returns:
        The path of each attention layer to its weights, float32 ``[heads, tokens, tokens]``, for
        the tokens of the prompt and the further ones that are read.
    """
    with capture_attention() as captured:
        state = model.start(tf.constant([prompt], tf.int32), max_length=len(read))
    first, size = _numpy(captured), len(prompt)
    steps = _run_steps(model.step, read, state)
    found = {}
    for path, weights in first.items():
        # In the cache the last token's place among the prompt's is empty: its own is the first
        # step's.
        rows = np.concatenate([step[path] for step in steps], axis=1)  # [heads, steps, places]
        rows = np.delete(rows, size - 1, axis=2)  # [heads, steps, tokens]
        before = weights[:, : size - 1, : size - 1]  # [heads, size - 1, size - 1]
        before = np.pad(before, ((0, 0), (0, 0), (0, len(read))))  # [heads, size - 1, tokens]
        found[path] = np.concatenate([before, rows], axis=1)  # [heads, tokens, tokens]
    return found


def _run_steps(step: Callable, ids: Sequence[int], state: Any) -> list[Weights]:
    """The weights ``[heads, 1, keys]`` of each step."""

    def run(token: tf.Tensor, state: Any) -> tuple[Any, dict[str, tf.Tensor]]:
        with capture_attention() as weights:
            _, state = step(token, state)
        return state, dict(weights)

    run = run if len(ids) <= FEW_STEPS else graph_function(run)
    steps = []
    for index in ids:
        state, weights = run(tf.constant([index], tf.int32), state)
        steps.append(_numpy(weights))
    return steps


def _numpy(weights: dict[str, tf.Tensor]) -> Weights:
    return {path: np.asarray(value, np.float32)[0] for path, value in weights.items()}
