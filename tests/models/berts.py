"""A small BERT of every kind, and a padded batch of pairs. Only Keras is imported here."""

from collections.abc import Callable
from typing import Any

import numpy as np

from keras_transformer.models import (
    Bert,
    BertClassifier,
    BertConfig,
    BertEmbedder,
    BertMaskedLM,
    BertPretraining,
    BertSpanQA,
    BertTagger,
)

CONFIG = BertConfig(
    vocab_size=31,
    hidden_size=16,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=24,
    max_position_embeddings=40,
    type_vocab_size=3,
)

KINDS: dict[str, Callable[[Bert], Any]] = {
    "bert": lambda bert: bert,
    "masked_lm": BertMaskedLM,
    "pretraining": BertPretraining,
    "classifier": lambda bert: BertClassifier(bert, num_labels=3),
    "regression": lambda bert: BertClassifier(bert, num_labels=1),
    "mean_classifier": lambda bert: BertClassifier(bert, num_labels=3, pooling="mean"),
    "tagger": lambda bert: BertTagger(bert, num_labels=5),
    "span_qa": BertSpanQA,
    "embedder": BertEmbedder,
    "cls_embedder": lambda bert: BertEmbedder(bert, pooling="cls", normalize=True),
}


def built(kind: str, config: BertConfig = CONFIG, dtype: Any = None) -> Any:
    """A model with weights that matter: zero biases and unit gains would hide mistakes."""
    model = KINDS[kind](Bert(config, dtype=dtype))
    model.build()
    random = np.random.default_rng(1)
    for weight in model.weights:
        gain = float(weight.path.endswith("gamma"))
        weight.assign(random.normal(gain, 0.25, size=tuple(weight.shape)))
    return model


def batch(kind: str = "bert") -> dict[str, np.ndarray]:
    """Three pairs of texts, two of them padded, and for some kinds what they take besides."""
    random = np.random.default_rng(0)
    lengths = np.array([7, 4, 2])
    real = np.arange(7) < lengths[:, None]
    inputs = {
        "token_ids": np.where(real, random.integers(3, 31, size=(3, 7)), 0).astype("int32"),
        "segment_ids": (real * (np.arange(7) >= lengths[:, None] // 2)).astype("int32"),
    }
    if kind in ("masked_lm", "pretraining"):
        inputs["masked_positions"] = np.array([[5, 1], [3, 0], [1, 1]], "int32")
    if kind == "span_qa":
        inputs["answer_mask"] = np.arange(7) != np.array([[1], [2], [0]])
    return inputs


def outputs_of(model: Any, inputs: dict[str, np.ndarray], **options: Any) -> dict[str, Any]:
    """What a model gives, by name."""
    outputs = model(inputs, **options)
    return outputs if isinstance(outputs, dict) else {"output": outputs}
