"""Recomputation, also called gradient checkpointing (Chen et al. 2016): memory for time."""

from collections.abc import Callable, Sequence
from typing import Any

import keras

from keras_transformer.layers.dropout import Dropout, drawn_seeds

Tensor = Any


def recomputed(
    function: Callable[..., Tensor], dropouts: Sequence[Dropout]
) -> Callable[..., Tensor]:
    """The same function, of which nothing but inputs and output is kept for the gradient.

    When the gradient is asked for, the function is computed once more. `keras.remat` by itself
    would draw other values to drop then: here each of `dropouts` draws its seed once, before.

    Args:
        function: of float tensors, which are all that a gradient goes to but variables.
        dropouts: the layers in it that draw chance, each called at most once.

    Returns:
        A function that may be called once.

    >>> from keras import ops
    >>> float(ops.sum(recomputed(ops.square, [])(ops.ones((2, 3)))))
    6.0
    """
    active = [dropout for dropout in dropouts if dropout.rate > 0]
    seeds = {id(dropout): dropout.seed_generator.next() for dropout in active}

    def with_seeds(*inputs: Tensor) -> Tensor:
        with drawn_seeds(seeds):
            return function(*inputs)

    return keras.remat(with_seeds)
