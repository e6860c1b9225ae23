"""Decoder-only checkpoints, GPT-2's and Llama's: directories to our `Gpt`, and back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from keras_transformer.checkpoints import gpt2, llama
from keras_transformer.checkpoints.tensor_files import TensorFiles
from keras_transformer.models import Gpt

FAMILIES: dict[str, ModuleType] = {family.MODEL_TYPE: family for family in (gpt2, llama)}
"""Tables of names and readers of configs, by the "model_type" of a `config.json`."""


def load_gpt(directory: Path, fields: Mapping[str, Any], dtype: Any) -> Gpt:
    """The model in a directory of one of the `FAMILIES`.

    Args:
        directory: the folder.
        fields: its `config.json`.
        dtype: Keras dtype policy of the model.

    Raises:
        ValueError: when the directory holds something that our model cannot be.
    """
    family = FAMILIES[fields["model_type"]]
    architecture = (fields.get("architectures") or family.ARCHITECTURES)[0]
    try:
        if architecture not in family.ARCHITECTURES:
            raise ValueError(
                f"the architecture must be one of {', '.join(family.ARCHITECTURES)}, "
                f"not {architecture!r}."
            )
        config = family.read_config(fields)
    except ValueError as error:
        raise ValueError(f"{directory / 'config.json'}: {error}") from None
    files = TensorFiles(directory)
    model = Gpt(config, dtype=dtype)
    model.build()
    family.names(config).load(model, files, config.num_hidden_layers)
    return model


def written(model: Gpt) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The fields of `config.json` and the tensors of a model.

    Raises:
        ValueError: when no family has a model of its shape.
    """
    families = {"learned": gpt2, "rotary": llama}
    config = model.config
    if config.positions not in families:
        raise ValueError(
            f"A model with {config.positions} positions has no place among Hugging Face's; those "
            "with learned ones are written as GPT-2, those with rotary ones as Llama."
        )
    family = families[config.positions]
    fields = family.write_config(config) | {"architectures": [family.ARCHITECTURES[0]]}
    tensors = family.names(config).tensors(model, config.num_hidden_layers, bare=False)
    return fields, tensors
