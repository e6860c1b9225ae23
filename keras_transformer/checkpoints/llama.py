"""How Hugging Face's Llama checkpoints name what is in our `Gpt`."""

from __future__ import annotations

import warnings
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

MODEL_TYPE = "llama"

ARCHITECTURES = ("LlamaForCausalLM", "LlamaModel")
"""What a directory may say it is; the first is what ours is written as."""

_LAYER, _THEIRS = "model.decoder.layers.{layer}.", "model.layers.{layer}."
_ATTENTION, _FEED_FORWARD = _LAYER + "self_attention", _LAYER + "feed_forward"

_NORMS = (
    ("model.token_embedding.embeddings", "model.embed_tokens.weight"),
    (_ATTENTION + "_residual.norm.scale", _THEIRS + "input_layernorm.weight"),
    (_FEED_FORWARD + "_residual.norm.scale", _THEIRS + "post_attention_layernorm.weight"),
    ("model.decoder.norm.scale", "model.norm.weight"),
)

_MAPS = (
    (_ATTENTION + ".query_dense", _THEIRS + "self_attn.q_proj"),
    (_ATTENTION + ".key_dense", _THEIRS + "self_attn.k_proj"),
    (_ATTENTION + ".value_dense", _THEIRS + "self_attn.v_proj"),
    (_ATTENTION + ".output_dense", _THEIRS + "self_attn.o_proj"),
    (_FEED_FORWARD + ".gate_dense", _THEIRS + "mlp.gate_proj"),
    (_FEED_FORWARD + ".input_dense", _THEIRS + "mlp.up_proj"),
    (_FEED_FORWARD + ".output_dense", _THEIRS + "mlp.down_proj"),
)

_HEAD = ("model.output_dense.kernel", "lm_head.weight")


def names(config: GptConfig) -> NameMap:
    """The tensors of a model with this config."""
    tied = config.tie_word_embeddings
    table = [*_NORMS, *((ours + ".kernel", theirs + ".weight") for ours, theirs in _MAPS)]
    if config.use_bias:
        table += [(ours + ".bias", theirs + ".bias") for ours, theirs in _MAPS]
    return NameMap(
        names=tuple(table if tied else [*table, _HEAD]),
        encoder="model",
        copies={"lm_head.weight": "model.embed_tokens.weight"} if tied else {},
        # Computed from the config; older files hold it in every layer.
        ignored=frozenset({_THEIRS + "self_attn.rotary_emb.inv_freq"}),
    )


FIELDS = {
    "vocab_size": "vocab_size",
    "hidden_size": "hidden_size",
    "num_hidden_layers": "num_hidden_layers",
    "num_attention_heads": "num_attention_heads",
    "num_key_value_heads": "num_key_value_heads",
    "intermediate_size": "intermediate_size",
    "max_position_embeddings": "max_position_embeddings",
    "layer_norm_eps": "rms_norm_eps",
    "attention_dropout": "attention_dropout",
    "initializer_range": "initializer_range",
}
"""Numbers in `GptConfig`, and their names in `config.json`."""

DEFAULTS = {
    "vocab_size": 32000,
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "intermediate_size": 11008,
    "max_position_embeddings": 2048,
    "layer_norm_eps": 1e-6,
    "attention_dropout": 0.0,
}
"""What a `config.json` means that does not say it, beyond the defaults of `GptConfig`."""

OURS = {"gated": True, "positions": "rotary", "norm": "rms_norm"}
"""What a Llama is among our models."""


def read_config(fields: Mapping[str, Any]) -> GptConfig:
    """The config that a `config.json` describes.

    Raises:
        ValueError: when it describes something that our model cannot be.

    >>> read_config({"num_key_value_heads": 8, "rope_theta": 500000.0}).rope_theta
    500000.0
    """
    values = DEFAULTS | read_fields(fields, FIELDS)
    biases = [bool(fields.get(name, False)) for name in ("attention_bias", "mlp_bias")]
    if biases[0] != biases[1]:
        raise ValueError(
            f"attention_bias={biases[0]} and mlp_bias={biases[1]}: our model has biases in both "
            "or in neither."
        )
    config = GptConfig(
        **values,
        **OURS,
        **_read_rotation(fields, values["max_position_embeddings"]),
        **read_special_ids(fields, {"bos_token_id": 1, "eos_token_id": 2}),
        hidden_act=read_activation(fields, "hidden_act", "silu"),
        hidden_dropout=0.0,
        use_bias=biases[0],
        tie_word_embeddings=bool(fields.get("tie_word_embeddings", False)),
    )
    if fields.get("head_dim") is not None:
        check_only(fields, {"head_dim": config.hidden_size // config.num_attention_heads})
    return config


def write_config(config: GptConfig) -> dict[str, Any]:
    """The fields of `config.json` for a config.

    Raises:
        ValueError: when it is not of the shape of a Llama.

    Warns:
        UserWarning: when it has a dropout of which a Llama's config does not know.

    >>> write_config(GptConfig.preset("llama-small", vocab_size=50))["rms_norm_eps"]
    1e-05
    """
    check_ours(config, OURS, "Llama")
    for name in ("embedding_dropout", "hidden_dropout"):
        if getattr(config, name):
            warnings.warn(
                f"A Llama's config has no {name}: {getattr(config, name)} is left out.",
                stacklevel=4,
            )
    fields = {theirs: getattr(config, ours) for ours, theirs in FIELDS.items()} | {
        "num_key_value_heads": config.num_key_value_heads or config.num_attention_heads,
        "intermediate_size": config.inner_size,
    }
    return (
        {"model_type": MODEL_TYPE, "tie_word_embeddings": config.tie_word_embeddings}
        | fields
        | {"hidden_act": write_activation(config.hidden_act)}
        | {"attention_bias": config.use_bias, "mlp_bias": config.use_bias}
        | {"rope_theta": config.rope_theta, "rope_scaling": config.rope_scaling}
        | write_special_ids(config)
    )


def _read_rotation(fields: Mapping[str, Any], max_position_embeddings: int) -> dict[str, Any]:
    """`rope_theta` and `rope_scaling`, which newer files hold in one dictionary."""
    rope = fields.get("rope_parameters") or fields.get("rope_scaling") or {}
    if not isinstance(rope, Mapping):
        raise ValueError(f"rope_scaling must be a dictionary, not {rope!r}.")
    rope = dict(rope)
    theta = rope.pop("rope_theta", None) or fields.get("rope_theta") or 10000.0
    share = rope.pop("partial_rotary_factor", None) or fields.get("partial_rotary_factor") or 1.0
    if share != 1:
        raise ValueError(f"partial_rotary_factor must be 1, not {share!r}.")
    kind = rope.pop("type", "default")  # the older name
    rope = {"rope_type": kind} | rope
    if rope["rope_type"] == "default":
        return {"rope_theta": theta, "rope_scaling": None}
    if rope["rope_type"] == "llama3":
        rope = {"original_max_position_embeddings": max_position_embeddings} | rope
    return {"rope_theta": theta, "rope_scaling": rope}
