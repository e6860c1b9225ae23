"""The encoder of BERT (Devlin et al. 2019): ids in, a vector for each token out."""

from typing import Any

import keras

from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.embeddings import TokenEmbedding
from keras_transformer.layers.encoder import Encoder
from keras_transformer.layers.masks import padding_mask
from keras_transformer.layers.normalization import normalization
from keras_transformer.layers.positions import LearnedPositions
from keras_transformer.layers.segments import SegmentEmbedding
from keras_transformer.models.bert_config import BertConfig
from keras_transformer.models.token_model import ConfiguredModel, TokenModel

Tensor = Any


@keras.saving.register_keras_serializable("keras_transformer")
class Bert(ConfiguredModel):
    """BERT without a head: a vector for each token, made in the light of all others.

    What stands on top of it (`BertPretraining`, `BertMaskedLM`, `BertClassifier`, `BertTagger`,
    `BertSpanQA`, `BertEmbedder`) are models of their own that hold a `Bert`. There is no pooler
    here: it belongs to the heads that train it.

    Args:
        config: sizes and choices.

    Call args:
        inputs: ``{"token_ids": ids [batch, length], "segment_ids": ids [batch, length]}``; filled
            up with PAD, without segment ids all tokens are of segment 0.

    Returns:
        ``[batch, length, hidden_size]``.

    Raises:
        ValueError: when the input is longer than ``max_position_embeddings``.

    >>> import numpy as np
    >>> bert = Bert(BertConfig.preset("tiny", vocab_size=50))
    >>> bert({"token_ids": np.array([[2, 7, 9, 3, 0]])}).shape
    TensorShape([1, 5, 128])
    """

    optional = ("segment_ids",)
    exported = ("token_ids", "segment_ids")
    config_class = BertConfig

    def __init__(self, config: BertConfig, **kwargs: Any):
        kwargs.setdefault("name", "bert")
        super().__init__(**kwargs)
        self.config = config
        dtype = self.dtype_policy
        self.token_embedding = TokenEmbedding(
            config.vocab_size,
            config.hidden_size,
            scale=False,
            initializer=self.initializer(),
            dtype=dtype,
            name="token_embedding",
        )
        self.position_embedding = LearnedPositions(
            config.max_position_embeddings,
            initializer=self.initializer(),
            dtype=dtype,
            name="position_embedding",
        )
        self.segment_embedding = SegmentEmbedding(
            config.type_vocab_size,
            initializer=self.initializer(),
            dtype=dtype,
            name="segment_embedding",
        )
        self.embedding_norm = normalization(
            "layer_norm", config.layer_norm_eps, dtype=dtype, name="embedding_norm"
        )
        self.embedding_dropout = Dropout(config.hidden_dropout, dtype=dtype)
        self.encoder = Encoder(
            config.num_hidden_layers,
            num_heads=config.num_attention_heads,
            intermediate_size=config.intermediate_size,
            hidden_act=config.hidden_act,
            layer_norm_eps=config.layer_norm_eps,
            hidden_dropout=config.hidden_dropout,
            attention_dropout=config.attention_dropout,
            kernel_initializer=self.initializer(),
            dtype=dtype,
            name="encoder",
        )

    def initializer(self) -> keras.initializers.Initializer:
        """A new initialiser of kernels and tables, for the heads too."""
        return keras.initializers.TruncatedNormal(stddev=self.config.initializer_range)

    def build(self, input_shape: Any = None) -> None:
        hidden_shape = (None, None, self.config.hidden_size)
        self.token_embedding.build((None, None))
        self.position_embedding.build(hidden_shape)
        self.segment_embedding.build(hidden_shape)
        self.embedding_norm.build(hidden_shape)
        self.encoder.build(hidden_shape)
        if not self.trainable:  # a frozen model out of a file: its layers do not know of it yet
            for layer in self.layers:
                layer.trainable = False

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        token_ids, segment_ids = self.read(inputs)
        hidden = self.token_embedding(token_ids)
        hidden = self.position_embedding(hidden)
        hidden = self.segment_embedding(hidden, segment_ids=segment_ids)
        hidden = self.embedding_dropout(self.embedding_norm(hidden), training=training)
        return self.encoder(
            hidden, attention_mask=self.padding_mask(token_ids), training=training
        )  # [batch, length, hidden_size]

    def padding_mask(self, token_ids: Tensor) -> Tensor:
        """Which positions hold real tokens: boolean ``[batch, length]``."""
        return padding_mask(token_ids, self.config.pad_token_id)


class BertWithHead(TokenModel):
    """Base of the models that hold a `Bert` and put a head on top of it.

    Args:
        bert: the encoder. Several models may share one, and it keeps the weights that it has: so
            a head for a task goes on from pretraining, ``BertClassifier(pretraining.bert, 2)``.
    """

    optional = ("segment_ids",)
    exported = ("token_ids", "segment_ids")

    def __init__(self, bert: Bert, **kwargs: Any):
        if isinstance(bert, dict):  # out of a config
            bert = keras.saving.deserialize_keras_object(bert)
        if not isinstance(bert, Bert):
            raise ValueError(f"bert must be a Bert, not a {type(bert).__name__}.")
        kwargs.setdefault("dtype", bert.dtype_policy)
        super().__init__(**kwargs)
        self.bert = bert

    @property
    def config(self) -> BertConfig:
        """The sizes and choices of the encoder."""
        return self.bert.config

    def build(self, input_shape: Any = None) -> None:
        if not self.bert.built:
            self.bert.build()
        self.build_head((None, None, self.config.hidden_size))

    def build_head(self, hidden_shape: tuple) -> None:
        """Builds the layers of the head, which get the encoder's output."""
        raise NotImplementedError

    def encode(
        self, token_ids: Tensor, segment_ids: Tensor | None, training: bool | None
    ) -> Tensor:
        """The encoder's output ``[batch, length, hidden_size]``."""
        inputs = {"token_ids": token_ids}
        if segment_ids is not None:
            inputs["segment_ids"] = segment_ids
        return self.bert(inputs, training=training)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"bert": keras.saving.serialize_keras_object(self.bert)}
