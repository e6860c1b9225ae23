"""Rotary positions: queries and keys are turned by an angle that grows with their position."""

from typing import Any

import keras
import numpy as np
from keras import ops

Tensor = Any


@keras.saving.register_keras_serializable("keras_transformer")
class RotaryPositions(keras.layers.Layer):
    """Rotates pairs of features by position-dependent angles (Su et al. 2021, 3.2.2).

    A dot product of two rotated vectors depends on the distance of their positions only. Feature
    ``i`` is paired with feature ``i + dim/2``, as in Llama.

    Args:
        theta: base of the frequencies, ``theta ** (-2i / dim)``.

    Call args:
        inputs: queries or keys ``[batch, heads, length, dim]``, ``dim`` even.
        positions: integer ``[length]`` or ``[batch, length]``; 0, 1, 2, ... by default.

    Returns:
        The rotated tensor, same shape and dtype; angles are computed in at least float32.

    Raises:
        ValueError: when ``dim`` is odd.

    >>> RotaryPositions()(np.ones((1, 1, 2, 2), "float32")).numpy()[0, 0, 0].tolist()
    [1.0, 1.0]
    """

    def __init__(self, theta: float = 10000.0, **kwargs: Any):
        super().__init__(**kwargs)
        if theta <= 0:
            raise ValueError(f"theta must be positive, not {theta}.")
        self.theta = theta

    def build(self, input_shape: tuple) -> None:
        if input_shape[-1] % 2:
            raise ValueError(
                "Rotary positions turn pairs of features: the head width must be even, "
                f"not {input_shape[-1]}."
            )

    def call(self, inputs: Tensor, positions: Tensor | None = None) -> Tensor:
        dim = inputs.shape[-1]
        dtype = keras.backend.result_type(inputs.dtype, "float32")
        if positions is None:
            positions = ops.arange(ops.shape(inputs)[2], dtype="int32")
        frequencies = ops.cast(self.theta ** (-2.0 * np.arange(dim // 2) / dim), dtype)
        angles = ops.cast(positions, dtype)[..., None] * frequencies  # [..., length, dim / 2]
        if len(angles.shape) == 3:
            angles = angles[:, None]  # [batch, 1, length, dim / 2]
        cos, sin = ops.cos(angles), ops.sin(angles)
        first, second = ops.split(ops.cast(inputs, dtype), 2, axis=-1)
        rotated = ops.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)
        return ops.cast(rotated, inputs.dtype)  # [batch, heads, length, dim]

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"theta": self.theta}
