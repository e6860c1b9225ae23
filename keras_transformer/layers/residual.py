"""Residual connection, normalisation and dropout around a sublayer, written once for all."""

from collections.abc import Callable
from typing import Any

import keras

from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.normalization import normalization

Tensor = Any


@keras.saving.register_keras_serializable("keras_transformer")
class ResidualConnection(keras.layers.Layer):
    """``norm(x + dropout(sublayer(x)))``, or pre-norm: ``x + dropout(sublayer(norm(x)))``.

    Post-norm is the 2017 paper's order (5.4); pre-norm (Xiong et al. 2020) trains without long
    warm-up.

    Args:
        norm_first: whether the norm stands before the sublayer instead of after the sum.
        norm: "layer_norm" or "rms_norm".
        layer_norm_eps: epsilon of the norm.
        dropout: rate of dropout on the sublayer's output.

    Call args:
        inputs: ``[batch, length, hidden_size]``.
        sublayer: function of the (perhaps normalised) inputs. It gives a tensor of the same shape,
            or a tuple of such a tensor and something else that is handed through.

    Returns:
        What the sublayer gave, with its tensor replaced by the connected one.

    >>> from keras import ops
    >>> ResidualConnection()(ops.ones((1, 2, 4)), sublayer=lambda x: 2 * x).shape
    TensorShape([1, 2, 4])
    """

    def __init__(
        self,
        norm_first: bool = False,
        norm: str = "layer_norm",
        layer_norm_eps: float = 1e-6,
        dropout: float = 0.0,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.norm_kind = norm
        self.layer_norm_eps = layer_norm_eps
        self.dropout_rate = dropout
        self.norm = normalization(norm, layer_norm_eps, dtype=self.dtype_policy, name="norm")
        self.dropout = Dropout(dropout, dtype=self.dtype_policy)
        self.supports_masking = True

    def build(self, input_shape: tuple) -> None:
        self.norm.build(input_shape)

    def call(
        self, inputs: Tensor, sublayer: Callable[[Tensor], Any], training: bool | None = None
    ) -> Any:
        result = sublayer(self.norm(inputs) if self.norm_first else inputs)
        output, *others = result if isinstance(result, tuple) else (result,)
        output = inputs + self.dropout(output, training=training)
        if not self.norm_first:
            output = self.norm(output)
        return (output, *others) if others else output

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {
            "norm_first": self.norm_first,
            "norm": self.norm_kind,
            "layer_norm_eps": self.layer_norm_eps,
            "dropout": self.dropout_rate,
        }
