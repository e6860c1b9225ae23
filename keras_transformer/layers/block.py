"""What encoder and decoder have in common: the options of a layer, its parts, and the stack."""

from typing import Any

import keras

from keras_transformer.checks import check_at_least
from keras_transformer.layers.attention import MultiHeadAttention, as_layer
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.feed_forward import FeedForward, activation_function
from keras_transformer.layers.normalization import check_normalization, normalization
from keras_transformer.layers.recomputation import recomputed
from keras_transformer.layers.residual import ResidualConnection


class TransformerBlock(keras.layers.Layer):
    """Base of `EncoderLayer` and `DecoderLayer`; not a layer to use by itself.

    Args:
        num_heads: number of attention heads; must divide the width of the inputs.
        intermediate_size: inner width of the feed-forward network.
        num_key_value_heads: key/value heads of self-attention (GQA, MQA), ``num_heads`` by default.
        hidden_act: activation of the feed-forward network, a name of
            `layers.feed_forward.ACTIVATIONS`.
        gated: whether the feed-forward network is gated (SwiGLU with hidden_act="silu").
        norm_first: pre-norm instead of the 2017 paper's post-norm.
        norm: "layer_norm" or "rms_norm".
        layer_norm_eps: epsilon of the norms.
        use_bias: whether attention projections and feed-forward maps have biases.
        hidden_dropout: rate of dropout on the output of each sublayer.
        attention_dropout: rate of dropout on attention weights.
        activation_dropout: rate of dropout inside the feed-forward network.
        rotary: `RotaryPositions` for self-attention, or ``None``.
        position_bias: relative position bias for self-attention, or ``None``.
        kernel_initializer: initialiser of all kernels.
        output_initializer: initialiser of those kernels whose output is added to the residual
            stream (the last of attention and of the feed-forward network), ``kernel_initializer``
            by default.
    """

    def __init__(
        self,
        num_heads: int,
        intermediate_size: int,
        num_key_value_heads: int | None = None,
        hidden_act: str = "relu",
        gated: bool = False,
        norm_first: bool = False,
        norm: str = "layer_norm",
        layer_norm_eps: float = 1e-6,
        use_bias: bool = True,
        hidden_dropout: float = 0.0,
        attention_dropout: float = 0.0,
        activation_dropout: float = 0.0,
        rotary: Any = None,
        position_bias: Any = None,
        kernel_initializer: Any = "glorot_uniform",
        output_initializer: Any = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        # Bad values are refused here, not when the parts are built at the first call.
        check_at_least(1, num_heads=num_heads, intermediate_size=intermediate_size)
        activation_function(hidden_act)
        check_normalization(norm)
        self.num_heads = num_heads
        self.intermediate_size = intermediate_size
        self.num_key_value_heads = num_key_value_heads
        self.hidden_act = hidden_act
        self.gated = gated
        self.norm_first = norm_first
        self.norm = norm
        self.layer_norm_eps = layer_norm_eps
        self.use_bias = use_bias
        self.hidden_dropout = hidden_dropout
        self.attention_dropout = attention_dropout
        self.activation_dropout = activation_dropout
        self.rotary = as_layer(rotary)
        self.position_bias = as_layer(position_bias)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.output_initializer = keras.initializers.get(output_initializer)
        self.supports_masking = True

    def _attention(self, hidden_size: int, name: str, relative: bool) -> MultiHeadAttention:
        if hidden_size % self.num_heads:
            raise ValueError(
                f"num_heads={self.num_heads} must divide the width of the inputs, {hidden_size}."
            )
        attention = MultiHeadAttention(
            num_heads=self.num_heads,
            key_dim=hidden_size // self.num_heads,
            num_key_value_heads=self.num_key_value_heads,
            dropout=self.attention_dropout,
            use_bias=self.use_bias,
            rotary=self.rotary if relative else None,
            position_bias=self.position_bias if relative else None,
            kernel_initializer=self.kernel_initializer,
            output_initializer=self.output_initializer,
            dtype=self.dtype_policy,
            name=name,
        )
        attention.build((None, None, hidden_size))
        return attention

    def _feed_forward(self, hidden_size: int) -> FeedForward:
        feed_forward = FeedForward(
            intermediate_size=self.intermediate_size,
            hidden_act=self.hidden_act,
            gated=self.gated,
            use_bias=self.use_bias,
            activation_dropout=self.activation_dropout,
            kernel_initializer=self.kernel_initializer,
            output_initializer=self.output_initializer,
            dtype=self.dtype_policy,
            name="feed_forward",
        )
        feed_forward.build((None, None, hidden_size))
        return feed_forward

    def _residual(self, hidden_size: int, name: str) -> ResidualConnection:
        residual = ResidualConnection(
            norm_first=self.norm_first,
            norm=self.norm,
            layer_norm_eps=self.layer_norm_eps,
            dropout=self.hidden_dropout,
            dtype=self.dtype_policy,
            name=name,
        )
        residual.build((None, None, hidden_size))
        return residual

    def dropouts(self) -> list[Dropout]:
        """Everything in the layer that draws chance, once in a call."""
        parts = [self.self_attention, self.self_attention_residual]
        parts += [self.feed_forward, self.feed_forward_residual]
        return [part.dropout for part in parts]

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | self.options()

    def options(self) -> dict[str, Any]:
        """The arguments of this class, in a form that can be written to a file."""
        return {
            "num_heads": self.num_heads,
            "intermediate_size": self.intermediate_size,
            "num_key_value_heads": self.num_key_value_heads,
            "hidden_act": self.hidden_act,
            "gated": self.gated,
            "norm_first": self.norm_first,
            "norm": self.norm,
            "layer_norm_eps": self.layer_norm_eps,
            "use_bias": self.use_bias,
            "hidden_dropout": self.hidden_dropout,
            "attention_dropout": self.attention_dropout,
            "activation_dropout": self.activation_dropout,
            "rotary": keras.saving.serialize_keras_object(self.rotary),
            "position_bias": keras.saving.serialize_keras_object(self.position_bias),
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "output_initializer": keras.initializers.serialize(self.output_initializer),
        }


class TransformerStack(keras.layers.Layer):
    """Base of `Encoder` and `Decoder`: equal layers one after the other.

    Args:
        num_layers: number of layers.
        final_norm: whether one more norm stands at the end, as pre-norm stacks need.
        recompute: whether training keeps nothing but the layers' inputs, and computes each layer
            once more for the gradient: less memory, more time, the same numbers. It may be set
            later, too, before the first training step.
        layer_options: the arguments of each layer, those of `TransformerBlock`.
    """

    layer_class: type[TransformerBlock]

    def __init__(
        self,
        num_layers: int,
        final_norm: bool = False,
        recompute: bool = False,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
        **layer_options: Any,
    ):
        super().__init__(name=name, dtype=dtype, trainable=trainable)
        check_at_least(1, num_layers=num_layers)
        # One instance for all layers: a position bias is learned once for the whole stack, as in
        # T5.
        for part in ("rotary", "position_bias"):
            layer_options[part] = as_layer(layer_options.get(part))
        self.num_layers = num_layers
        self.layers = [
            self.layer_class(**layer_options, dtype=self.dtype_policy, name=f"layer_{i}")
            for i in range(num_layers)
        ]
        self.final_norm = final_norm
        self.recompute = recompute
        self.supports_masking = True

    def build(self, input_shape: tuple) -> None:
        for layer in self.layers:
            layer.build(input_shape)
        if self.final_norm:
            first = self.layers[0]
            self.norm = normalization(
                first.norm, first.layer_norm_eps, dtype=self.dtype_policy, name="norm"
            )
            self.norm.build(input_shape)

    def _run(
        self, layer: TransformerBlock, *states: Any, training: bool | None, **options: Any
    ) -> Any:
        """What a layer makes of hidden states, which may be None; the options need no gradient."""
        if not (self.recompute and training):
            return layer(*states, training=training, **options)
        given = [state for state in states if state is not None]

        def run(*given: Any) -> Any:
            left = iter(given)
            inputs = [None if state is None else next(left) for state in states]
            return layer(*inputs, training=training, **options)

        return recomputed(run, layer.dropouts())(*given)

    def get_config(self) -> dict[str, Any]:
        stack = {
            "num_layers": self.num_layers,
            "final_norm": self.final_norm,
            "recompute": self.recompute,
        }
        return super().get_config() | stack | self.layers[0].options()
