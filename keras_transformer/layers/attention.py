"""Multi-head attention: one layer for self and cross, MHA, GQA and MQA, cached and not."""

from typing import Any

import keras
from keras import ops

from keras_transformer.checks import check_at_least
from keras_transformer.layers.cache import KeyValueCache, ProjectedMemory
from keras_transformer.layers.capture import record_attention
from keras_transformer.layers.dense import dense
from keras_transformer.layers.dot_product_attention import dot_product_attention
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.masks import causal_mask, combine_masks

Tensor = Any


@keras.saving.register_keras_serializable("keras_transformer")
class MultiHeadAttention(keras.layers.Layer):
    """Multi-head attention (Vaswani et al. 2017, 3.2.2), with the arguments of Keras' own layer.

    Args:
        num_heads: number of query heads.
        key_dim: width of a query and key head.
        num_key_value_heads: number of key/value heads, a divisor of ``num_heads``: as many for MHA
            (default), 1 for MQA (Shazeer 2019), between for GQA (Ainslie et al. 2023).
        value_dim: width of a value head, ``key_dim`` by default.
        output_dim: width of the output, the query's by default.
        dropout: rate of dropout on the attention weights.
        use_bias: whether the four projections have biases.
        rotary: a `RotaryPositions` layer that turns queries and keys, or ``None``.
        position_bias: a layer that gives a bias on the scores from query and key positions
            (`BucketedPositionBias`, `AlibiPositionBias`), or ``None``. Several layers may share
            one; a ``.keras`` file keeps that within an `Encoder` or `Decoder`, but not between
            layers that were put together by hand.
        kernel_initializer: initialiser of the projections.
        output_initializer: initialiser of the output projection, ``kernel_initializer`` by default.

    Call args:
        query: ``[batch, queries, width]``.
        value: ``[batch, keys, width]``; the query itself by default (self-attention), or a
            `ProjectedMemory` from `project_memory`.
        key: ``[batch, keys, width]``, the value by default.
        attention_mask: boolean, ``True`` = may be attended; ``[batch, keys]``, ``[batch, queries,
            keys]`` or ``[batch, heads, queries, keys]``.
        use_causal_mask: whether a query sees only keys up to its own position.
        return_attention_scores: whether the weights are returned too.
        positions: integer ``[queries]`` or ``[batch, queries]`` for ``rotary``; 0, 1, 2, ... by
            default.
        cache: a `KeyValueCache` for incremental self-attention: the new keys are written at
            ``cache_index`` and the query attends to the whole cache. The queries are then
            ``steps * beams`` positions, and ``attention_mask`` must say which cached positions
            count.
        cache_index: int32 scalar, position of the first new key in the cache.

    Returns:
        ``[batch, queries, output_dim]``; with ``return_attention_scores`` a tuple with the weights
        ``[batch, heads, queries, keys]`` (at least float32, before dropout); with ``cache`` a tuple
        with the updated cache. A query that may attend to nothing gets the output of a zero
        context.

    Raises:
        ValueError: for sizes that cannot work.

    >>> attention = MultiHeadAttention(num_heads=2, key_dim=4)
    >>> attention(ops.ones((1, 3, 8)), use_causal_mask=True).shape
    TensorShape([1, 3, 8])
    """

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        num_key_value_heads: int | None = None,
        value_dim: int | None = None,
        output_dim: int | None = None,
        dropout: float = 0.0,
        use_bias: bool = True,
        rotary: Any = None,
        position_bias: Any = None,
        kernel_initializer: Any = "glorot_uniform",
        output_initializer: Any = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        kv_heads = num_heads if num_key_value_heads is None else num_key_value_heads
        check_at_least(1, num_heads=num_heads, key_dim=key_dim, num_key_value_heads=kv_heads)
        if num_heads % kv_heads:
            raise ValueError(
                f"num_key_value_heads={kv_heads} must divide num_heads={num_heads}: "
                "each key/value head serves the same number of query heads."
            )
        self.num_heads = num_heads
        self.key_dim = key_dim
        self.num_key_value_heads = kv_heads
        self.value_dim = value_dim or key_dim
        self.output_dim = output_dim
        self.dropout_rate = dropout
        self.use_bias = use_bias
        self.rotary = as_layer(rotary)
        self.position_bias = as_layer(position_bias)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.output_initializer = keras.initializers.get(output_initializer)
        self.dropout = Dropout(dropout, dtype=self.dtype_policy)
        self.supports_masking = True

    def build(
        self, query_shape: tuple, value_shape: tuple | None = None, key_shape: tuple | None = None
    ) -> None:
        value_shape = value_shape or query_shape
        key_shape = key_shape or value_shape
        context_shape = (None, None, self.num_heads * self.value_dim)
        options = {
            "use_bias": self.use_bias,
            "kernel_initializer": self.kernel_initializer,
            "dtype": self.dtype_policy,
        }
        kv_heads = self.num_key_value_heads
        self.query_dense = dense(self.num_heads * self.key_dim, "query", query_shape, **options)
        self.key_dense = dense(kv_heads * self.key_dim, "key", key_shape, **options)
        self.value_dense = dense(kv_heads * self.value_dim, "value", value_shape, **options)
        output_dim = self.output_dim or query_shape[-1]
        options["kernel_initializer"] = self.output_initializer or self.kernel_initializer
        self.output_dense = dense(output_dim, "output", context_shape, **options)
        if self.rotary is not None and not self.rotary.built:
            self.rotary.build((None, self.num_heads, None, self.key_dim))
        if self.position_bias is not None and not self.position_bias.built:
            self.position_bias.build((None,), (None,))

    def call(
        self,
        query: Tensor,
        value: Tensor | ProjectedMemory | None = None,
        key: Tensor | None = None,
        query_mask: Tensor | None = None,
        value_mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
        use_causal_mask: bool = False,
        return_attention_scores: bool = False,
        positions: Tensor | None = None,
        cache: KeyValueCache | None = None,
        cache_index: Tensor | None = None,
        training: bool | None = None,
    ) -> Any:
        # Of the masks that Keras attaches to embeddings those of the keys count. (A lone query's
        # comes as `mask`, beside other tensors as `query_mask`.) A cache or a projected memory
        # carries none: there the caller's attention_mask says it all.
        implicit_mask = combine_masks(mask, query_mask) if value is None else value_mask
        if cache is not None or isinstance(value, ProjectedMemory):
            implicit_mask = None
        if cache is not None and (attention_mask is None or cache_index is None or use_causal_mask):
            raise ValueError(
                f"{self.name}: with a cache give cache_index, and an attention_mask that says "
                "cached positions each query may attend to, instead of use_causal_mask."
            )
        queries = _split_heads(
            self.query_dense(query), self.num_heads
        )  # [batch, heads, queries, key_dim]
        values_were_projected = cache is not None or isinstance(value, ProjectedMemory)
        if isinstance(value, ProjectedMemory):
            keys, values = value
        else:
            value = query if value is None else value
            if cache is not None and positions is None and self.rotary is not None:
                positions = cache_index + _steps(queries, cache)
            keys, values = self._project(value, key, positions)
        if self.rotary is not None:
            queries = self.rotary(queries, positions=positions)
        if cache is not None:
            cache = cache.write(keys, values, cache_index)
            keys, values = cache.read()
        mask = combine_masks(attention_mask, implicit_mask, key_mask)
        if use_causal_mask:
            mask = combine_masks(mask, causal_mask(ops.shape(queries)[2], ops.shape(keys)[2]))
        context, weights = dot_product_attention(
            queries,
            keys,
            values,
            mask=mask,
            bias=self._bias(queries, keys, cache, cache_index),
            dropout=lambda w: self.dropout(w, training=training),
            values_are_finite=values_were_projected,
        )
        record_attention(self.path, weights)
        output = self.output_dense(_merge_heads(context))  # [batch, queries, output_dim]
        extras = [weights] if return_attention_scores else []
        extras += [cache] if cache is not None else []
        return (output, *extras) if extras else output

    def project_memory(self, value: Tensor, key: Tensor | None = None) -> ProjectedMemory:
        """Keys and values of an encoder's output, to be used as ``value`` in every decoding step.

        Args:
            value: ``[batch, keys, width]``.
            key: the same shape, the value by default.
        """
        return ProjectedMemory(*self._project(value, key, None))

    def empty_cache(
        self, batch_size: Tensor | int, length: Tensor | int, beams: int = 1
    ) -> KeyValueCache:
        """A cache for ``length`` positions of ``beams`` hypotheses for each row."""
        shape = (batch_size, self.num_key_value_heads, length, beams)
        return KeyValueCache(
            ops.zeros((*shape, self.key_dim), self.compute_dtype),
            ops.zeros((*shape, self.value_dim), self.compute_dtype),
        )

    def _project(
        self, value: Tensor, key: Tensor | None, positions: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        keys = self.key_dense(value if key is None else key)
        keys = _split_heads(keys, self.num_key_value_heads)  # [batch, kv_heads, keys, key_dim]
        values = _split_heads(self.value_dense(value), self.num_key_value_heads)
        if self.rotary is not None:
            keys = self.rotary(keys, positions=positions)
        return keys, values  # [batch, kv_heads, keys, value_dim]

    def _bias(
        self, queries: Tensor, keys: Tensor, cache: KeyValueCache | None, cache_index: Tensor | None
    ) -> Tensor | None:
        if self.position_bias is None:
            return None
        if cache is None:
            query_positions = ops.arange(ops.shape(queries)[2], dtype="int32")
            key_positions = ops.arange(ops.shape(keys)[2], dtype="int32")
        else:
            query_positions = cache_index + _steps(queries, cache)
            key_positions = _steps(keys, cache)
        return self.position_bias(query_positions, key_positions)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {
            "num_heads": self.num_heads,
            "key_dim": self.key_dim,
            "num_key_value_heads": self.num_key_value_heads,
            "value_dim": self.value_dim,
            "output_dim": self.output_dim,
            "dropout": self.dropout_rate,
            "use_bias": self.use_bias,
            "rotary": keras.saving.serialize_keras_object(self.rotary),
            "position_bias": keras.saving.serialize_keras_object(self.position_bias),
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "output_initializer": keras.initializers.serialize(self.output_initializer),
        }


def as_layer(part: Any) -> Any:
    """An injected part is a layer, or a layer's serialised form when it comes out of a config."""
    return keras.saving.deserialize_keras_object(part) if isinstance(part, dict) else part


def _split_heads(features: Tensor, heads: int) -> Tensor:
    length, dim = ops.shape(features)[1], features.shape[-1] // heads
    features = ops.reshape(features, (-1, length, heads, dim))  # [batch, length, heads, dim]
    return ops.transpose(features, (0, 2, 1, 3))  # [batch, heads, length, dim]


def _merge_heads(context: Tensor) -> Tensor:
    _, heads, _, dim = context.shape
    length = ops.shape(context)[2]
    context = ops.transpose(context, (0, 2, 1, 3))  # [batch, length, heads, dim]
    return ops.reshape(context, (-1, length, heads * dim))  # [batch, length, heads * dim]


def _steps(heads: Tensor, cache: KeyValueCache) -> Tensor:
    """The time step of each of ``steps * beams`` positions: 0, 0, 1, 1, ... for two beams."""
    return ops.arange(ops.shape(heads)[2], dtype="int32") // cache.beams
