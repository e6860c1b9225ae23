"""Small models of every kind, and a padded batch for them. Only Keras is imported here."""

import numpy as np

from keras_transformer.models import TransformerConfig

SIZES = {
    "vocab_size": 23,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_attention_heads": 4,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "max_position_embeddings": 40,
}

CONFIGS: dict[str, TransformerConfig] = {
    "paper": TransformerConfig(**SIZES),
    "learned": TransformerConfig(
        **SIZES,
        positions="learned",
        hidden_act="gelu",
        norm_first=True,
        final_norm=False,
        layer_norm_eps=1e-3,
        hidden_dropout=0.3,
        attention_dropout=0.2,
        activation_dropout=0.1,
        tie_word_embeddings=False,
    ),
    "rotary": TransformerConfig(
        **SIZES | {"decoder_layers": 1},
        positions="rotary",
        rope_theta=500.0,
        target_vocab_size=29,
        share_embeddings=False,
        norm_first=True,
        norm="rms_norm",
        hidden_act="silu",
        gated=True,
        use_bias=False,
        num_key_value_heads=2,
    ),
    "buckets": TransformerConfig(
        **SIZES, positions="buckets", num_key_value_heads=1, final_norm=True, norm_first=True
    ),
    "alibi": TransformerConfig(
        **SIZES, positions="alibi", target_vocab_size=23, share_embeddings=False
    ),
}


def batch(seed: int = 0) -> dict[str, np.ndarray]:
    """Three sentences; the first source and the last target are padded."""
    random = np.random.default_rng(seed)
    source = random.integers(3, 23, size=(3, 7)).astype("int32")
    target = random.integers(3, 23, size=(3, 6)).astype("int32")
    source[0, 4:] = 0
    target[:, 0] = 1
    target[2, 4:] = 0
    return {"source": source, "target": target}
