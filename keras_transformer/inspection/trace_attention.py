"""One attention computation step by step, by the very functions that the layers use."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformer.inspection.topic import Matrix, Step, Topic
from keras_transformer.layers import MultiHeadAttention
from keras_transformer.layers.attention_products import query_key_product, weight_value_product
from keras_transformer.layers.dot_product_attention import masked_scores, masked_softmax
from keras_transformer.layers.masks import causal_mask

ATTENTION_EXAMPLES: list[dict[str, Any]] = [
    {"x": [[1, 0], [0, 1], [1, 1]]},
    {
        "x": [[1, 0, 1, 0], [0, 2, 0, 2]],
        "wq": [[1, 0], [0, 1], [1, 0], [0, 1]],
        "wk": [[0, 1], [1, 0], [0, 1], [1, 0]],
        "wv": [[1, 1], [1, 1], [0, 0], [0, 0]],
    },
]
"""Small enough to follow with pencil and paper."""


def attention_topic(
    x: Any,
    wq: Any = None,
    wk: Any = None,
    wv: Any = None,
    *,
    causal: bool = False,
    words: Sequence[str] = (),
) -> Topic:
    """Self-attention of one head for given numbers (Vaswani et al. 2017, 3.2.1).

    Each step is computed by the function that computes it inside of `MultiHeadAttention`, in
    float64; the weights and the output are compared with what that layer gives as a whole.

    Args:
        x: a vector for each word, `[words, width]`.
        wq: projection to queries, `[width, key_dim]`; the identity by default.
        wk: projection to keys, of the same shape.
        wv: projection to values, `[width, value_dim]`.
        causal: whether a word sees only itself and what came before.
        words: names of the words; word 1, word 2, ... by default.

    Raises:
        ValueError: for numbers that are no matrix or too large, or matrices that do not fit each
            other.
        RuntimeError: when the steps do not lead to what the layer gives.

    >>> topic = attention_topic([[1, 0], [0, 1], [1, 1]])
    >>> topic.step("Weights").matrix.cells()[0]
    ['0.4011', '0.1978', '0.4011']
    """
    x = _matrix("x", x)
    width = x.shape[1]
    wq, wk, wv = (
        np.eye(width) if given is None else _matrix(name, given, rows=width)
        for name, given in (("wq", wq), ("wk", wk), ("wv", wv))
    )
    key_dim = wq.shape[1]
    if wk.shape[1] != key_dim:
        raise ValueError(f"wq has {key_dim} columns and wk {wk.shape[1]}; both make key_dim.")
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
        raise ValueError(f"words must be a list of texts, as ['a', 'dog'], not {words!r}.")
    if words and len(words) != len(x):
        raise ValueError(f"There are {len(words)} words, but x has {len(x)} rows.")
    layer = _layer(wq, wk, wv)
    rows = ops.convert_to_tensor(x[None])  # [1, words, width]
    queries, keys, values = (
        part(rows)[:, None]  # [1, 1, words, dim]
        for part in (layer.query_dense, layer.key_dense, layer.value_dense)
    )
    mask = causal_mask(len(x)) if causal else None  # [1, 1, words, words]
    scores = query_key_product(queries, keys)  # [1, 1, words, words]
    scaled = query_key_product(queries * key_dim**-0.5, keys)
    if not all(np.isfinite(ops.convert_to_numpy(found)).all() for found in (scores, values)):
        raise ValueError("The numbers are too large: products of them are not finite.")
    weights = masked_softmax(scaled, mask)
    output = weight_value_product(weights, values)  # [1, 1, words, value_dim]
    _check(layer, rows, causal, weights, output)

    names = list(words) or [f"word {i}" for i in range(1, len(x) + 1)]
    to = [f"to {name}" for name in names]

    def shown(tensor: Any, columns: Sequence[str] = ()) -> Matrix:
        return Matrix(ops.convert_to_numpy(tensor)[0, 0], names, columns)

    steps = [
        Step("Input", "x", Matrix(x, names), f"A vector of {width} numbers for each word."),
        Step("Queries", "Q = x Wq", shown(queries), "What each word looks for."),
        Step("Keys", "K = x Wk", shown(keys), "What each word is found by."),
        Step("Values", "V = x Wv", shown(values), "What each word has to give."),
        Step(
            "Scores",
            "S = Q Kᵀ",
            shown(scores, to),
            "The product of the query of a row with the key of a column: how well they fit.",
        ),
        Step(
            "Scaled",
            f"S / √d_k = S / √{key_dim} = S / {key_dim**0.5:.4g}",
            shown(scaled, to),
            "Else scores grow with the width of the keys, and the softmax takes the largest only.",
        ),
    ]
    if mask is not None:
        steps += [
            Step(
                "Mask",
                "allowed: key ≤ query",
                Matrix(ops.convert_to_numpy(mask)[0, 0], names, to),
                "A word sees itself and what came before.",
            ),
            Step(
                "Masked",
                "S / √d_k where allowed, -1e+30 elsewhere",
                shown(masked_scores(scaled, mask), to),
                "A number so low that nothing of it is left after the softmax.",
            ),
        ]
    steps += [
        Step(
            "Weights",
            "A = softmax(S / √d_k), along each row",
            shown(weights, to),
            "How much each word takes from each; every row sums to 1.",
        ),
        Step(
            "Output",
            "A V",
            shown(output),
            "The values, mixed by the weights. Weights and output are those that the layer "
            "MultiHeadAttention gives for x.",
        ),
    ]
    plain = all(np.array_equal(w, np.eye(width)) for w in (wq, wk, wv))
    kinds = ["without projections" if plain else "with projections"] + ["causal"] * causal
    return Topic(
        f"Attention, {', '.join(kinds)}",
        f"One head of self-attention over {len(x)} word{'s' * (len(x) > 1)}, step by step: "
        "softmax(Q Kᵀ / √d_k) V (Vaswani et al. 2017, 3.2.1)."
        + (" Here Wq = Wk = Wv = I, the identity." if plain else ""),
        steps,
    )


def _matrix(name: str, given: Any, rows: int | None = None) -> np.ndarray:
    fits = isinstance(given, list | tuple | np.ndarray) and len(given)
    fits = fits and all(
        isinstance(row, list | tuple | np.ndarray)
        and len(row)
        and len(row) == len(given[0])
        and all(isinstance(n, numbers.Real) and np.isfinite(n) for n in row)
        for row in given
    )
    if not fits:
        raise ValueError(
            f"{name} must be rows of equally many numbers, as [[1, 0], [0, 1]], not {given!r}."
        )
    matrix = np.array(given, "float64")
    if rows is not None and len(matrix) != rows:
        raise ValueError(
            f"{name} has {len(matrix)} rows, but the vectors of x have {rows} numbers."
        )
    return matrix


def _layer(wq: np.ndarray, wk: np.ndarray, wv: np.ndarray) -> MultiHeadAttention:
    """The attention layer with these projections, in float64, whose output map is the identity."""
    value_dim = wv.shape[1]
    layer = MultiHeadAttention(
        num_heads=1,
        key_dim=wq.shape[1],
        value_dim=value_dim,
        output_dim=value_dim,
        use_bias=False,
        output_initializer=keras.initializers.Identity(),
        dtype="float64",
    )
    layer.build((None, None, wq.shape[0]))
    for part, kernel in ((layer.query_dense, wq), (layer.key_dense, wk), (layer.value_dense, wv)):
        part.kernel.assign(kernel)
    return layer


def _check(layer: MultiHeadAttention, rows: Any, causal: bool, weights: Any, output: Any) -> None:
    """What was traced is what the layer computes."""
    whole, whole_weights = layer(rows, use_causal_mask=causal, return_attention_scores=True)
    for name, found, expected in (
        ("weights", weights, whole_weights),
        ("output", output[:, 0], whole),
    ):
        found, expected = ops.convert_to_numpy(found), ops.convert_to_numpy(expected)
        if not np.allclose(found, expected, rtol=1e-9, atol=1e-12):
            raise RuntimeError(
                f"The traced {name} {found.tolist()} are not the layer's, {expected.tolist()}."
            )
