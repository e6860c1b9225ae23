"""Sizes and curves to look up: heads, the feed-forward network, activations, learning rates."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from keras import ops

from keras_transformer.inspection.topic import Matrix, Step, Topic
from keras_transformer.inspection.trace_figures import curves
from keras_transformer.layers import EncoderLayer, FeedForward
from keras_transformer.layers.feed_forward import ACTIVATIONS, activation_function
from keras_transformer.training import CosineSchedule, InverseSquareRootSchedule, LinearSchedule


def sizes_topic() -> Topic:
    """How a width is divided among heads, and what the feed-forward network does to shapes.

    >>> sizes_topic().step("Heads").matrix.cells()[0]
    ['512', '8', '64']
    """
    heads = [[width, count, _head_width(width, count)] for width, count in _HEADS]
    feed_forward = FeedForward(intermediate_size=32)
    inputs = np.ones((3, 4, 8), "float32")
    outputs = feed_forward(inputs)
    kernels = (feed_forward.input_dense.kernel, feed_forward.output_dense.kernel)
    first, second = (tuple(kernel.shape) for kernel in kernels)
    return Topic(
        "Sizes",
        "What fits what.",
        [
            Step(
                "Heads",
                "width of a head = hidden_size / num_attention_heads",
                Matrix(heads, columns=["hidden_size", "heads", "a head's width"]),
                "More heads are not more numbers: the same width is divided.",
            ),
            Step(
                "Feed-forward network",
                "act(x W1 + b1) W2 + b2",
                Matrix(
                    [
                        ["x", _shape(inputs.shape), "batch, length, hidden_size"],
                        ["W1", _shape(first), "hidden_size, intermediate_size"],
                        ["x W1", _shape((*inputs.shape[:-1], first[1])), "each position alone"],
                        ["W2", _shape(second), "intermediate_size, hidden_size"],
                        ["output", _shape(outputs.shape), "as the input"],
                    ],
                    columns=["what", "shape", "axes"],
                ),
            ),
        ],
    )


_HEADS = ((512, 8), (128, 4), (130, 8))


def _head_width(width: int, heads: int) -> str:
    """As the encoder's layer has it, or says why it has none."""
    layer = EncoderLayer(num_heads=heads, intermediate_size=8)
    try:
        layer.build((None, None, width))
    except ValueError as error:
        return f"refused: {error}"
    return str(layer.self_attention.key_dim)


def activations_topic(points: tuple[float, ...] = (-2.0, 0.0, 2.0)) -> Topic:
    """The activations of the feed-forward network at some points.

    >>> activations_topic().step("Values").matrix.cells()[1]
    ['-0.0455', '0.0000', '1.9545']
    """
    values = [_activation(name, np.array(points)) for name in ACTIVATIONS]
    return Topic(
        "Activations",
        "Without a bend between its two maps the feed-forward network would be one map.",
        [
            Step(
                "Values",
                "act(x)",
                Matrix(values, list(ACTIVATIONS), [f"x = {x:g}" for x in points]),
                picture=_activation_figure,
            )
        ],
    )


def _activation(name: str, x: np.ndarray) -> np.ndarray:
    return ops.convert_to_numpy(activation_function(name)(ops.convert_to_tensor(x)))


def _activation_figure() -> Any:
    x = np.linspace(-4, 4, 161)
    lines = {name: _activation(name, x) for name in ("relu", "gelu", "silu", "sigmoid", "tanh")}
    return curves(x, lines, "x", "act(x)")


def schedules_topic(peak: float = 1e-3, warmup_steps: int = 400, total_steps: int = 4000) -> Topic:
    """The learning rate over a training, for each schedule of `training.schedules`.

    Raises:
        ValueError: for what the schedules refuse.

    >>> schedules_topic(1.0, 2, 10).step("Rates").matrix.columns
    ['update 1', 'update 2', 'update 3', 'update 6', 'update 10']
    """
    schedules = {
        "inverse square root": InverseSquareRootSchedule(peak, warmup_steps),
        "linear": LinearSchedule(peak, warmup_steps, total_steps),
        "cosine": CosineSchedule(peak, warmup_steps, total_steps),
    }
    warm = max(warmup_steps, 1)
    middle = (warm + total_steps) // 2
    updates = sorted(
        n for n in {1, (warm + 1) // 2, warm, warm + 1, middle, total_steps} if n <= total_steps
    )
    rates = [[float(schedule(n - 1)) for n in updates] for schedule in schedules.values()]
    return Topic(
        "Learning-rate schedules",
        "Small steps first, while the weights are random; large ones; then smaller ones again.",
        [
            Step(
                "Rates",
                "n ≤ warm-up: peak × n / warm-up,  then:\n"
                "inverse square root: peak × √(warm-up / n)\n"
                "linear: peak × (1 - t),  cosine: peak × (1 + cos π t) / 2,  t from 0 to 1",
                Matrix(
                    [[f"{rate:.4g}" for rate in row] for row in rates],
                    list(schedules),
                    [f"update {n}" for n in updates],
                ),
                f"Peak {peak:g} after {warmup_steps} updates of {total_steps}.",
                partial(_schedule_figure, schedules, total_steps),
            )
        ],
    )


def _schedule_figure(schedules: dict[str, Any], total_steps: int) -> Any:
    updates = np.unique(np.linspace(1, total_steps, min(total_steps, 600)).round())
    lines = {
        name: ops.convert_to_numpy(schedule(updates - 1)) for name, schedule in schedules.items()
    }
    return curves(updates, lines, "update", "learning rate")


def _shape(shape: Any) -> str:
    return f"[{', '.join(map(str, shape))}]"
