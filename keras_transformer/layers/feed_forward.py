"""The feed-forward network (Vaswani et al. 2017, 3.3) and its gated variants (Shazeer 2020)."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_transformer.checks import check_at_least
from keras_transformer.layers.dense import dense
from keras_transformer.layers.dropout import Dropout

Tensor = Any

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": ops.relu,
    "gelu": lambda x: ops.gelu(x, approximate=False),
    "gelu_tanh": lambda x: ops.gelu(x, approximate=True),
    "silu": ops.silu,
    "leaky_relu": lambda x: ops.leaky_relu(x, negative_slope=0.01),
    "sigmoid": ops.sigmoid,
    "tanh": ops.tanh,
}


def activation_function(name: str) -> Callable[[Tensor], Tensor]:
    """The function behind a ``hidden_act`` name.

    Raises:
        ValueError: for a name that is not in `ACTIVATIONS`.

    >>> float(activation_function("gelu")(ops.convert_to_tensor(2.0)))
    1.9544997215270996
    """
    if name not in ACTIVATIONS:
        raise ValueError(f"hidden_act must be one of {', '.join(ACTIVATIONS)}, not {name!r}.")
    return ACTIVATIONS[name]


@keras.saving.register_keras_serializable("keras_transformer")
class FeedForward(keras.layers.Layer):
    """Two linear maps with an activation between, applied to each position alone.

    Plain: ``act(x W1 + b1) W2 + b2``. Gated: ``(act(x Wg) * (x W1)) W2``.

    Args:
        intermediate_size: width between the two maps.
        hidden_act: one of relu, gelu (exact), gelu_tanh, silu, leaky_relu (slope 0.01), sigmoid,
            tanh.
        gated: whether a second input map gates the first (GLU family; silu gives SwiGLU).
        use_bias: whether the maps have biases.
        activation_dropout: rate of dropout after the activation.
        kernel_initializer: initialiser of the kernels.
        output_initializer: initialiser of the last kernel, ``kernel_initializer`` by default.

    Call args:
        inputs: ``[batch, length, hidden_size]``.

    Returns:
        Same shape as the inputs.

    >>> FeedForward(intermediate_size=32)(ops.ones((3, 4, 8))).shape
    TensorShape([3, 4, 8])
    """

    def __init__(
        self,
        intermediate_size: int,
        hidden_act: str = "relu",
        gated: bool = False,
        use_bias: bool = True,
        activation_dropout: float = 0.0,
        kernel_initializer: Any = "glorot_uniform",
        output_initializer: Any = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_at_least(1, intermediate_size=intermediate_size)
        self.intermediate_size = intermediate_size
        self.hidden_act = hidden_act
        self.activation = activation_function(hidden_act)
        self.gated = gated
        self.use_bias = use_bias
        self.activation_dropout = activation_dropout
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.output_initializer = keras.initializers.get(output_initializer)
        self.supports_masking = True

    def build(self, input_shape: tuple) -> None:
        hidden_size = input_shape[-1]
        inner_shape = (*input_shape[:-1], self.intermediate_size)
        options = {
            "use_bias": self.use_bias,
            "kernel_initializer": self.kernel_initializer,
            "dtype": self.dtype_policy,
        }
        self.input_dense = dense(self.intermediate_size, "input_dense", input_shape, **options)
        if self.gated:
            self.gate_dense = dense(self.intermediate_size, "gate_dense", input_shape, **options)
        options["kernel_initializer"] = self.output_initializer or self.kernel_initializer
        self.output_dense = dense(hidden_size, "output_dense", inner_shape, **options)
        self.dropout = Dropout(self.activation_dropout, dtype=self.dtype_policy)

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        hidden = self.input_dense(inputs)  # [batch, length, intermediate_size]
        if self.gated:
            hidden = hidden * self.activation(self.gate_dense(inputs))
        else:
            hidden = self.activation(hidden)
        return self.output_dense(self.dropout(hidden, training=training))

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {
            "intermediate_size": self.intermediate_size,
            "hidden_act": self.hidden_act,
            "gated": self.gated,
            "use_bias": self.use_bias,
            "activation_dropout": self.activation_dropout,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "output_initializer": keras.initializers.serialize(self.output_initializer),
        }
