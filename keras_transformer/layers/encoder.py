"""The encoder: a stack of self-attention and feed-forward layers (Vaswani et al. 2017, 3.1)."""

from typing import Any

import keras

from keras_transformer.layers.block import TransformerBlock, TransformerStack
from keras_transformer.layers.masks import combine_masks

Tensor = Any


@keras.saving.register_keras_serializable("keras_transformer")
class EncoderLayer(TransformerBlock):
    """Self-attention, then the feed-forward network, each in a residual connection.

    Its arguments are those of `layers.block.TransformerBlock`.

    Call args:
        inputs: ``[batch, length, hidden_size]``.
        attention_mask: boolean, ``True`` = may be attended; ``[batch, length]`` or any shape that
            `MultiHeadAttention` takes.
        positions: integer ``[length]`` or ``[batch, length]``, for rotary positions.

    Returns:
        Same shape as the inputs.

    >>> from keras import ops
    >>> EncoderLayer(num_heads=2, intermediate_size=16)(ops.ones((1, 3, 8))).shape
    TensorShape([1, 3, 8])
    """

    def build(self, input_shape: tuple) -> None:
        hidden_size = input_shape[-1]
        self.self_attention = self._attention(hidden_size, "self_attention", relative=True)
        self.self_attention_residual = self._residual(hidden_size, "self_attention_residual")
        self.feed_forward = self._feed_forward(hidden_size)
        self.feed_forward_residual = self._residual(hidden_size, "feed_forward_residual")

    def call(
        self,
        inputs: Tensor,
        mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
        positions: Tensor | None = None,
        training: bool | None = None,
    ) -> Tensor:
        attention_mask = combine_masks(attention_mask, mask)

        def attend(hidden: Tensor) -> Tensor:
            return self.self_attention(
                hidden, attention_mask=attention_mask, positions=positions, training=training
            )

        hidden = self.self_attention_residual(inputs, sublayer=attend, training=training)
        return self.feed_forward_residual(
            hidden, sublayer=lambda h: self.feed_forward(h, training=training), training=training
        )


@keras.saving.register_keras_serializable("keras_transformer")
class Encoder(TransformerStack):
    """A stack of `EncoderLayer`.

    Args:
        num_layers: number of layers.
        final_norm: whether one more norm stands at the end, as pre-norm stacks need.
        recompute: whether training computes each layer twice, to save memory; see
            `layers.block.TransformerStack`.
        layer_options: the arguments of each layer, those of `layers.block.TransformerBlock`.

    Call args:
        inputs: ``[batch, length, hidden_size]``.
        attention_mask: boolean, ``True`` = may be attended; ``[batch, length]`` or any shape that
            `MultiHeadAttention` takes.
        positions: integer ``[length]`` or ``[batch, length]``, for rotary positions.

    Returns:
        Same shape as the inputs.

    >>> from keras import ops
    >>> encoder = Encoder(num_layers=2, num_heads=2, intermediate_size=16)
    >>> encoder(ops.ones((1, 3, 8)), attention_mask=ops.ones((1, 3), "bool")).shape
    TensorShape([1, 3, 8])
    """

    layer_class = EncoderLayer

    def call(
        self,
        inputs: Tensor,
        mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
        positions: Tensor | None = None,
        training: bool | None = None,
    ) -> Tensor:
        attention_mask = combine_masks(attention_mask, mask)
        hidden = inputs
        for layer in self.layers:
            hidden = self._run(
                layer,
                hidden,
                attention_mask=attention_mask,
                positions=positions,
                training=training,
            )
        return self.norm(hidden) if self.final_norm else hidden
