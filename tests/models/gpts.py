"""Small decoder-only models of every kind, and padded prompts for them. Only Keras is imported."""

from typing import Any

import numpy as np
from layers import gallery

from keras_transformer.models import Gpt, GptConfig

SIZES = {
    "vocab_size": 23,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "max_position_embeddings": 40,
}

LLAMA = {
    "positions": "rotary",
    "rope_theta": 500.0,
    "norm": "rms_norm",
    "layer_norm_eps": 1e-6,
    "hidden_act": "silu",
    "gated": True,
    "use_bias": False,
    "num_key_value_heads": 2,
    "tie_word_embeddings": False,
}

LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 20,
}

CONFIGS: dict[str, GptConfig] = {
    "gpt2": GptConfig(**SIZES),
    "llama": GptConfig(**SIZES, **LLAMA),
    "llama3": GptConfig(
        **SIZES | {"num_hidden_layers": 1, "pad_token_id": -1},
        **LLAMA | {"rope_scaling": LLAMA3, "num_key_value_heads": 1, "tie_word_embeddings": True},
    ),
    "sinusoidal": GptConfig(**SIZES, positions="sinusoidal"),
}


def built(name: str, dtype: Any = None) -> Gpt:
    """A model with weights that matter: zero biases and unit gains would hide mistakes."""
    model = Gpt(CONFIGS[name], dtype=dtype)
    model.build()
    gallery.randomise(model)
    return model


def prompts(model: Gpt, seed: int = 0) -> np.ndarray:
    """Three prompts: of 3 tokens padded on the left, of 5 padded on the right, of 7."""
    ids = np.random.default_rng(seed).integers(3, 23, size=(3, 7)).astype("int32")
    ids[0, :4] = ids[1, 5:] = model.config.pad_token_id
    return ids


def real(model: Gpt, ids: np.ndarray) -> list[np.ndarray]:
    """The tokens of each row without its padding."""
    return [row[row != model.config.pad_token_id] for row in ids]
