"""Absolute positions: the sinusoids of the 2017 paper, and learned ones as in BERT and GPT-2."""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformer.checks import check_at_least

Tensor = Any


def sinusoidal_table(length: int, hidden_size: int, dtype: str = "float64") -> np.ndarray:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(same) (Vaswani et al. 2017, 3.5).

    Sines and cosines interleave as in the paper; an odd width ends on a sine. Computed in float64:
    in half precision the angles at position 1,000 would be off by a whole radian.

    Returns:
        ``[length, hidden_size]``.

    >>> sinusoidal_table(3, 4)[2].round(4).tolist()
    [0.9093, -0.4161, 0.02, 0.9998]
    """
    pair = np.arange(hidden_size) // 2
    angle = np.arange(length)[:, None] / 10000.0 ** (2 * pair / hidden_size)[None, :]
    even = np.arange(hidden_size) % 2 == 0
    return np.where(even, np.sin(angle), np.cos(angle)).astype(dtype)


@keras.saving.register_keras_serializable("keras_transformer")
class SinusoidalPositions(keras.layers.Layer):
    """Adds sinusoidal position encodings to embeddings (Vaswani et al. 2017, 3.5).

    Works for every length; nothing is learned, so there is no table to run out of.

    Call args:
        inputs: ``[batch, length, hidden_size]``.
        positions: integer ``[length]`` or ``[batch, length]``; 0, 1, 2, ... by default.

    Returns:
        ``inputs`` plus the encodings, same shape and dtype.

    >>> encodings = SinusoidalPositions()(np.zeros((1, 3, 4), "float32"))
    >>> [round(float(x), 4) for x in encodings[0, 2]]
    [0.9093, -0.4161, 0.02, 0.9998]
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape: tuple) -> None:
        # Float32 at least, whatever the policy: angles of half precision are useless beyond a few
        # hundred.
        width = input_shape[-1]
        pair = np.arange(width) // 2
        self._frequencies = 10000.0 ** (-2.0 * pair / width)  # [hidden_size]
        # cos(x) = sin(x + pi/2): one sine serves both.
        self._phases = (np.arange(width) % 2) * (np.pi / 2)

    def call(self, inputs: Tensor, positions: Tensor | None = None) -> Tensor:
        dtype = keras.backend.result_type(inputs.dtype, "float32")
        if positions is None:
            positions = ops.arange(ops.shape(inputs)[1], dtype="int32")
        positions = ops.cast(positions, dtype)[..., None]  # [..., length, 1]
        angles = positions * ops.cast(self._frequencies, dtype)
        encodings = ops.sin(angles + ops.cast(self._phases, dtype))  # [..., length, hidden_size]
        return inputs + ops.cast(encodings, inputs.dtype)


@keras.saving.register_keras_serializable("keras_transformer")
class LearnedPositions(keras.layers.Layer):
    """Adds a learned vector for each position (Devlin et al. 2019, 3; Radford et al. 2019).

    Args:
        max_position_embeddings: number of positions in the table.
        initializer: initialiser of the table.

    Call args:
        inputs: ``[batch, length, hidden_size]``.
        positions: integer ``[length]`` or ``[batch, length]``; 0, 1, 2, ... by default.

    Raises:
        ValueError: when the inputs are longer than the table.

    >>> LearnedPositions(max_position_embeddings=8)(np.zeros((2, 5, 4), "float32")).shape
    TensorShape([2, 5, 4])
    """

    def __init__(
        self,
        max_position_embeddings: int,
        initializer: Any = "uniform",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_at_least(1, max_position_embeddings=max_position_embeddings)
        self.max_position_embeddings = max_position_embeddings
        self.initializer = keras.initializers.get(initializer)
        self.supports_masking = True

    def build(self, input_shape: tuple) -> None:
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.max_position_embeddings, input_shape[-1]),
            initializer=self.initializer,
        )

    def call(self, inputs: Tensor, positions: Tensor | None = None) -> Tensor:
        self.check_length(inputs.shape[1])
        if positions is None:
            # No look-up: on a GPU that of a position beyond the table gives zeros without a word,
            # while vectors too few do not fit the inputs on any device.
            vectors = self.embeddings[: ops.shape(inputs)[1]]  # [length, hidden_size]
        else:
            vectors = ops.take(self.embeddings, positions, axis=0)  # [..., length, hidden_size]
        return inputs + ops.cast(vectors, inputs.dtype)

    def compute_output_shape(self, input_shape: tuple) -> tuple:
        # Where an axis is unknown, Keras may else try the call with a length beyond the table.
        self.check_length(input_shape[1])
        return input_shape

    def check_length(self, length: int | None) -> None:
        """Refuses a length beyond the table, where it is known.

        Raises:
            ValueError: giving both numbers.
        """
        if length is not None and length > self.max_position_embeddings:
            raise ValueError(
                f"{self.name}: input of {length} positions, but the table ends at "
                f"max_position_embeddings={self.max_position_embeddings}; truncate the input "
                "or build the model with a larger table."
            )

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {
            "max_position_embeddings": self.max_position_embeddings,
            "initializer": keras.initializers.serialize(self.initializer),
        }
