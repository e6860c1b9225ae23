"""What BERT is pretrained with: guessing masked tokens, and whether two texts follow each other."""

from typing import Any

import keras

from keras_transformer.layers.dense import Dense
from keras_transformer.layers.masked_token_head import MaskedTokenHead, take_positions
from keras_transformer.layers.pooling import FirstTokenPooler
from keras_transformer.models.bert import Bert, BertWithHead
from keras_transformer.models.token_model import output_dtype

Tensor = Any


@keras.saving.register_keras_serializable("keras_transformer")
class BertMaskedLM(BertWithHead):
    """BERT that guesses masked tokens (Devlin et al. 2019, 3.1, task 1), without a pooler.

    Args:
        bert: the encoder; its token table is the output projection too.

    Call args:
        inputs: those of `Bert`, and ``"masked_positions"``: integer ``[batch, predictions]``, where
            to guess; every position by default. Rows with fewer masked tokens are filled up with
            any position of the row, whose loss gets weight 0.

    Returns:
        Logits ``[batch, predictions, vocab_size]`` in at least float32, or
        ``[batch, length, vocab_size]`` without masked positions.

    >>> import numpy as np
    >>> from keras_transformer.models import BertConfig
    >>> model = BertMaskedLM(Bert(BertConfig.preset("tiny", vocab_size=50)))
    >>> ids = np.array([[2, 7, 4, 3]])
    >>> model({"token_ids": ids, "masked_positions": np.array([[2]])}).shape
    TensorShape([1, 1, 50])
    """

    optional = ("segment_ids", "masked_positions")

    def __init__(self, bert: Bert, **kwargs: Any):
        kwargs.setdefault("name", "bert_masked_lm")
        super().__init__(bert, **kwargs)
        self.token_head = _token_head(self)

    def build_head(self, hidden_shape: tuple) -> None:
        self.token_head.build(hidden_shape)

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        token_ids, segment_ids, positions = self.read(inputs)
        hidden = self.encode(token_ids, segment_ids, training)
        return _token_logits(self, hidden, positions)


@keras.saving.register_keras_serializable("keras_transformer")
class BertPretraining(BertWithHead):
    """BERT with both tasks of its pretraining (Devlin et al. 2019, 3.1).

    Args:
        bert: the encoder; its token table is the output projection of the masked tokens too.

    Call args:
        inputs: those of `BertMaskedLM`.

    Returns:
        ``{"masked_tokens": [batch, predictions, vocab_size], "next_sentence": [batch, 2]}``, logits
        in at least float32. Of the latter index 0 says that the second text follows the first,
        index 1 that it does not.

    >>> import numpy as np
    >>> from keras_transformer.models import BertConfig
    >>> model = BertPretraining(Bert(BertConfig.preset("tiny", vocab_size=50)))
    >>> outputs = model({"token_ids": np.array([[2, 7, 3, 8, 3]])})
    >>> outputs["masked_tokens"].shape, outputs["next_sentence"].shape
    (TensorShape([1, 5, 50]), TensorShape([1, 2]))
    """

    optional = ("segment_ids", "masked_positions")

    def __init__(self, bert: Bert, **kwargs: Any):
        kwargs.setdefault("name", "bert_pretraining")
        super().__init__(bert, **kwargs)
        self.token_head = _token_head(self)
        self.pooler = FirstTokenPooler(
            kernel_initializer=self.bert.initializer(), dtype=self.dtype_policy, name="pooler"
        )
        self.next_sentence = Dense(
            2,
            kernel_initializer=self.bert.initializer(),
            dtype=output_dtype(self.dtype_policy),
            name="next_sentence",
        )

    def build_head(self, hidden_shape: tuple) -> None:
        self.token_head.build(hidden_shape)
        self.pooler.build(hidden_shape)
        self.next_sentence.build((None, hidden_shape[-1]))

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> dict[str, Tensor]:
        token_ids, segment_ids, positions = self.read(inputs)
        hidden = self.encode(token_ids, segment_ids, training)
        return {
            "masked_tokens": _token_logits(self, hidden, positions),
            "next_sentence": self.next_sentence(self.pooler(hidden)),
        }


def _token_head(model: BertWithHead) -> MaskedTokenHead:
    config = model.config
    return MaskedTokenHead(
        config.vocab_size,
        hidden_act=config.hidden_act,
        layer_norm_eps=config.layer_norm_eps,
        kernel_initializer=model.bert.initializer(),
        dtype=model.dtype_policy,
        name="token_head",
    )


def _token_logits(model: Any, hidden: Tensor, positions: Tensor | None) -> Tensor:
    if positions is not None:
        hidden = take_positions(hidden, positions)  # [batch, predictions, hidden_size]
    table = model.bert.token_embedding
    return model.token_head(hidden, project=lambda states: table(states, reverse=True))
