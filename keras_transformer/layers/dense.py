"""The dense map of all layers."""

from typing import Any

import keras
from keras import ops

Tensor = Any


class Dense(keras.layers.Dense):
    """Keras' Dense, computed on rows: ``[..., width]`` is one matrix product whatever its rank.

    For more than two axes Keras goes by a general tensor contraction, which on TensorFlow is a
    dozen small operations about the product. In a decoding step they cost more than the product.

    >>> Dense(3)(ops.ones((2, 5, 4))).shape
    TensorShape([2, 5, 3])
    """

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        if len(inputs.shape) == 2:
            return super().call(inputs, training=training)
        rows = ops.reshape(inputs, (-1, inputs.shape[-1]))  # [..., width] -> [rows, width]
        outputs = super().call(rows, training=training)  # [rows, units]
        return ops.reshape(outputs, (*leading_shape(inputs), self.units))  # [..., units]


def leading_shape(tensor: Tensor) -> tuple[Any, ...]:
    """All sizes but the last, as plain numbers where they are known; one unknown becomes -1."""
    known = tensor.shape[:-1]
    if sum(size is None for size in known) == 1:
        return tuple(-1 if size is None else size for size in known)
    return tuple(ops.shape(tensor)[:-1])


def dense(
    units: int,
    name: str,
    input_shape: tuple,
    *,
    use_bias: bool,
    kernel_initializer: Any,
    dtype: Any,
) -> Dense:
    """A built `Dense` with an initialiser of its own."""
    layer = Dense(
        units,
        use_bias=use_bias,
        kernel_initializer=kernel_initializer.clone(),
        dtype=dtype,
        name=name,
    )
    layer.build(input_shape)
    return layer
