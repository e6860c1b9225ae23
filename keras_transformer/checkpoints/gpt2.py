"""How Hugging Face's GPT-2 checkpoints name what is in our `Gpt`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keras_transformer.checkpoints.config_fields import (
    check_only,
    check_ours,
    read_activation,
    read_fields,
    read_special_ids,
    write_activation,
    write_special_ids,
)
from keras_transformer.checkpoints.name_map import NameMap
from keras_transformer.models import GptConfig

MODEL_TYPE = "gpt2"

ARCHITECTURES = ("GPT2LMHeadModel", "GPT2Model")
"""What a directory may say it is; the first is what ours is written as."""

_LAYER, _THEIRS = "transformer.decoder.layers.{layer}.", "transformer.h.{layer}."
_ATTENTION, _FEED_FORWARD = _LAYER + "self_attention", _LAYER + "feed_forward"


def _projections(kind: str) -> tuple[str, ...]:
    """Theirs are one tensor: query, key and value side by side."""
    return tuple(f"{_ATTENTION}.{part}_dense.{kind}" for part in ("query", "key", "value"))


# fmt: off
_NAMES: tuple[tuple[str | tuple[str, ...], str], ...] = (
    ("transformer.token_embedding.embeddings", "transformer.wte.weight"),
    ("transformer.position_embedding.embeddings", "transformer.wpe.weight"),
    (_ATTENTION + "_residual.norm.gamma", _THEIRS + "ln_1.weight"),
    (_ATTENTION + "_residual.norm.beta", _THEIRS + "ln_1.bias"),
    (_projections("kernel"), _THEIRS + "attn.c_attn.weight"),
    (_projections("bias"), _THEIRS + "attn.c_attn.bias"),
    (_ATTENTION + ".output_dense.kernel", _THEIRS + "attn.c_proj.weight"),
    (_ATTENTION + ".output_dense.bias", _THEIRS + "attn.c_proj.bias"),
    (_FEED_FORWARD + "_residual.norm.gamma", _THEIRS + "ln_2.weight"),
    (_FEED_FORWARD + "_residual.norm.beta", _THEIRS + "ln_2.bias"),
    (_FEED_FORWARD + ".input_dense.kernel", _THEIRS + "mlp.c_fc.weight"),
    (_FEED_FORWARD + ".input_dense.bias", _THEIRS + "mlp.c_fc.bias"),
    (_FEED_FORWARD + ".output_dense.kernel", _THEIRS + "mlp.c_proj.weight"),
    (_FEED_FORWARD + ".output_dense.bias", _THEIRS + "mlp.c_proj.bias"),
    ("transformer.decoder.norm.gamma", "transformer.ln_f.weight"),
    ("transformer.decoder.norm.beta", "transformer.ln_f.bias"),
)
# fmt: on

_HEAD = ("transformer.output_dense.kernel", "lm_head.weight")


def names(config: GptConfig) -> NameMap:
    """The tensors of a model with this config."""
    tied = config.tie_word_embeddings
    return NameMap(
        names=_NAMES if tied else (*_NAMES, _HEAD),
        encoder="transformer",
        copies={"lm_head.weight": "transformer.wte.weight"} if tied else {},
        # The causal mask, which older files hold in every layer.
        ignored=frozenset({_THEIRS + "attn.bias", _THEIRS + "attn.masked_bias"}),
        straight=("c_attn.weight", "c_proj.weight", "c_fc.weight"),  # their "Conv1D"
    )


FIELDS = {
    "vocab_size": "vocab_size",
    "hidden_size": "n_embd",
    "num_hidden_layers": "n_layer",
    "num_attention_heads": "n_head",
    "intermediate_size": "n_inner",
    "max_position_embeddings": "n_positions",
    "layer_norm_eps": "layer_norm_epsilon",
    "embedding_dropout": "embd_pdrop",
    "hidden_dropout": "resid_pdrop",
    "attention_dropout": "attn_pdrop",
    "initializer_range": "initializer_range",
}
"""Numbers in `GptConfig`, and their names in `config.json`."""

ONLY = {
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "add_cross_attention": False,
}
"""Settings of which our model has one value only."""

OURS = {
    "gated": False,
    "positions": "learned",
    "norm": "layer_norm",
    "use_bias": True,
}
"""What a GPT-2 is among our models."""

DEFAULTS = {"vocab_size": 50257, "bos_token_id": 50256, "eos_token_id": 50256}
"""What a `config.json` means that does not say it, beyond the defaults of `GptConfig`."""


def read_config(fields: Mapping[str, Any]) -> GptConfig:
    """The config that a `config.json` describes.

    Raises:
        ValueError: when it describes something that our model cannot be.

    >>> read_config({"n_layer": 24, "n_embd": 1024, "n_head": 16}).num_hidden_layers
    24
    """
    check_only(fields, ONLY)
    values = read_fields(fields, FIELDS) | read_special_ids(fields, DEFAULTS)
    values["hidden_act"] = read_activation(fields, "activation_function", "gelu_new")
    tied = fields.get("tie_word_embeddings")
    values["tie_word_embeddings"] = True if tied is None else tied
    return GptConfig(**({"vocab_size": DEFAULTS["vocab_size"]} | values))


def write_config(config: GptConfig) -> dict[str, Any]:
    """The fields of `config.json` for a config.

    Raises:
        ValueError: when it is not of the shape of a GPT-2.

    >>> write_config(GptConfig(vocab_size=50))["activation_function"]
    'gelu_new'
    """
    check_ours(config, OURS, "GPT-2")
    if config.num_key_value_heads != config.num_attention_heads:
        check_ours(config, {"num_key_value_heads": None}, "GPT-2")
    fields = {theirs: getattr(config, ours) for ours, theirs in FIELDS.items()}
    if config.embedding_dropout is None:
        fields["embd_pdrop"] = config.hidden_dropout
    return (
        {"model_type": MODEL_TYPE, "tie_word_embeddings": config.tie_word_embeddings}
        | fields
        | {"activation_function": write_activation(config.hidden_act)}
        | write_special_ids(config)
    )
