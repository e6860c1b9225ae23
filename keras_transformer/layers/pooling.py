"""From a vector for each token to one for the whole text."""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.dense import Dense

Tensor = Any


@keras.saving.register_keras_serializable("keras_transformer")
class FirstTokenPooler(keras.layers.Layer):
    """The first token's vector through a dense layer and tanh: BERT's pooler (Devlin et al. 2019).

    Args:
        kernel_initializer: initialiser of the kernel.

    Call args:
        inputs: ``[batch, length, hidden_size]``.

    Returns:
        ``[batch, hidden_size]``.

    >>> FirstTokenPooler()(ops.ones((2, 5, 4))).shape
    TensorShape([2, 4])
    """

    def __init__(self, kernel_initializer: Any = "glorot_uniform", **kwargs: Any):
        super().__init__(**kwargs)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)

    def build(self, input_shape: tuple) -> None:
        hidden_size = input_shape[-1]
        self.dense = Dense(
            hidden_size,
            activation="tanh",
            kernel_initializer=self.kernel_initializer,
            dtype=self.dtype_policy,
            name="dense",
        )
        self.dense.build((None, hidden_size))

    def call(self, inputs: Tensor) -> Tensor:
        return self.dense(inputs[:, 0])  # [batch, hidden_size]

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer)
        }


def masked_mean(hidden: Tensor, mask: Tensor) -> Tensor:
    """The mean over the real tokens, in at least float32; zero where there is none.

    Args:
        hidden: ``[batch, length, hidden_size]``.
        mask: boolean ``[batch, length]``, ``True`` at real tokens.

    Returns:
        ``[batch, hidden_size]``.

    >>> masked_mean([[[1.0], [3.0], [100.0]]], [[True, True, False]]).numpy().tolist()
    [[2.0]]
    """
    hidden = ops.convert_to_tensor(hidden)
    dtype = keras.backend.result_type(keras.backend.standardize_dtype(hidden.dtype), "float32")
    mask = ops.convert_to_tensor(mask)[..., None]  # [batch, length, 1]
    # where, not a product: a value at padding may be anything, NaN too.
    total = ops.sum(ops.where(mask, ops.cast(hidden, dtype), ops.cast(0, dtype)), axis=1)
    count = ops.sum(ops.cast(mask, dtype), axis=1)  # [batch, 1]
    return total / ops.maximum(count, 1)  # [batch, hidden_size]


def unit_length(vectors: Tensor) -> Tensor:
    """Vectors divided by their length; a zero vector stays zero.

    Args:
        vectors: ``[..., width]``.

    >>> unit_length([[3.0, 4.0], [0.0, 0.0]]).numpy().round(4).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    vectors = ops.convert_to_tensor(vectors)
    squares = ops.sum(ops.square(vectors), axis=-1, keepdims=True)  # [..., 1]
    # The bound stands under the root, whose slope at zero is infinite.
    return vectors * ops.rsqrt(ops.maximum(squares, 1e-24))
