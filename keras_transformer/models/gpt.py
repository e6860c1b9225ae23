"""The decoder-only Transformer: GPT-2 (Radford et al. 2019), Llama (Touvron et al. 2023)."""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.ancestry import start_ancestors
from keras_transformer.layers.decoder import Decoder
from keras_transformer.layers.dense import Dense
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.embeddings import TokenEmbedding
from keras_transformer.layers.masks import causal_mask, combine_masks, padding_mask, segment_mask
from keras_transformer.layers.positions import LearnedPositions, SinusoidalPositions
from keras_transformer.layers.rotary import RotaryPositions
from keras_transformer.models.gpt_config import GptConfig
from keras_transformer.models.gpt_state import GptState
from keras_transformer.models.token_model import ConfiguredModel, output_dtype

Tensor = Any


@keras.saving.register_keras_serializable("keras_transformer")
class Gpt(ConfiguredModel):
    """Decoder-only Transformer: ids in, logits of the next ids out.

    Padding may stand on either side. The position of a token is the number of real tokens before
    it in its text, so a text gets the same logits however it is padded.

    Args:
        config: sizes and choices.

    Call args:
        inputs: ``{"token_ids": ids [batch, length]}``, filled up with PAD; and for several texts
            packed into one row ``"segment_ids": ids [batch, length]``: the tokens of a text share
            a number, 0 is padding. Texts of a row do not see each other, and positions start anew
            in each.

    Returns:
        Logits ``[batch, length, vocab_size]``, in at least float32: at each position those of the
        token after it.

    Raises:
        ValueError: when the inputs are no such dictionary, or longer than a table of learned
            positions.

    >>> import numpy as np
    >>> model = Gpt(GptConfig.preset("nano", vocab_size=50))
    >>> model({"token_ids": np.array([[5, 6, 2]])}).shape
    TensorShape([1, 3, 50])

    Text is generated step by step, with a cache of keys and values:

    >>> prompts = np.array([[5, 6, 7], [8, 0, 0]])
    >>> state = model.start(prompts, max_length=10)
    >>> logits, state = model.step(model.last_ids(prompts), state)
    >>> logits.shape
    TensorShape([2, 50])
    """

    optional = ("segment_ids",)
    config_class = GptConfig

    def __init__(self, config: GptConfig, **kwargs: Any):
        kwargs.setdefault("name", "gpt")
        super().__init__(**kwargs)
        self.config = config
        dtype = self.dtype_policy
        self.token_embedding = TokenEmbedding(
            config.vocab_size,
            config.hidden_size,
            # Sinusoids are of size one: beside them small vectors would be lost.
            scale=config.positions == "sinusoidal",
            initializer=self._initializer(),
            dtype=dtype,
            name="token_embedding",
        )
        self.position_embedding = self._absolute_positions()
        dropout = config.embedding_dropout
        self.embedding_dropout = Dropout(
            config.hidden_dropout if dropout is None else dropout, dtype=dtype
        )
        self.decoder = Decoder(
            config.num_hidden_layers,
            final_norm=True,
            cross_attention=False,
            num_heads=config.num_attention_heads,
            num_key_value_heads=config.num_key_value_heads,
            intermediate_size=config.inner_size,
            hidden_act=config.hidden_act,
            gated=config.gated,
            norm_first=True,
            norm=config.norm,
            layer_norm_eps=config.layer_norm_eps,
            use_bias=config.use_bias,
            hidden_dropout=config.hidden_dropout,
            attention_dropout=config.attention_dropout,
            rotary=self._rotary_positions(),
            kernel_initializer=self._initializer(),
            # Two sublayers a layer add to the residual stream, whose variance so stays the same
            # for every depth (Radford et al. 2019, 2.3).
            output_initializer=self._initializer((2 * config.num_hidden_layers) ** -0.5),
            dtype=dtype,
            name="decoder",
        )
        if not config.tie_word_embeddings:
            self.output_dense = Dense(
                config.vocab_size,
                use_bias=False,
                kernel_initializer=self._initializer(),
                dtype=output_dtype(dtype),
                name="output",
            )

    def _initializer(self, factor: float = 1.0) -> keras.initializers.Initializer:
        return keras.initializers.RandomNormal(stddev=factor * self.config.initializer_range)

    def _absolute_positions(self) -> keras.layers.Layer | None:
        options = {"dtype": self.dtype_policy, "name": "position_embedding"}
        if self.config.positions == "learned":
            table = self.config.max_position_embeddings
            return LearnedPositions(table, initializer=self._initializer(), **options)
        return SinusoidalPositions(**options) if self.config.positions == "sinusoidal" else None

    def _rotary_positions(self) -> RotaryPositions | None:
        if self.config.positions != "rotary":
            return None
        return RotaryPositions(
            self.config.rope_theta,
            self.config.rope_scaling,
            dtype=self.dtype_policy,
            name="rotary",
        )

    def build(self, input_shape: Any = None) -> None:
        hidden_shape = (None, None, self.config.hidden_size)
        self.token_embedding.build((None, None))
        if self.position_embedding is not None:
            self.position_embedding.build(hidden_shape)
        self.decoder.build(hidden_shape)
        if not self.config.tie_word_embeddings:
            self.output_dense.build(hidden_shape)

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        token_ids, segment_ids = self.read(inputs)
        mask = self._attention_mask(token_ids, segment_ids)  # [batch, 1, length, length]
        seen = ops.sum(ops.cast(mask, "int32"), axis=-1)[:, 0]  # [batch, length]
        positions = self._within_table(ops.maximum(seen - 1, 0))  # [batch, length]
        hidden = self._embed(token_ids, positions, training)
        hidden = self.decoder(
            hidden,
            attention_mask=mask,
            use_causal_mask=False,
            positions=positions,
            training=training,
        )
        return self._logits(hidden)  # [batch, length, vocab_size]

    def last_ids(self, token_ids: Tensor) -> Tensor:
        """The last real token of each row, which the first decoding step is fed; BOS for none.

        Args:
            token_ids: integer ``[batch, length]``, padded on either side.

        Returns:
            int32 ``[batch]``.

        >>> model = Gpt(GptConfig.preset("nano", vocab_size=50))
        >>> model.last_ids([[0, 5, 6], [7, 0, 0], [0, 0, 0]]).numpy().tolist()
        [6, 7, 1]
        """
        token_ids = ops.cast(token_ids, "int32")
        counts = self._counts(token_ids)  # [batch, length]
        is_last = ops.logical_and(self._real(token_ids), ops.equal(counts, counts[:, -1:]))
        ids = ops.sum(ops.where(is_last, token_ids, 0), axis=1)  # [batch]
        return ops.where(ops.equal(counts[:, -1], 0), self.config.bos_token_id, ids)

    def start(self, token_ids: Tensor, max_length: Tensor | int, beams: int = 1) -> GptState:
        """Reads the prompts in one pass and prepares to go on from them step by step.

        Of each row all tokens but the last are read: the first `step` is fed that one, as
        `last_ids` gives it, and gives the logits of the first new token.

        Args:
            token_ids: prompts, integer ``[batch, length]``, padded on either side.
            max_length: how many steps there is room for; `grow` gives more.
            beams: hypotheses for each prompt.

        Raises:
            ValueError: when a table of learned positions ends before the prompts or ``max_length``.
                (Positions beyond it in later steps count as its last one, so that a row which has
                long ended cannot fail its neighbours: see to a limit for each row.)
        """
        if not self.built:  # decoding may start with a model that was never called
            self.build()
        table = self.config.max_position_embeddings
        if self.config.positions == "learned" and isinstance(max_length, int):
            if max_length > table:
                raise ValueError(
                    f"max_length={max_length} exceeds the model's max_position_embeddings={table}."
                )
        token_ids = ops.cast(token_ids, "int32")
        batch, length = ops.shape(token_ids)
        counts = self._counts(token_ids)  # [batch, length]
        lengths = ops.maximum(counts[:, -1] - 1, 0)  # [batch]
        prompt_mask = ops.logical_and(
            self._real(token_ids), counts <= lengths[:, None]
        )  # [batch, length]
        positions = self._within_table(ops.maximum(counts - 1, 0))  # [batch, length]
        hidden = self._embed(token_ids, positions, training=False)
        if beams > 1:  # to whole times of the cache
            more = -length % beams
            hidden = _extend(hidden, more)  # [batch, slots * beams, hidden_size]
            positions = _extend(positions, more)  # [batch, slots * beams]
            prompt_mask = _extend(prompt_mask, more)  # [batch, slots * beams]
            length = length + more
        # The caches have no more room than the prompt takes, so that reading it costs no more.
        _, caches = self.decoder(
            hidden,
            attention_mask=combine_masks(prompt_mask, causal_mask(length)),
            positions=positions,
            caches=self.decoder.empty_caches(batch, length // beams, beams),
            cache_index=ops.convert_to_tensor(0, dtype="int32"),
            training=False,
        )
        state = GptState(
            index=ops.convert_to_tensor(0, dtype="int32"),
            lengths=lengths,
            prompt_mask=prompt_mask,
            ancestors=start_ancestors(0, batch, beams),
            caches=caches,
        )
        return state.grow(max_length)

    def step(self, ids: Tensor, state: GptState) -> tuple[Tensor, GptState]:
        """Logits of the next token for each hypothesis, given the newest token of each.

        Args:
            ids: int32 ``[batch * beams]``, in the first step `last_ids` of the prompts.
            state: what `start` or the step before gave.

        Returns:
            Logits ``[batch * beams, vocab_size]`` in at least float32, and the new state.
        """
        positions = state.positions()  # [batch, beams]
        if self.config.positions == "learned":
            positions = ops.minimum(positions, self.config.max_position_embeddings - 1)
        # Beams are no places of a text, of which a table of positions may have fewer.
        places = ops.reshape(positions, (-1, 1))  # [batch * beams, 1]
        ids = ops.reshape(ids, (-1, 1))  # [batch * beams, 1]
        hidden = self._embed(ids, places, training=False)  # [batch * beams, 1, hidden_size]
        hidden = ops.reshape(
            hidden, (-1, state.beams, self.config.hidden_size)
        )  # [batch, beams, hidden_size]
        place, state = state.slots + state.index, state.with_step()
        hidden, caches = self.decoder(
            hidden,
            attention_mask=state.attention_mask(),
            positions=positions,
            caches=state.caches,
            cache_index=place,
            training=False,
        )
        logits = self._logits(hidden)  # [batch, beams, vocab_size]
        logits = ops.reshape(logits, (-1, self.config.vocab_size))  # [batch * beams, vocab_size]
        return logits, state._replace(caches=caches)

    def grow(self, state: GptState, max_length: Tensor | int) -> GptState:
        """The state with room for ``max_length`` steps, at least as many as it had room for."""
        return state.grow(max_length)

    def reorder(self, state: GptState, rows: Tensor) -> GptState:
        """The state after beams were chosen: hypothesis ``i`` goes on from what was ``rows[i]``.

        Args:
            state: the state after a step.
            rows: int32 ``[batch * beams]``, within each prompt.
        """
        return state.reorder(rows)

    def _real(self, token_ids: Tensor) -> Tensor:
        return padding_mask(token_ids, self.config.pad_token_id)  # [batch, length]

    def _counts(self, token_ids: Tensor) -> Tensor:
        """How many real tokens stand up to each position: int32 ``[batch, length]``."""
        counts = ops.cumsum(ops.cast(self._real(token_ids), "int32"), axis=1)
        return ops.cast(counts, "int32")

    def _attention_mask(self, token_ids: Tensor, segment_ids: Tensor | None) -> Tensor:
        """What each token may see: itself and what came before in its text."""
        causal = causal_mask(ops.shape(token_ids)[1])  # [1, 1, length, length]
        mask = combine_masks(self._real(token_ids), causal)  # [batch, 1, length, length]
        if segment_ids is None:
            return mask
        expected, found = tuple(token_ids.shape), tuple(segment_ids.shape)
        pairs = zip(expected, found, strict=False)
        if len(found) != 2 or any(a != b for a, b in pairs if None not in (a, b)):
            raise ValueError(
                f"{self.name}: segment_ids must have the shape of token_ids, {expected}, "
                f"not {found}."
            )
        return combine_masks(mask, segment_mask(segment_ids))

    def _within_table(self, positions: Tensor) -> Tensor:
        """Positions ``[batch, length]``, none of them greater than its place in the row.

        That none is changes nothing. But where a row is longer than a table of learned positions,
        the two do not fit each other, on any device: the look-up itself fails on CPUs only.
        """
        if self.config.positions != "learned":
            return positions
        self.position_embedding.check_length(positions.shape[1])
        places = ops.arange(self.config.max_position_embeddings, dtype="int32")
        return ops.minimum(positions, places[: ops.shape(positions)[1]])

    def _embed(self, token_ids: Tensor, positions: Tensor, training: bool | None) -> Tensor:
        if self.config.pad_token_id == -1:  # no id of the table
            token_ids = ops.where(self._real(token_ids), token_ids, 0)
        hidden = self.token_embedding(token_ids)
        if self.position_embedding is not None:
            hidden = self.position_embedding(hidden, positions=positions)
        return self.embedding_dropout(hidden, training=training)

    def _logits(self, hidden: Tensor) -> Tensor:
        if self.config.tie_word_embeddings:
            return self.token_embedding(hidden, reverse=True)
        return self.output_dense(hidden)


def _extend(rows: Tensor, more: Tensor | int) -> Tensor:
    """``[batch, length, ...]`` with ``more`` zeros (or False) at the end of each row."""
    batch, _, *others = ops.shape(rows)
    zeros = ops.zeros((batch, more, *others), rows.dtype)
    return ops.concatenate([rows, zeros], axis=1)  # [batch, length + more, ...]
