"""How Hugging Face's BERT checkpoints name what is in ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras

from keras_transformer.checkpoints.config_fields import (
    check_only,
    read_activation,
    read_fields,
    write_activation,
)
from keras_transformer.checkpoints.name_map import NameMap
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

MODEL_TYPE = "bert"

ARCHITECTURES: dict[str, type[keras.Model]] = {
    "BertModel": Bert,
    "BertForPreTraining": BertPretraining,
    "BertForMaskedLM": BertMaskedLM,
    "BertForSequenceClassification": BertClassifier,
    "BertForTokenClassification": BertTagger,
    "BertForQuestionAnswering": BertSpanQA,
}
"""Which of our models an entry of "architectures" in `config.json` is."""

WRITTEN_AS = {model: name for name, model in ARCHITECTURES.items()} | {BertEmbedder: "BertModel"}
"""The architecture that a model of ours is written as."""

_LAYER, _THEIRS = "bert.encoder.layers.{layer}.", "bert.encoder.layer.{layer}."
_ATTENTION, _FEED_FORWARD = _LAYER + "self_attention", _LAYER + "feed_forward"

# fmt: off
NAMES = NameMap(
    names=(
        ("bert.token_embedding.embeddings", "bert.embeddings.word_embeddings.weight"),
        ("bert.position_embedding.embeddings", "bert.embeddings.position_embeddings.weight"),
        ("bert.segment_embedding.embeddings", "bert.embeddings.token_type_embeddings.weight"),
        ("bert.embedding_norm.gamma", "bert.embeddings.LayerNorm.weight"),
        ("bert.embedding_norm.beta", "bert.embeddings.LayerNorm.bias"),
        (_ATTENTION + ".query_dense.kernel", _THEIRS + "attention.self.query.weight"),
        (_ATTENTION + ".query_dense.bias", _THEIRS + "attention.self.query.bias"),
        (_ATTENTION + ".key_dense.kernel", _THEIRS + "attention.self.key.weight"),
        (_ATTENTION + ".key_dense.bias", _THEIRS + "attention.self.key.bias"),
        (_ATTENTION + ".value_dense.kernel", _THEIRS + "attention.self.value.weight"),
        (_ATTENTION + ".value_dense.bias", _THEIRS + "attention.self.value.bias"),
        (_ATTENTION + ".output_dense.kernel", _THEIRS + "attention.output.dense.weight"),
        (_ATTENTION + ".output_dense.bias", _THEIRS + "attention.output.dense.bias"),
        (_ATTENTION + "_residual.norm.gamma", _THEIRS + "attention.output.LayerNorm.weight"),
        (_ATTENTION + "_residual.norm.beta", _THEIRS + "attention.output.LayerNorm.bias"),
        (_FEED_FORWARD + ".input_dense.kernel", _THEIRS + "intermediate.dense.weight"),
        (_FEED_FORWARD + ".input_dense.bias", _THEIRS + "intermediate.dense.bias"),
        (_FEED_FORWARD + ".output_dense.kernel", _THEIRS + "output.dense.weight"),
        (_FEED_FORWARD + ".output_dense.bias", _THEIRS + "output.dense.bias"),
        (_FEED_FORWARD + "_residual.norm.gamma", _THEIRS + "output.LayerNorm.weight"),
        (_FEED_FORWARD + "_residual.norm.beta", _THEIRS + "output.LayerNorm.bias"),
        ("pooler.dense.kernel", "bert.pooler.dense.weight"),
        ("pooler.dense.bias", "bert.pooler.dense.bias"),
        ("token_head.transform.kernel", "cls.predictions.transform.dense.weight"),
        ("token_head.transform.bias", "cls.predictions.transform.dense.bias"),
        ("token_head.norm.gamma", "cls.predictions.transform.LayerNorm.weight"),
        ("token_head.norm.beta", "cls.predictions.transform.LayerNorm.bias"),
        ("token_head.bias", "cls.predictions.bias"),
        ("next_sentence.kernel", "cls.seq_relationship.weight"),
        ("next_sentence.bias", "cls.seq_relationship.bias"),
        ("classifier.kernel", "classifier.weight"),
        ("classifier.bias", "classifier.bias"),
        ("span_vectors.kernel", "qa_outputs.weight"),
        ("span_vectors.bias", "qa_outputs.bias"),
    ),
    encoder="bert",
    respelled={"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"},
    copies={
        "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias",
    },
    ignored=frozenset({"bert.embeddings.position_ids"}),  # 0, 1, 2, ...
)
# fmt: on

FIELDS = {
    "vocab_size": "vocab_size",
    "hidden_size": "hidden_size",
    "num_hidden_layers": "num_hidden_layers",
    "num_attention_heads": "num_attention_heads",
    "intermediate_size": "intermediate_size",
    "max_position_embeddings": "max_position_embeddings",
    "type_vocab_size": "type_vocab_size",
    "layer_norm_eps": "layer_norm_eps",
    "hidden_dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "classifier_dropout": "classifier_dropout",
    "initializer_range": "initializer_range",
    "pad_token_id": "pad_token_id",
}
"""Numbers in `BertConfig`, and their names in `config.json`."""

ONLY = {
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "add_cross_attention": False,
}
"""Settings of which our BERT has one value only."""

DEFAULTS = {"vocab_size": 30522}
"""What a `config.json` means that does not say it, beyond the defaults of `BertConfig`."""


def read_config(fields: Mapping[str, Any]) -> BertConfig:
    """The config that a `config.json` describes.

    Raises:
        ValueError: when it describes something that our BERT cannot be.

    >>> read_config({"vocab_size": 50, "hidden_act": "gelu_new"}).hidden_act
    'gelu_tanh'
    """
    check_only(fields, ONLY)
    act = read_activation(fields, "hidden_act", "gelu")
    return BertConfig(**DEFAULTS | read_fields(fields, FIELDS) | {"hidden_act": act})


def write_config(config: BertConfig) -> dict[str, Any]:
    """The fields of `config.json` for a config.

    >>> write_config(BertConfig(vocab_size=50))["hidden_dropout_prob"]
    0.1
    """
    fields = {theirs: getattr(config, ours) for ours, theirs in FIELDS.items()}
    fields["hidden_act"] = write_activation(config.hidden_act)
    return {"model_type": MODEL_TYPE, "position_embedding_type": "absolute"} | fields
