"""The head that guesses masked tokens (Devlin et al. 2019, 3.1)."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_transformer.checks import check_at_least
from keras_transformer.layers.dense import Dense
from keras_transformer.layers.feed_forward import activation_function
from keras_transformer.layers.normalization import normalization

Tensor = Any


@keras.saving.register_keras_serializable("keras_transformer")
class MaskedTokenHead(keras.layers.Layer):
    """Dense, activation, LayerNorm, the token table as output projection, and a bias.

    Args:
        vocab_size: number of ids.
        hidden_act: activation, a name of `layers.feed_forward.ACTIVATIONS`.
        layer_norm_eps: epsilon of the norm.
        kernel_initializer: initialiser of the dense kernel.

    Call args:
        inputs: ``[batch, positions, hidden_size]``.
        project: the output projection, from ``[batch, positions, hidden_size]`` to logits
            ``[batch, positions, vocab_size]``: a `TokenEmbedding` in reverse.

    Returns:
        Logits ``[batch, positions, vocab_size]`` in the dtype that ``project`` gives.

    >>> head = MaskedTokenHead(vocab_size=10)
    >>> head(ops.ones((1, 2, 4)), project=lambda x: ops.matmul(x, ops.ones((4, 10)))).shape
    TensorShape([1, 2, 10])
    """

    def __init__(
        self,
        vocab_size: int,
        hidden_act: str = "gelu",
        layer_norm_eps: float = 1e-12,
        kernel_initializer: Any = "glorot_uniform",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_at_least(1, vocab_size=vocab_size)
        self.vocab_size = vocab_size
        self.hidden_act = hidden_act
        self.activation = activation_function(hidden_act)
        self.layer_norm_eps = layer_norm_eps
        self.kernel_initializer = keras.initializers.get(kernel_initializer)

    def build(self, input_shape: tuple) -> None:
        self.transform = Dense(
            input_shape[-1],
            kernel_initializer=self.kernel_initializer,
            dtype=self.dtype_policy,
            name="transform",
        )
        self.transform.build(input_shape)
        self.norm = normalization(
            "layer_norm", self.layer_norm_eps, dtype=self.dtype_policy, name="norm"
        )
        self.norm.build(input_shape)
        # autocast would round the bias to half precision before it meets the logits.
        self.bias = self.add_weight(
            name="bias", shape=(self.vocab_size,), initializer="zeros", autocast=False
        )

    def call(self, inputs: Tensor, project: Callable[[Tensor], Tensor]) -> Tensor:
        hidden = self.norm(self.activation(self.transform(inputs)))
        logits = project(hidden)  # [batch, positions, vocab_size]
        return logits + ops.cast(self.bias, logits.dtype)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {
            "vocab_size": self.vocab_size,
            "hidden_act": self.hidden_act,
            "layer_norm_eps": self.layer_norm_eps,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
        }


def take_positions(hidden: Tensor, positions: Tensor) -> Tensor:
    """The vectors at some positions of each row.

    Args:
        hidden: ``[batch, length, hidden_size]``.
        positions: integer ``[batch, chosen]``, each from 0 to ``length - 1``.

    Returns:
        ``[batch, chosen, hidden_size]``.

    >>> take_positions([[[1.0], [2.0], [3.0]]], [[2, 0]]).numpy().tolist()
    [[[3.0], [1.0]]]
    """
    hidden = ops.convert_to_tensor(hidden)
    positions = ops.cast(positions, "int32")
    batch, length = ops.shape(hidden)[0], ops.shape(hidden)[1]
    width = hidden.shape[-1]
    starts = ops.arange(batch, dtype="int32")[:, None] * length  # [batch, 1]
    # A position outside of its row must not read a neighbour's: it goes beyond all rows, which
    # TensorFlow refuses.
    inside = ops.logical_and(positions >= 0, positions < length)
    places = ops.where(inside, starts + positions, batch * length)  # [batch, chosen]
    flat = ops.reshape(hidden, (-1, width))  # [batch * length, hidden_size]
    return ops.take(flat, places, axis=0)  # [batch, chosen, hidden_size]
