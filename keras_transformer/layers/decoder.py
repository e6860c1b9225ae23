"""The decoder: a stack of layers that also attend to the encoder (Vaswani et al. 2017, 3.1)."""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.block import TransformerBlock, TransformerStack
from keras_transformer.layers.cache import KeyValueCache, ProjectedMemory
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.masks import causal_mask, combine_masks

Tensor = Any


@keras.saving.register_keras_serializable("keras_transformer")
class DecoderLayer(TransformerBlock):
    """Self-attention, attention to an encoder, feed-forward, each in a residual connection.

    Args:
        cross_attention: whether the layer attends to an encoder; without, it is a decoder-only
            layer.
        others: those of `layers.block.TransformerBlock`.

    Call args:
        inputs: ``[batch, length, hidden_size]``.
        memory: the encoder's output ``[batch, source_length, hidden_size]``, or its
            `ProjectedMemory`.
        attention_mask: boolean mask of the self-attention, ``True`` = may be attended.
        memory_mask: boolean mask of the source, ``[batch, source_length]``.
        use_causal_mask: whether a position sees only itself and what came before; off with a cache,
            where ``attention_mask`` says which cached positions count.
        positions: integer ``[length]`` or ``[batch, length]``, for rotary positions.
        cache: `KeyValueCache` of the self-attention, for incremental decoding.
        cache_index: int32 scalar, where the cache is written.

    Returns:
        Same shape as the inputs; with a cache, a tuple with the updated cache.

    >>> layer = DecoderLayer(num_heads=2, intermediate_size=16)
    >>> layer(ops.ones((1, 3, 8)), ops.ones((1, 5, 8))).shape
    TensorShape([1, 3, 8])
    """

    def __init__(
        self, num_heads: int, intermediate_size: int, cross_attention: bool = True, **kwargs: Any
    ):
        super().__init__(num_heads, intermediate_size, **kwargs)
        self.cross_attention_on = cross_attention

    def build(self, input_shape: tuple) -> None:
        hidden_size = input_shape[-1]
        self.self_attention = self._attention(hidden_size, "self_attention", relative=True)
        self.self_attention_residual = self._residual(hidden_size, "self_attention_residual")
        if self.cross_attention_on:
            self.cross_attention = self._attention(hidden_size, "cross_attention", relative=False)
            self.cross_attention_residual = self._residual(hidden_size, "cross_attention_residual")
        self.feed_forward = self._feed_forward(hidden_size)
        self.feed_forward_residual = self._residual(hidden_size, "feed_forward_residual")

    def call(
        self,
        inputs: Tensor,
        memory: Tensor | ProjectedMemory | None = None,
        mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        use_causal_mask: bool = True,
        positions: Tensor | None = None,
        cache: KeyValueCache | None = None,
        cache_index: Tensor | None = None,
        training: bool | None = None,
    ) -> Any:
        if self.cross_attention_on and memory is None:
            raise ValueError(
                f"{self.name} attends to an encoder: give `memory`, or build it with "
                "cross_attention=False."
            )
        if cache is None:
            attention_mask = combine_masks(attention_mask, mask)
        memory_mask = _given(memory_mask)

        def attend_to_self(hidden: Tensor) -> Any:
            return self.self_attention(
                hidden,
                attention_mask=attention_mask,
                use_causal_mask=use_causal_mask and cache is None,
                positions=positions,
                cache=cache,
                cache_index=cache_index,
                training=training,
            )

        def attend_to_memory(hidden: Tensor) -> Tensor:
            return self.cross_attention(
                hidden, memory, attention_mask=memory_mask, training=training
            )

        hidden = self.self_attention_residual(inputs, sublayer=attend_to_self, training=training)
        hidden, *caches = hidden if cache is not None else (hidden,)
        if self.cross_attention_on:
            hidden = self.cross_attention_residual(
                hidden, sublayer=attend_to_memory, training=training
            )
        hidden = self.feed_forward_residual(
            hidden, sublayer=lambda h: self.feed_forward(h, training=training), training=training
        )
        return (hidden, *caches) if caches else hidden

    def dropouts(self) -> list[Dropout]:
        found = super().dropouts()
        if self.cross_attention_on:
            found += [self.cross_attention.dropout, self.cross_attention_residual.dropout]
        return found

    def options(self) -> dict[str, Any]:
        return super().options() | {"cross_attention": self.cross_attention_on}


@keras.saving.register_keras_serializable("keras_transformer")
class Decoder(TransformerStack):
    """A stack of `DecoderLayer`.

    Args:
        num_layers: number of layers.
        final_norm: whether one more norm stands at the end, as pre-norm stacks need.
        recompute: whether training computes each layer twice, to save memory; see
            `layers.block.TransformerStack`.
        layer_options: the arguments of each layer, those of `DecoderLayer`.

    Call args:
        inputs: ``[batch, length, hidden_size]``.
        memory: the encoder's output ``[batch, source_length, hidden_size]``, or with caches a
            `ProjectedMemory` for each layer.
        attention_mask: boolean mask of the self-attention, ``True`` = may be attended.
        memory_mask: boolean mask of the source, ``[batch, source_length]``.
        use_causal_mask: whether a position sees only itself and what came before.
        positions: integer ``[length]`` or ``[batch, length]``, for rotary positions.
        caches: a `KeyValueCache` for each layer, for incremental decoding.
        cache_index: int32 scalar, where the caches are written.

    Returns:
        Same shape as the inputs; with caches, a tuple with the updated caches.

    >>> decoder = Decoder(num_layers=2, num_heads=2, intermediate_size=16)
    >>> decoder(ops.ones((1, 3, 8)), ops.ones((1, 5, 8))).shape
    TensorShape([1, 3, 8])
    """

    layer_class = DecoderLayer

    def call(
        self,
        inputs: Tensor,
        memory: Any = None,
        mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        use_causal_mask: bool = True,
        positions: Tensor | None = None,
        caches: tuple[KeyValueCache, ...] | None = None,
        cache_index: Tensor | None = None,
        training: bool | None = None,
    ) -> Any:
        if caches is None:
            attention_mask = combine_masks(attention_mask, mask)
            if use_causal_mask:  # built once for all layers
                causal = causal_mask(ops.shape(inputs)[1])
                attention_mask = combine_masks(attention_mask, causal)
        memory_mask = _given(memory_mask)
        hidden, new_caches = inputs, []
        for i, layer in enumerate(self.layers):
            hidden = self._run(
                layer,
                hidden,
                memory if caches is None or memory is None else memory[i],
                attention_mask=attention_mask,
                memory_mask=memory_mask,
                use_causal_mask=False,
                positions=positions,
                cache=None if caches is None else caches[i],
                cache_index=cache_index,
                training=training,
            )
            if caches is not None:
                hidden, cache = hidden
                new_caches.append(cache)
        hidden = self.norm(hidden) if self.final_norm else hidden
        return hidden if caches is None else (hidden, tuple(new_caches))

    def project_memory(self, memory: Tensor) -> tuple[ProjectedMemory, ...]:
        """The encoder's output as keys and values of each layer, computed once for all steps."""
        return tuple(layer.cross_attention.project_memory(memory) for layer in self.layers)

    def empty_caches(
        self, batch_size: Tensor | int, length: Tensor | int, beams: int = 1
    ) -> tuple[KeyValueCache, ...]:
        """A cache for each layer."""
        return tuple(
            layer.self_attention.empty_cache(batch_size, length, beams) for layer in self.layers
        )


def _given(memory_mask: Any) -> Any:
    """Keras fills in a mask in the memory's structure: projected ones have none."""
    return None if isinstance(memory_mask, tuple) else memory_mask
