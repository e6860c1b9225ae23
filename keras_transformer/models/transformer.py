"""The encoder-decoder Transformer of Vaswani et al. 2017, and its variants."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_transformer.layers import (
    AlibiPositionBias,
    BucketedPositionBias,
    Decoder,
    Encoder,
    KeyValueCache,
    LearnedPositions,
    ProjectedMemory,
    RotaryPositions,
    SinusoidalPositions,
    TokenEmbedding,
)
from keras_transformer.layers.ancestry import (
    ancestry_mask,
    grow_ancestors,
    record_step,
    reorder_ancestors,
    start_ancestors,
)
from keras_transformer.layers.dense import Dense
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.masks import padding_mask
from keras_transformer.models.token_model import ConfiguredModel
from keras_transformer.models.transformer_config import TransformerConfig

Tensor = Any


class DecodingState(NamedTuple):
    """What the decoder remembers between steps; every shape stays the same from step to step."""

    index: Tensor  # int32 scalar: position of the next token
    ancestors: Tensor  # int32 [time, batch, beams]: which beam wrote each position of a beam's past
    caches: tuple[KeyValueCache, ...]  # for each layer, [batch, kv_heads, time, beams, dim]
    memories: tuple[ProjectedMemory, ...]  # for each layer, [batch, kv_heads, source_length, dim]
    memory_mask: Tensor  # bool [batch, source_length]


@keras.saving.register_keras_serializable("keras_transformer")
class Transformer(ConfiguredModel):
    """Encoder-decoder Transformer: source ids and target ids in, logits of the next target ids out.

    Args:
        config: sizes and choices.

    Call args:
        inputs: ``{"source": ids [batch, source_length], "target": ids [batch, target_length]}``;
            the target starts with BOS, both are filled up with PAD.

    Returns:
        Logits ``[batch, target_length, output_size]``, in at least float32: at each position those
        of the token after it. (``predict`` keeps the logits of all sentences, which may be many:
        16 GB for 2,000 sentences of 64 tokens and 32,000 ids; ``evaluate`` keeps those of a batch.)

    Raises:
        ValueError: when the inputs are no such dictionary.

    >>> import numpy as np
    >>> model = Transformer(TransformerConfig.preset("tiny", vocab_size=50))
    >>> ids = np.array([[5, 6, 2]])
    >>> model({"source": ids, "target": ids}).shape
    TensorShape([1, 3, 50])
    """

    required = exported = ("source", "target")

    config_class = TransformerConfig

    def __init__(self, config: TransformerConfig, **kwargs: Any):
        kwargs.setdefault("name", "transformer")
        super().__init__(**kwargs)
        self.config = config
        dtype = self.dtype_policy
        options = {
            "num_heads": config.num_attention_heads,
            "num_key_value_heads": config.num_key_value_heads,
            "intermediate_size": config.intermediate_size,
            "hidden_act": config.hidden_act,
            "gated": config.gated,
            "norm_first": config.norm_first,
            "norm": config.norm,
            "final_norm": config.ends_with_norm,
            "layer_norm_eps": config.layer_norm_eps,
            "use_bias": config.use_bias,
            "hidden_dropout": config.hidden_dropout,
            "attention_dropout": config.attention_dropout,
            "activation_dropout": config.activation_dropout,
            "dtype": dtype,
        }
        self.source_embedding = TokenEmbedding(
            config.vocab_size,
            config.hidden_size,
            dtype=dtype,
            name="embedding" if config.share_embeddings else "source_embedding",
        )
        self.target_embedding = (
            self.source_embedding
            if config.share_embeddings
            else TokenEmbedding(
                config.output_size, config.hidden_size, dtype=dtype, name="target_embedding"
            )
        )
        self.source_positions = self._absolute_positions("source_positions")
        self.target_positions = self._absolute_positions("target_positions")
        self.source_dropout = Dropout(config.hidden_dropout, dtype=dtype)
        self.target_dropout = Dropout(config.hidden_dropout, dtype=dtype)
        self.encoder = Encoder(
            config.encoder_layers,
            **options,
            **self._relative_positions(bidirectional=True),
            name="encoder",
        )
        self.decoder = Decoder(
            config.decoder_layers,
            **options,
            **self._relative_positions(bidirectional=False),
            name="decoder",
        )
        if not config.tie_word_embeddings:
            # The logits feed softmax and loss: float32 whatever the policy.
            self.output_dense = Dense(
                config.output_size, use_bias=False, dtype="float32", name="output"
            )

    def _absolute_positions(self, name: str) -> keras.layers.Layer | None:
        if self.config.positions == "sinusoidal":
            return SinusoidalPositions(dtype=self.dtype_policy, name=name)
        if self.config.positions == "learned":
            return LearnedPositions(
                self.config.max_position_embeddings,
                initializer=keras.initializers.RandomNormal(stddev=self.config.hidden_size**-0.5),
                dtype=self.dtype_policy,
                name=name,
            )
        return None

    def _relative_positions(self, bidirectional: bool) -> dict[str, keras.layers.Layer]:
        config, dtype = self.config, self.dtype_policy
        if config.positions == "rotary":
            return {"rotary": RotaryPositions(config.rope_theta, dtype=dtype, name="rotary")}
        if config.positions == "buckets":
            bias = BucketedPositionBias(
                config.num_attention_heads,
                bidirectional=bidirectional,
                dtype=dtype,
                name="position_bias",
            )
            return {"position_bias": bias}
        if config.positions == "alibi":
            bias = AlibiPositionBias(config.num_attention_heads, dtype=dtype, name="position_bias")
            return {"position_bias": bias}
        return {}

    def build(self, input_shape: Any = None) -> None:
        hidden_shape = (None, None, self.config.hidden_size)
        for embedding in (self.source_embedding, self.target_embedding):
            if not embedding.built:  # both may be one
                embedding.build((None, None))
        for positions in (self.source_positions, self.target_positions):
            if positions is not None:
                positions.build(hidden_shape)
        self.encoder.build(hidden_shape)
        self.decoder.build(hidden_shape)
        if not self.config.tie_word_embeddings:
            self.output_dense.build(hidden_shape)

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        source, target = self.read(inputs)
        source_mask = padding_mask(source, self.config.pad_token_id)
        target_mask = padding_mask(target, self.config.pad_token_id)
        memory = self.encode(source, training=training)  # [batch, source_length, hidden_size]
        hidden = self._embed_target(target, None, training)
        hidden = self.decoder(
            hidden,
            memory,
            attention_mask=target_mask,
            memory_mask=source_mask,
            training=training,
        )
        return self._logits(hidden)  # [batch, target_length, output_size]

    def encode(self, source: Tensor, training: bool | None = None) -> Tensor:
        """The encoder's output for source ids.

        Args:
            source: integer ``[batch, source_length]``.

        Returns:
            ``[batch, source_length, hidden_size]``.
        """
        if not self.built:  # decoding may start with a model that was never called
            self.build()
        hidden = self.source_embedding(source)
        if self.source_positions is not None:
            hidden = self.source_positions(hidden)
        hidden = self.source_dropout(hidden, training=training)
        mask = padding_mask(source, self.config.pad_token_id)
        return self.encoder(hidden, attention_mask=mask, training=training)

    def start(self, source: Tensor, max_length: Tensor | int, beams: int = 1) -> DecodingState:
        """Encodes the source and prepares step-by-step decoding.

        Args:
            source: integer ``[batch, source_length]``.
            max_length: how many tokens there is room for; `grow` gives more.
            beams: hypotheses for each source.

        Raises:
            ValueError: when a table of learned positions ends before ``max_length``.
        """
        table = self.config.max_position_embeddings
        if (
            self.config.positions == "learned"
            and isinstance(max_length, int)
            and max_length > table
        ):
            raise ValueError(
                f"max_length={max_length} exceeds the model's max_position_embeddings={table}."
            )
        memory = self.encode(source, training=False)
        batch = ops.shape(source)[0]
        return DecodingState(
            index=ops.convert_to_tensor(0, dtype="int32"),
            ancestors=start_ancestors(max_length, batch, beams),
            caches=self.decoder.empty_caches(batch, max_length, beams),
            memories=self.decoder.project_memory(memory),
            memory_mask=padding_mask(source, self.config.pad_token_id),
        )

    def step(self, ids: Tensor, state: DecodingState) -> tuple[Tensor, DecodingState]:
        """Logits of the next token for each hypothesis, given the newest token of each.

        Args:
            ids: int32 ``[batch * beams]``, BOS in the first step.
            state: what `start` or the step before gave.

        Returns:
            Logits ``[batch * beams, output_size]`` in at least float32, and the new state.
        """
        index, beams = state.index, state.ancestors.shape[2]
        ids = ops.reshape(ids, (-1, beams))  # [batch, beams]
        ancestors = record_step(state.ancestors, index)  # [time, batch, beams]
        hidden = self._embed_target(ids, ops.broadcast_to(index, (1, beams)), training=False)
        hidden, caches = self.decoder(
            hidden,
            state.memories,
            attention_mask=ancestry_mask(ancestors, index + 1),
            memory_mask=state.memory_mask,
            caches=state.caches,
            cache_index=index,
            training=False,
        )
        logits = self._logits(hidden)  # [batch, beams, output_size]
        logits = ops.reshape(logits, (-1, self.config.output_size))  # [batch * beams, output_size]
        return logits, state._replace(index=index + 1, ancestors=ancestors, caches=caches)

    def grow(self, state: DecodingState, max_length: Tensor | int) -> DecodingState:
        """The state with room for ``max_length`` tokens, at least as many as it had room for."""
        return state._replace(
            ancestors=grow_ancestors(state.ancestors, max_length),
            caches=tuple(cache.grow(max_length) for cache in state.caches),
        )

    def reorder(self, state: DecodingState, rows: Tensor) -> DecodingState:
        """The state after beams were chosen: hypothesis ``i`` goes on from what was ``rows[i]``.

        Args:
            state: the state after a step.
            rows: int32 ``[batch * beams]``, within each sentence.
        """
        return state._replace(ancestors=reorder_ancestors(state.ancestors, rows))

    def _embed_target(
        self, target: Tensor, positions: Tensor | None, training: bool | None
    ) -> Tensor:
        hidden = self.target_embedding(target)
        if self.target_positions is not None:
            hidden = self.target_positions(hidden, positions=positions)
        return self.target_dropout(hidden, training=training)

    def _logits(self, hidden: Tensor) -> Tensor:
        if self.config.tie_word_embeddings:
            return self.target_embedding(hidden, reverse=True)
        return self.output_dense(hidden)
