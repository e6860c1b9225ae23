"""Rotary positions: queries and keys are turned by an angle that grows with their position."""

from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from keras_transformer.layers.rotary_scaling import check_scaling, rotary_frequencies

Tensor = Any


@keras.saving.register_keras_serializable("keras_transformer")
class RotaryPositions(keras.layers.Layer):
    """Rotates pairs of features by position-dependent angles (Su et al. 2021, 3.2.2).

    A dot product of two rotated vectors depends on the distance of their positions only. Feature
    ``i`` is paired with feature ``i + dim/2``, as in Llama.

    Args:
        theta: base of the frequencies, ``theta ** (-2i / dim)``.
        scaling: how the frequencies are stretched for longer texts, as the ``rope_scaling`` of a
            `config.json` has it: ``{"rope_type": "linear", "factor": 2.0}``, or "llama3" with its
            four numbers (see `layers.rotary_scaling`); not at all by default.

    Call args:
        inputs: queries or keys ``[batch, heads, length, dim]``, ``dim`` even.
        positions: integer ``[length]`` or ``[batch, length]``; 0, 1, 2, ... by default.

    Returns:
        The rotated tensor, same shape and dtype; angles are computed in at least float32.

    Raises:
        ValueError: when ``dim`` is odd, or for a scaling that there is not.

    >>> RotaryPositions()(ops.ones((1, 1, 2, 2))).numpy()[0, 0, 0].tolist()
    [1.0, 1.0]
    """

    def __init__(
        self, theta: float = 10000.0, scaling: Mapping[str, Any] | None = None, **kwargs: Any
    ):
        super().__init__(**kwargs)
        if theta <= 0:
            raise ValueError(f"theta must be positive, not {theta}.")
        check_scaling(scaling)
        self.theta = theta
        self.scaling = None if scaling is None else dict(scaling)

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
        frequencies = ops.cast(rotary_frequencies(dim, self.theta, self.scaling), dtype)
        angles = ops.cast(positions, dtype)[..., None] * frequencies  # [..., length, dim / 2]
        if len(angles.shape) == 3:
            angles = angles[:, None]  # [batch, 1, length, dim / 2]
        cos, sin = ops.cos(angles), ops.sin(angles)
        first, second = ops.split(ops.cast(inputs, dtype), 2, axis=-1)
        rotated = ops.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)
        return ops.cast(rotated, inputs.dtype)  # [batch, heads, length, dim]

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"theta": self.theta, "scaling": self.scaling}
