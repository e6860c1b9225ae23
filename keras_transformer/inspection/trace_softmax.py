"""The softmax: its steps, temperature, a soft look-up, its gradient, and why scores are scaled."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf
from keras import ops

from keras_transformer.checks import check_at_least
from keras_transformer.inspection.topic import Matrix, Step, Topic
from keras_transformer.inspection.trace_figures import curves
from keras_transformer.layers.attention_products import query_key_product
from keras_transformer.layers.dot_product_attention import dot_product_attention, masked_softmax
from keras_transformer.training import TokenCrossEntropy


def softmax_topic(scores: Sequence[float] = (3, 5, -10, 20), temperature: float = 10.0) -> Topic:
    """Scores to weights, and what a temperature does to them.

    Args:
        scores: one for each choice.
        temperature: what scores are divided by.

    Raises:
        ValueError: for fewer than two scores, or a temperature that is not positive.

    >>> softmax_topic([12, 8, 15]).step("Weights").matrix.cells()
    [['0.0474', '0.0009', '0.9517']]
    """
    scores = _numbers("scores", scores)
    if not (np.isfinite(temperature) and temperature > 0):
        raise ValueError(f"temperature must be a positive number, not {temperature}.")
    columns = [f"choice {i}" for i in range(1, len(scores) + 1)]
    lowered = scores - scores.max()
    with np.errstate(over="ignore"):  # "inf" is what the next step is there for
        exponentials = np.exp(scores)
    weights, tempered = _softmax(scores), _softmax(scores / temperature)
    largest = int(scores.argmax())
    return Topic(
        "Softmax",
        "Any numbers become positive ones that sum to 1, in the same order.",
        [
            Step("Scores", "s", Matrix([scores], columns=columns)),
            Step(
                "Exponentials",
                "exp(s)",
                Matrix([exponentials], columns=columns),
                "Differences become ratios: one more is 2.718 times as much.",
            ),
            Step(
                "The same, without huge numbers",
                "exp(s - max s)",
                Matrix([np.exp(lowered)], columns=columns),
                "What programs compute: all are divided by the largest, which changes no weight.",
            ),
            Step(
                "Weights",
                "exp(s) / Σ exp(s)",
                Matrix([weights], columns=columns),
                f"They sum to 1; the largest is {weights[largest]:.7f}.",
            ),
            Step(
                f"Temperature {temperature:g}",
                "softmax(s / T)",
                Matrix(
                    [weights, tempered],
                    rows=["T = 1", f"T = {temperature:g}"],
                    columns=columns,
                ),
                "Above 1 the choices come closer to each other, below 1 the largest takes all.",
                partial(_temperature_figure, scores, columns),
            ),
        ],
    )


def look_up_topic(
    scores: Sequence[float] = (5, -4, 3, 2, 2.5), values: Sequence[float] = (1, 2, 3, 4, 5)
) -> Topic:
    """Attention as a soft look-up: one query, a score for each key, a mix of the values.

    Raises:
        ValueError: when there are not as many values as scores.

    >>> look_up_topic().step("Value").matrix.cells()
    [['1.5906']]
    """
    scores, values = _numbers("scores", scores), _numbers("values", values)
    if len(scores) != len(values):
        raise ValueError(f"There are {len(scores)} scores and {len(values)} values.")
    # Keys of width one, and a query of 1: their products are the scores.
    value, weights = dot_product_attention(
        np.ones((1, 1, 1, 1)), scores[None, None, :, None], values[None, None, :, None], scale=1.0
    )
    columns = [f"key {i}" for i in range(1, len(scores) + 1)]
    return Topic(
        "Soft look-up",
        "A dictionary gives the value of the one key that fits; attention gives a mix of all "
        "values, most of it from those that fit best.",
        [
            Step("Scores", "s", Matrix([scores], columns=columns), "How well each key fits."),
            Step("Weights", "softmax(s)", Matrix(_array(weights)[0, 0], columns=columns)),
            Step("Values", "v", Matrix([values], columns=columns)),
            Step("Value", "Σ weight × value", Matrix(_array(value)[0, 0])),
        ],
    )


def scaling_topic(scores: Sequence[float] = (112, 96), key_dim: int = 64) -> Topic:
    """What the division by √d_k does to the weights.

    Raises:
        ValueError: for fewer than two scores, or a width below 1.

    >>> scaling_topic([32.5, 28.3, 15.7]).step("Weights, scaled").matrix.cells()
    [['0.5834', '0.3451', '0.0714']]
    """
    scores = _numbers("scores", scores)
    check_at_least(1, key_dim=key_dim)
    # Keys whose first entry is the score, and a query that reads it.
    keys = np.zeros((1, 1, len(scores), key_dim))
    keys[0, 0, :, 0] = scores
    query = np.zeros((1, 1, 1, key_dim))
    query[..., 0] = 1.0
    _, weights = dot_product_attention(query, keys, keys)
    columns = [f"key {i}" for i in range(1, len(scores) + 1)]
    return Topic(
        "Scaled scores",
        f"Scores of one query with keys of width {key_dim}.",
        [
            Step("Scores", "q · k", Matrix([scores], columns=columns)),
            Step(
                "Scaled", f"q · k / √{key_dim}", Matrix([scores * key_dim**-0.5], columns=columns)
            ),
            Step(
                "Weights, unscaled",
                "softmax(q · k)",
                Matrix([_softmax(scores)], columns=columns),
                "Nearly all for one key: the others could not be learned.",
            ),
            Step(
                "Weights, scaled",
                f"softmax(q · k / √{key_dim})",
                Matrix(_array(weights)[0, 0], columns=columns),
            ),
        ],
    )


def gradient_topic(logits: Sequence[float] = (2.0, 1.0, 0.1), true: int = 1) -> Topic:
    """The gradient of softmax and cross-entropy: the probabilities, less 1 for the true class.

    Args:
        logits: one for each class.
        true: the true class, from 1.

    Raises:
        ValueError: when there is no such class.

    >>> gradient_topic([0, 0]).step("Gradient").matrix.cells()
    [['-0.5000', '0.5000']]
    """
    logits = _numbers("logits", logits)
    if not 1 <= true <= len(logits):
        raise ValueError(f"The true class must be from 1 to {len(logits)}, not {true}.")
    label, z = tf.constant([[true - 1]]), tf.constant(logits[None, None], tf.float64)
    loss_of = TokenCrossEntropy(pad_id=-1)  # every id is a class here
    with tf.GradientTape() as tape:
        tape.watch(z)
        loss = loss_of(label, z)
    gradient = tape.gradient(loss, z).numpy()[0]  # [1, classes]
    columns = [f"class {i}" for i in range(1, len(logits) + 1)]
    weights = _softmax(logits)
    one_hot = np.eye(len(logits))[true - 1]
    off = float(np.abs(gradient[0] - (weights - one_hot)).max())
    return Topic(
        "Gradient of softmax and cross-entropy",
        "Why a language model learns so simply: what each logit is pushed by is the model's "
        "probability, less 1 where the true class is.",
        [
            Step("Logits", "z", Matrix([logits], columns=columns)),
            Step("Probabilities", "p = softmax(z)", Matrix([weights], columns=columns)),
            Step(
                "Truth",
                "onehot",
                Matrix([one_hot], columns=columns),
            ),
            Step("Loss", "-log p(true)", Matrix([[float(loss)]]), "By TokenCrossEntropy."),
            Step(
                "Gradient",
                "∂ loss / ∂ z = p - onehot",
                Matrix(gradient, columns=columns),
                "By automatic differentiation of TokenCrossEntropy; it differs from p - onehot by "
                f"{off:.1g} at most. Its entries sum to 0.",
            ),
        ],
    )


def variance_topic(
    widths: Sequence[int] = (4, 16, 64, 256), samples: int = 5_000, seed: int = 0
) -> Topic:
    """Why √d_k: the variance of q·k is d_k, and after the scaling 1 (Vaswani 2017, footnote 4).

    Args:
        widths: values of d_k.
        samples: pairs of a query and a key for each.
        seed: of the random numbers.

    Raises:
        ValueError: for a seed below 0.

    >>> variance_topic(samples=100).step("Measured").matrix.columns
    ['d_k', 'var(q · k)', 'var(q · k / √d_k)']
    """
    check_at_least(0, seed=seed)
    random = np.random.default_rng(seed)
    rows, mean_largest = [], []
    for width in widths:
        query = random.standard_normal((samples, 1, width))
        keys = random.standard_normal((samples, 8, width))
        scores = _array(
            query_key_product(ops.convert_to_tensor(query), ops.convert_to_tensor(keys))
        )
        scaled = scores * width**-0.5
        rows.append([width, scores.var(), scaled.var()])
        largest = [_array(masked_softmax(s, None)).max(-1).mean() for s in (scores, scaled)]
        mean_largest.append([width, *largest])
    return Topic(
        "Why the scores are divided by √d_k",
        "Entries of queries and keys that are independent, of mean 0 and variance 1, have "
        "products of variance 1, and d_k of them are added.",
        [
            Step(
                "Measured",
                "var(q · k) = d_k,  var(q · k / √d_k) = 1",
                Matrix(
                    rows,
                    columns=["d_k", "var(q · k)", "var(q · k / √d_k)"],
                    digits=2,
                    shaded=False,
                ),
                f"From {samples:,} queries with 8 keys each (seed {seed}).",
            ),
            Step(
                "What it is for",
                "mean of the largest of 8 weights",
                Matrix(
                    mean_largest,
                    columns=["d_k", "softmax(q · k)", "softmax(q · k / √d_k)"],
                    digits=2,
                    shaded=False,
                ),
                "Unscaled, wide keys make the softmax take one key alone, where its gradient is "
                "nearly 0.",
            ),
        ],
    )


def _temperature_figure(scores: np.ndarray, columns: Sequence[str]) -> Any:
    temperatures = np.geomspace(0.5, 50, 60)
    weights = np.stack([_softmax(scores / t) for t in temperatures])  # [temperatures, choices]
    lines = {name: weights[:, i] for i, name in enumerate(columns)}
    figure = curves(temperatures, lines, "temperature", "weight")
    figure.axes[0].set_xscale("log")
    ticks = [0.5, 1, 2, 5, 10, 20, 50]
    figure.axes[0].set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    return figure


def _softmax(scores: np.ndarray) -> np.ndarray:
    """The attention's own softmax, of one row."""
    return _array(masked_softmax(ops.convert_to_tensor(scores[None]), None))[0]


def _numbers(name: str, given: Sequence[float]) -> np.ndarray:
    numbers = np.array(given, "float64")
    if numbers.ndim != 1 or len(numbers) < 2 or not np.isfinite(numbers).all():
        raise ValueError(f"{name} must be two or more numbers, not {list(given)}.")
    return numbers


def _array(tensor: Any) -> np.ndarray:
    return ops.convert_to_numpy(tensor)
