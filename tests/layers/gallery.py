"""A small functional model for each layer and each way of using it, for what all of them must do.

Only Keras is imported here: the same models are built on other backends.
"""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from keras_transformer import layers
from keras_transformer.layers import masks

Tensors = dict[str, Any]

INPUTS = {
    "hidden": ((None, 8), "float32"),
    "memory": ((None, 8), "float32"),
    "heads": ((2, None, 4), "float32"),
    "ids": ((None,), "int32"),
    "segments": ((None,), "int32"),
    "positions": ((None,), "int32"),
    "mask": ((None,), "bool"),
    "memory_mask": ((None,), "bool"),
}


def inputs(seed: int = 0) -> dict[str, np.ndarray]:
    """A batch of two: five target and seven source positions, the second row padded."""
    random = np.random.default_rng(seed)
    return {
        "hidden": random.normal(size=(2, 5, 8)).astype("float32"),
        "memory": random.normal(size=(2, 7, 8)).astype("float32"),
        "heads": random.normal(size=(2, 2, 5, 4)).astype("float32"),
        "ids": np.array([[4, 5, 6, 7, 8], [9, 3, 10, 0, 0]], "int32"),
        "segments": np.array([[1, 1, 2, 2, 2], [1, 1, 1, 0, 0]], "int32"),
        "positions": np.array([[0, 1, 2, 3, 4], [3, 4, 5, 6, 7]], "int32"),
        "mask": np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], bool),
        "memory_mask": np.array([[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0]], bool),
    }


def _attention(**options: Any) -> layers.MultiHeadAttention:
    return layers.MultiHeadAttention(**({"num_heads": 2, "key_dim": 4} | options))


def _tied(x: Tensors) -> Any:
    embedding = layers.TokenEmbedding(11, 8)
    return embedding(embedding(x["ids"]), reverse=True)


def _hand_stacked(x: Tensors) -> Any:
    hidden = layers.TokenEmbedding(11, 8, mask_zero=True)(x["ids"])
    hidden = layers.SinusoidalPositions()(hidden)
    return layers.EncoderLayer(num_heads=2, intermediate_size=16)(hidden)


BLOCK = {"num_heads": 2, "intermediate_size": 16, "hidden_dropout": 0.1, "attention_dropout": 0.1}

# name -> (names of the inputs, what is computed from them)
GALLERY: dict[str, tuple[str, Callable[[Tensors], Any]]] = {
    "token_embedding": ("ids", lambda x: layers.TokenEmbedding(11, 8)(x["ids"])),
    "tied_logits": ("ids", _tied),
    "sinusoidal_positions": ("hidden", lambda x: layers.SinusoidalPositions()(x["hidden"])),
    "learned_positions": ("hidden", lambda x: layers.LearnedPositions(9)(x["hidden"])),
    "given_positions": (
        "hidden positions",
        lambda x: layers.LearnedPositions(9)(x["hidden"], positions=x["positions"]),
    ),
    "rotary_positions": ("heads", lambda x: layers.RotaryPositions(theta=500.0)(x["heads"])),
    "self_attention": (
        "hidden mask",
        lambda x: _attention(dropout=0.1)(x["hidden"], attention_mask=x["mask"]),
    ),
    "cross_attention": (
        "hidden memory memory_mask",
        lambda x: _attention(value_dim=3, output_dim=6)(
            x["hidden"], x["memory"], attention_mask=x["memory_mask"]
        ),
    ),
    "attention_with_scores": (
        "hidden",
        lambda x: _attention(use_bias=False)(
            x["hidden"], use_causal_mask=True, return_attention_scores=True
        ),
    ),
    "grouped_rotary_attention": (
        "hidden",
        lambda x: _attention(
            num_heads=4, num_key_value_heads=2, rotary=layers.RotaryPositions(theta=100.0)
        )(x["hidden"], use_causal_mask=True),
    ),
    "bucketed_attention": (
        "hidden mask",
        lambda x: _attention(
            position_bias=layers.BucketedPositionBias(2, num_buckets=8, max_distance=16)
        )(x["hidden"], attention_mask=x["mask"]),
    ),
    "alibi_attention": (
        "hidden",
        lambda x: _attention(position_bias=layers.AlibiPositionBias(2))(
            x["hidden"], use_causal_mask=True
        ),
    ),
    "feed_forward": (
        "hidden",
        lambda x: layers.FeedForward(16, hidden_act="gelu", activation_dropout=0.1)(x["hidden"]),
    ),
    "gated_feed_forward": (
        "hidden",
        lambda x: layers.FeedForward(16, hidden_act="silu", gated=True, use_bias=False)(
            x["hidden"]
        ),
    ),
    "encoder_layer": (
        "hidden mask",
        lambda x: layers.EncoderLayer(**BLOCK)(x["hidden"], attention_mask=x["mask"]),
    ),
    "pre_norm_gated_encoder_layer": (
        "hidden",
        lambda x: layers.EncoderLayer(
            **BLOCK, norm_first=True, norm="rms_norm", hidden_act="silu", gated=True
        )(x["hidden"]),
    ),
    "packed_encoder_layer": (
        "hidden segments",
        lambda x: layers.EncoderLayer(**BLOCK)(
            x["hidden"], attention_mask=masks.segment_mask(x["segments"])
        ),
    ),
    "decoder_layer": (
        "hidden memory mask memory_mask",
        lambda x: layers.DecoderLayer(**BLOCK)(
            x["hidden"], x["memory"], attention_mask=x["mask"], memory_mask=x["memory_mask"]
        ),
    ),
    "decoder_only_layer": (
        "hidden positions",
        lambda x: layers.DecoderLayer(
            **BLOCK, cross_attention=False, norm_first=True, rotary=layers.RotaryPositions()
        )(x["hidden"], positions=x["positions"]),
    ),
    "encoder": (
        "hidden mask",
        lambda x: layers.Encoder(
            2,
            final_norm=True,
            **BLOCK,
            position_bias=layers.BucketedPositionBias(2, num_buckets=8, max_distance=16),
        )(x["hidden"], attention_mask=x["mask"]),
    ),
    "decoder": (
        "hidden memory memory_mask",
        lambda x: layers.Decoder(
            2,
            final_norm=True,
            norm_first=True,
            num_key_value_heads=1,
            rotary=layers.RotaryPositions(),
            **BLOCK,
        )(x["hidden"], x["memory"], memory_mask=x["memory_mask"]),
    ),
    "hand_stacked": ("ids", _hand_stacked),
    "mask_from_ids": (
        "hidden ids",
        lambda x: layers.EncoderLayer(**BLOCK)(
            x["hidden"], attention_mask=masks.padding_mask(x["ids"])
        ),
    ),
}


def build(name: str) -> keras.Model:
    """The functional model of an entry; it takes the dictionary that `inputs_of` gives."""
    names, compute = GALLERY[name]
    symbols = {n: keras.Input(INPUTS[n][0], dtype=INPUTS[n][1], name=n) for n in names.split()}
    return keras.Model(symbols, compute(symbols), name=name)


def inputs_of(name: str) -> dict[str, np.ndarray]:
    """The inputs of an entry."""
    values = inputs()
    return {n: values[n] for n in GALLERY[name][0].split()}


def randomise(model: keras.layers.Layer, seed: int = 1) -> None:
    """Gives every weight a value that matters: zero biases and unit gains would hide mistakes."""
    random = np.random.default_rng(seed)
    for weight in model.weights:
        is_gain = weight.path.endswith(("gamma", "scale"))
        weight.assign(random.normal(float(is_gain), 0.25, size=tuple(weight.shape)))


def outputs_of(model: keras.Model, values: dict[str, np.ndarray]) -> list[np.ndarray]:
    """What the model gives, as arrays."""
    outputs = model(values)
    if isinstance(outputs, dict):
        outputs = [outputs[name] for name in sorted(outputs)]
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return [keras.ops.convert_to_numpy(output) for output in outputs]
