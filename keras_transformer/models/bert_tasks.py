"""BERT for the tasks it is fine-tuned on (Devlin et al. 2019, 4)."""

from typing import Any, Literal, get_args

import keras
from keras import ops

from keras_transformer.checks import check_at_least
from keras_transformer.layers.dense import Dense
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.pooling import FirstTokenPooler, masked_mean, unit_length
from keras_transformer.models.bert import Bert, BertWithHead
from keras_transformer.models.token_model import output_dtype

Tensor = Any
Pooling = Literal["mean", "cls"]


@keras.saving.register_keras_serializable("keras_transformer")
class BertClassifier(BertWithHead):
    """A score for each label of a text or a pair of texts; with one label, regression.

    Args:
        bert: the encoder.
        num_labels: number of labels; 1 for a number instead of a choice (mean squared error).
        pooling: what is read of the encoder's output: "cls", the vector of the first token through
            a dense layer with tanh, as in the paper; or "mean", the mean of the vectors of all real
            tokens, special ones included.

    Call args:
        inputs: those of `Bert`.

    Returns:
        Logits ``[batch, num_labels]`` in at least float32; for regression the number itself.

    Raises:
        ValueError: when ``pooling`` is neither "mean" nor "cls".

    >>> import numpy as np
    >>> from keras_transformer.models import BertConfig
    >>> model = BertClassifier(Bert(BertConfig.preset("tiny", vocab_size=50)), num_labels=3)
    >>> model({"token_ids": np.array([[2, 7, 9, 3, 0]])}).shape
    TensorShape([1, 3])
    """

    def __init__(self, bert: Bert, num_labels: int = 2, pooling: Pooling = "cls", **kwargs: Any):
        kwargs.setdefault("name", "bert_classifier")
        super().__init__(bert, **kwargs)
        self.num_labels = num_labels
        self.pooling = _checked(pooling)
        if pooling == "cls":
            self.pooler = FirstTokenPooler(
                kernel_initializer=self.bert.initializer(), dtype=self.dtype_policy, name="pooler"
            )
        self.dropout = Dropout(self.config.head_dropout, dtype=self.dtype_policy)
        self.classifier = _label_scores(self)

    def build_head(self, hidden_shape: tuple) -> None:
        if self.pooling == "cls":
            self.pooler.build(hidden_shape)
        self.classifier.build((None, hidden_shape[-1]))

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        token_ids, segment_ids = self.read(inputs)
        hidden = self.encode(token_ids, segment_ids, training)
        if self.pooling == "mean":
            pooled = masked_mean(hidden, self.bert.padding_mask(token_ids))
        else:
            pooled = self.pooler(hidden)
        pooled = self.dropout(pooled, training=training)  # [batch, hidden_size]
        return self.classifier(pooled)  # [batch, num_labels]

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"num_labels": self.num_labels, "pooling": self.pooling}


@keras.saving.register_keras_serializable("keras_transformer")
class BertTagger(BertWithHead):
    """A score for each label of each token, as in named entity recognition.

    Args:
        bert: the encoder.
        num_labels: number of labels.

    Call args:
        inputs: those of `Bert`.

    Returns:
        Logits ``[batch, length, num_labels]`` in at least float32; at padding they mean nothing.

    >>> import numpy as np
    >>> from keras_transformer.models import BertConfig
    >>> model = BertTagger(Bert(BertConfig.preset("tiny", vocab_size=50)), num_labels=9)
    >>> model({"token_ids": np.array([[2, 7, 9, 3, 0]])}).shape
    TensorShape([1, 5, 9])
    """

    def __init__(self, bert: Bert, num_labels: int = 2, **kwargs: Any):
        kwargs.setdefault("name", "bert_tagger")
        super().__init__(bert, **kwargs)
        self.num_labels = num_labels
        self.dropout = Dropout(self.config.head_dropout, dtype=self.dtype_policy)
        self.classifier = _label_scores(self)

    def build_head(self, hidden_shape: tuple) -> None:
        self.classifier.build(hidden_shape)

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        hidden = self.encode(*self.read(inputs), training)
        return self.classifier(self.dropout(hidden, training=training))

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"num_labels": self.num_labels}


@keras.saving.register_keras_serializable("keras_transformer")
class BertSpanQA(BertWithHead):
    """Where an answer starts and ends: a dot product of two learned vectors with every position.

    (Devlin et al. 2019, 4.2 and 4.3; that there is no answer is the span of the first token alone.)

    Args:
        bert: the encoder.

    Call args:
        inputs: those of `Bert`, and ``"answer_mask"``: boolean ``[batch, length]``, ``True`` where
            an answer may start and end (the context and the first token, say); everywhere by
            default. Padding is never a place for it.

    Returns:
        ``{"start": [batch, length], "end": [batch, length]}``, logits in at least float32; -1e30
        where an answer may not be.

    >>> import numpy as np
    >>> from keras_transformer.models import BertConfig
    >>> model = BertSpanQA(Bert(BertConfig.preset("tiny", vocab_size=50)))
    >>> outputs = model({"token_ids": np.array([[2, 7, 3, 8, 9, 3, 0]])})
    >>> float(outputs["end"][0, 6]) < -1e29
    True
    """

    optional = ("segment_ids", "answer_mask")

    def __init__(self, bert: Bert, **kwargs: Any):
        kwargs.setdefault("name", "bert_span_qa")
        super().__init__(bert, **kwargs)
        self.span_vectors = Dense(
            2,
            kernel_initializer=self.bert.initializer(),
            dtype=output_dtype(self.dtype_policy),
            name="span_vectors",
        )

    def build_head(self, hidden_shape: tuple) -> None:
        self.span_vectors.build(hidden_shape)

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> dict[str, Tensor]:
        token_ids, segment_ids, answer_mask = self.read(inputs)
        scores = self.span_vectors(self.encode(token_ids, segment_ids, training))
        allowed = self.bert.padding_mask(token_ids)  # [batch, length]
        if answer_mask is not None:
            if keras.backend.standardize_dtype(answer_mask.dtype) != "bool":
                raise ValueError(
                    f"{self.name}: answer_mask must be boolean (True = an answer may be here), "
                    f"not {answer_mask.dtype}."
                )
            allowed = ops.logical_and(allowed, answer_mask)
        scores = ops.where(allowed[..., None], scores, ops.cast(-1e30, scores.dtype))
        return {"start": scores[..., 0], "end": scores[..., 1]}  # [batch, length] each


@keras.saving.register_keras_serializable("keras_transformer")
class BertEmbedder(BertWithHead):
    """One vector for a text (Reimers and Gurevych 2019, 3).

    Args:
        bert: the encoder.
        pooling: "mean" of the vectors of all real tokens, special ones included, or "cls", the
            vector of the first token.
        normalize: whether vectors get length one, so that a dot product is the cosine.

    Call args:
        inputs: those of `Bert`.

    Returns:
        ``[batch, hidden_size]`` in at least float32.

    Raises:
        ValueError: when ``pooling`` is neither "mean" nor "cls".

    >>> import numpy as np
    >>> from keras_transformer.models import BertConfig
    >>> model = BertEmbedder(Bert(BertConfig.preset("tiny", vocab_size=50)), normalize=True)
    >>> model({"token_ids": np.array([[2, 7, 9, 3, 0]])}).shape
    TensorShape([1, 128])
    """

    def __init__(
        self,
        bert: Bert,
        pooling: Pooling = "mean",
        normalize: bool = False,
        **kwargs: Any,
    ):
        kwargs.setdefault("name", "bert_embedder")
        super().__init__(bert, **kwargs)
        self.pooling = _checked(pooling)
        self.normalize = normalize

    def build_head(self, hidden_shape: tuple) -> None:
        pass  # nothing is learned

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        token_ids, segment_ids = self.read(inputs)
        hidden = self.encode(token_ids, segment_ids, training)
        if self.pooling == "mean":
            vectors = masked_mean(hidden, self.bert.padding_mask(token_ids))
        else:
            vectors = ops.cast(hidden[:, 0], output_dtype(self.dtype_policy))
        return unit_length(vectors) if self.normalize else vectors  # [batch, hidden_size]

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"pooling": self.pooling, "normalize": self.normalize}


def _checked(pooling: Pooling) -> Pooling:
    """The pooling, if it is one."""
    if pooling not in get_args(Pooling):
        raise ValueError(f"pooling must be one of mean, cls, not {pooling!r}.")
    return pooling


def _label_scores(model: Any) -> Dense:
    """The last layer of classifier and tagger; its logits are float32 whatever the policy."""
    check_at_least(1, num_labels=model.num_labels)
    return Dense(
        model.num_labels,
        kernel_initializer=model.bert.initializer(),
        dtype=output_dtype(model.dtype_policy),
        name="classifier",
    )
