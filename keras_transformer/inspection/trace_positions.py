"""Positions and masks: the sinusoidal table, its rotations, and what a causal mask allows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from keras import ops

from keras_transformer.checks import check_at_least
from keras_transformer.inspection.topic import Matrix, Step, Topic
from keras_transformer.inspection.trace_figures import position_figure
from keras_transformer.layers import SinusoidalPositions
from keras_transformer.layers.dot_product_attention import masked_scores, masked_softmax
from keras_transformer.layers.masks import causal_mask
from keras_transformer.layers.positions import sinusoidal_table

MOST_NUMBERS = 1_000_000
"""Of a table."""


def positions_topic(
    length: int = 8,
    hidden_size: int = 4,
    position: int = 2,
    vector: Sequence[float] | None = None,
    shift: int = 3,
) -> Topic:
    """The sinusoidal position encoding (Vaswani et al. 2017, 3.5).

    Args:
        length: number of positions in the table.
        hidden_size: width of a vector.
        position: the one that is added to an embedding.
        vector: the embedding, `hidden_size` numbers; .3, -.2, .7, .1, .3, ... by default.
        shift: how far the position is moved to show what a shift is.

    Raises:
        ValueError: for sizes below 1, more numbers than can be shown, a position outside of the
            table, or another width.

    >>> positions_topic().step("Added").matrix.cells()[2]
    ['1.2093', '-0.6161', '0.7200', '1.0998']
    """
    check_at_least(1, length=length, hidden_size=hidden_size)
    _check_shown(length, hidden_size)
    check_at_least(0, position=position, shift=shift)
    if position >= length:
        raise ValueError(f"position must be below length={length}, not {position}.")
    if vector is None:
        vector = np.resize([0.3, -0.2, 0.7, 0.1], hidden_size)
    embedding = np.array(vector, "float64")
    if embedding.shape != (hidden_size,):
        raise ValueError(f"The vector must have {hidden_size} numbers, not {embedding.size}.")
    table = sinusoidal_table(length, hidden_size)
    columns = [f"{'sin' if i % 2 == 0 else 'cos'} {i // 2}" for i in range(hidden_size)]
    inputs = np.tile(embedding, (1, length, 1))
    added = ops.convert_to_numpy(SinusoidalPositions(dtype="float64")(inputs))[0, position]
    steps = [
        Step(
            "Table",
            "PE(pos, 2i) = sin(pos / 10000^(2i/d))\nPE(pos, 2i+1) = cos(pos / 10000^(2i/d))",
            Matrix(table, [f"position {i}" for i in range(length)], columns),
            "A clock with many hands: the first pair turns by one radian a position, each "
            "further one slower.",
            partial(position_figure, max(length, 100), max(hidden_size, 64)),
        ),
        Step(
            "Added",
            f"x + PE({position})",
            Matrix(
                [embedding, table[position], added],
                ["embedding x", f"PE({position})", "sum"],
                columns,
            ),
            "By the layer SinusoidalPositions.",
        ),
    ]
    if hidden_size >= 2:
        steps.append(_shift(position, shift, hidden_size))
    return Topic(
        "Positions",
        "Attention by itself does not know the order of words; a vector for each position, added "
        "to the word's, tells it.",
        steps,
    )


def _shift(position: int, shift: int, hidden_size: int) -> Step:
    """PE(pos + k) is PE(pos), each pair turned by an angle that depends on k alone."""
    table = sinusoidal_table(position + shift + 1, hidden_size)
    pairs = hidden_size // 2
    angles = shift * 10000.0 ** (-2 * np.arange(pairs) / hidden_size)  # [pairs]
    sine, cosine = table[position, 0 : 2 * pairs : 2], table[position, 1 : 2 * pairs : 2]
    turned = np.stack(
        [
            sine * np.cos(angles) + cosine * np.sin(angles),
            cosine * np.cos(angles) - sine * np.sin(angles),
        ],
        axis=1,
    ).ravel()  # [2 * pairs]
    there = table[position + shift, : 2 * pairs]
    columns = [f"{'sin' if i % 2 == 0 else 'cos'} {i // 2}" for i in range(2 * pairs)]
    return Step(
        "Shifted",
        "PE(pos + k) = PE(pos), each pair turned by k / 10000^(2i/d)",
        Matrix(
            [table[position, : 2 * pairs], turned, there],
            [f"PE({position})", f"turned, k = {shift}", f"PE({position + shift})"],
            columns,
        ),
        "The turn is the same wherever one starts, so that a linear map can look a fixed distance "
        f"away. The last two rows differ by {np.abs(turned - there).max():.1g} at most.",
    )


def mask_topic(length: int = 4) -> Topic:
    """The causal mask of a decoder, and the weights of equal scores under it.

    Raises:
        ValueError: for a length below 1, or so long that it cannot be shown.

    >>> mask_topic(3).step("Weights of equal scores").matrix.cells()
    [['1.0000', '0.0000', '0.0000'], ['0.5000', '0.5000', '0.0000'], ['0.3333', '0.3333', '0.3333']]
    """
    check_at_least(1, length=length)
    _check_shown(length, length)
    mask = causal_mask(length)  # [1, 1, length, length]
    scores = ops.zeros((1, 1, length, length), "float64")
    names = [f"position {i}" for i in range(length)]
    to = [f"sees {i}" for i in range(length)]

    def shown(tensor: Any) -> Matrix:
        return Matrix(ops.convert_to_numpy(tensor)[0, 0], names, to)

    return Topic(
        "Causal mask",
        "While a decoder learns, the whole answer stands before it. A mask hides what comes "
        "later, since it will not be there when the decoder writes (Vaswani et al. 2017, 3.2.3).",
        [
            Step(
                "Mask",
                "allowed: key ≤ query",
                shown(mask),
                "The lower triangle with the diagonal: True = may be attended.",
            ),
            Step(
                "Masked scores",
                "S where allowed, -1e+30 elsewhere",
                shown(masked_scores(scores, mask)),
            ),
            Step(
                "Weights of equal scores",
                "softmax of the masked scores, along each row",
                shown(masked_softmax(scores, mask)),
                "Each row sums to 1, over what it may see.",
            ),
        ],
    )


def _check_shown(rows: int, columns: int) -> None:
    """Refuses a table that nobody can look at, and that may not fit into the memory."""
    if rows * columns > MOST_NUMBERS:
        raise ValueError(
            f"A table of {rows:,} x {columns:,} numbers cannot be shown: at most "
            f"{MOST_NUMBERS:,} can."
        )
