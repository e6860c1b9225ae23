"""What the readers and writers of a Hugging Face `config.json` have in common."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from keras_transformer.models import GptConfig

ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
    "leaky_relu": "leaky_relu",
    "sigmoid": "sigmoid",
    "tanh": "tanh",
}
"""Names of activations in `config.json`, and ours."""


def check_only(fields: Mapping[str, Any], only: Mapping[str, Any]) -> None:
    """Holds settings to the one value that our model has; those left out have it.

    Raises:
        ValueError: naming the first that has another one.

    >>> check_only({"add_cross_attention": True}, {"add_cross_attention": False})
    Traceback (most recent call last):
    ValueError: add_cross_attention must be False, not True.
    """
    for name, value in only.items():
        if fields.get(name, value) != value:
            raise ValueError(f"{name} must be {value!r}, not {fields[name]!r}.")


def check_ours(config: GptConfig, wanted: Mapping[str, Any], family: str) -> None:
    """Refuses a config of ours that is not of the shape of a family.

    Raises:
        ValueError: naming the first field that differs.

    >>> check_ours(GptConfig(vocab_size=50), {"positions": "rotary"}, "Llama")
    Traceback (most recent call last):
    ValueError: A Llama has positions='rotary', not 'learned': the model cannot be written as one.
    """
    for name, value in wanted.items():
        if getattr(config, name) != value:
            raise ValueError(
                f"A {family} has {name}={value!r}, not {getattr(config, name)!r}: the model "
                "cannot be written as one."
            )


def read_fields(fields: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The numbers in a `config.json` by our names; what is left out or null is not among them.

    Args:
        fields: of the `config.json`.
        names: our names, and theirs.

    Raises:
        ValueError: when one is no number.

    >>> read_fields({"n_layer": 3, "n_inner": None}, {"layers": "n_layer", "inner": "n_inner"})
    {'layers': 3}
    """
    values = {}
    for ours, theirs in names.items():
        value = fields.get(theirs)
        if value is None:
            continue
        if type(value) not in (int, float):
            raise ValueError(f"{theirs} must be a number, not {value!r}.")
        values[ours] = value
    return values


def read_activation(fields: Mapping[str, Any], name: str, default: str) -> str:
    """Our name of an activation.

    Raises:
        ValueError: when we do not have it.

    >>> read_activation({}, "activation_function", "gelu_new")
    'gelu_tanh'
    """
    act = fields.get(name) or default
    if not isinstance(act, str) or act not in ACTIVATIONS:
        raise ValueError(f"{name} must be one of {', '.join(ACTIVATIONS)}, not {act!r}.")
    return ACTIVATIONS[act]


def write_activation(act: str) -> str:
    """Their name of an activation of ours.

    >>> write_activation("gelu_tanh")
    'gelu_new'
    """
    return "gelu_new" if act == "gelu_tanh" else act


def read_special_ids(fields: Mapping[str, Any], defaults: Mapping[str, int]) -> dict[str, int]:
    """The ids of padding, beginning and end; a decoder's padding may have none, which is -1 here.

    Nor is an id padding that also begins or ends texts: it would not be seen, while Hugging Face's
    decoders see every token unless an attention mask hides it.

    Args:
        fields: of the `config.json`.
        defaults: `bos_token_id` and `eos_token_id` where they are left out.

    Warns:
        UserWarning: when there are several ends, of which the first is taken.

    >>> read_special_ids({"eos_token_id": 3}, {"bos_token_id": 1, "eos_token_id": 2})
    {'pad_token_id': -1, 'bos_token_id': 1, 'eos_token_id': 3}
    >>> read_special_ids({"pad_token_id": 2}, {"bos_token_id": 1, "eos_token_id": 2})
    {'pad_token_id': -1, 'bos_token_id': 1, 'eos_token_id': 2}
    """
    ids, marks = {}, []  # marks: all ids that begin or end texts
    for name, default in (
        ("pad_token_id", -1),
        ("bos_token_id", defaults["bos_token_id"]),
        ("eos_token_id", defaults["eos_token_id"]),
    ):
        value = fields.get(name)
        several = value if isinstance(value, list) else []
        if several:
            warnings.warn(f"{name} is {value}: only the first of them is used.", stacklevel=5)
            value = value[0]
        if value is not None and type(value) is not int:
            raise ValueError(f"{name} must be a whole number, not {value!r}.")
        ids[name] = default if value is None else value
        if name != "pad_token_id":
            marks += [ids[name], *several]
    if ids["pad_token_id"] in marks:
        ids["pad_token_id"] = -1
    return ids


def write_special_ids(config: GptConfig) -> dict[str, int | None]:
    """The same for `config.json`.

    >>> write_special_ids(GptConfig(vocab_size=50, pad_token_id=-1))
    {'pad_token_id': None, 'bos_token_id': 1, 'eos_token_id': 2}
    """
    pad = config.pad_token_id
    return {
        "pad_token_id": None if pad == -1 else pad,
        "bos_token_id": config.bos_token_id,
        "eos_token_id": config.eos_token_id,
    }
