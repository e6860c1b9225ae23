"""Sizes and names that cannot work are refused at the door, with a sentence that names them."""

import numpy as np
import pytest

from keras_transformer import layers
from keras_transformer.layers.normalization import normalization
from keras_transformer.models import Transformer, TransformerConfig

X = np.ones((1, 3, 8), "float32")
CONFIG = {"vocab_size": 10, "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8}


def config(**options):
    return TransformerConfig(**(CONFIG | options))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: layers.MultiHeadAttention(0, 4), "num_heads must be at least 1, not 0"),
        (lambda: layers.MultiHeadAttention(2, 0), "key_dim must be at least 1, not 0"),
        (
            lambda: layers.MultiHeadAttention(4, 4, 3),
            "num_key_value_heads=3 must divide num_heads=4",
        ),
        (
            lambda: layers.MultiHeadAttention(2, 4, 0),
            "num_key_value_heads must be at least 1, not 0",
        ),
        (lambda: layers.MultiHeadAttention(2, 4, dropout=1.5), "rate"),
        (lambda: layers.FeedForward(0), "intermediate_size must be at least 1, not 0"),
        (lambda: layers.FeedForward(8, hidden_act="mish"), "hidden_act must be one of.*'mish'"),
        (lambda: layers.EncoderLayer(0, 8), "num_heads must be at least 1, not 0"),
        (lambda: layers.EncoderLayer(2, 8, hidden_act="mish"), "hidden_act must be one of.*'mish'"),
        (lambda: layers.EncoderLayer(2, 8, norm="batch"), "norm must be one of.*'batch'"),
        (
            lambda: layers.EncoderLayer(3, 8)(X),
            "num_heads=3 must divide the width of the inputs, 8",
        ),
        (
            lambda: layers.Encoder(0, num_heads=2, intermediate_size=8),
            "num_layers must be at least 1",
        ),
        (lambda: layers.DecoderLayer(2, 8)(X), "attends to an encoder: give `memory`"),
        (lambda: layers.TokenEmbedding(0, 8), "vocab_size must be at least 1, not 0"),
        (lambda: layers.TokenEmbedding(8, 0), "hidden_size must be at least 1, not 0"),
        (lambda: layers.LearnedPositions(0), "max_position_embeddings must be at least 1, not 0"),
        (lambda: layers.RotaryPositions(theta=0), "theta must be positive, not 0"),
        (lambda: layers.RotaryPositions()(np.ones((1, 2, 3, 5))), "head width must be even, not 5"),
        (
            lambda: layers.EncoderLayer(2, 8, rotary=layers.RotaryPositions())(np.ones((1, 3, 6))),
            "head width must be even, not 3",
        ),
        (lambda: layers.BucketedPositionBias(2, num_buckets=7), "num_buckets must be even.*not 7"),
        (lambda: layers.BucketedPositionBias(2, 32, 8), "must exceed the 8 distances.*not 8"),
        (lambda: layers.AlibiPositionBias(0), "num_heads must be at least 1, not 0"),
        (lambda: normalization("batch", 1e-6), "norm must be one of.*'batch'"),
        (lambda: config(vocab_size=0), "vocab_size must be at least 1, not 0"),
        (lambda: config(decoder_layers=0), "decoder_layers must be at least 1, not 0"),
        (lambda: config(num_attention_heads=3), "num_attention_heads=3 must divide hidden_size=8"),
        (lambda: config(num_key_value_heads=3), "num_key_value_heads=3 must divide"),
        (lambda: config(hidden_act="mish"), "hidden_act must be one of.*'mish'"),
        (lambda: config(norm="batch"), "norm must be one of.*'batch'"),
        (lambda: config(positions="none"), "positions must be one of.*'none'"),
        (lambda: config(hidden_dropout=1.0), r"hidden_dropout must be in \[0, 1\), not 1.0"),
        (lambda: config(target_vocab_size=12), "share_embeddings needs one vocabulary"),
        (lambda: config(vocab_size=2), "eos_token_id=2 lies outside of the vocabulary of 2"),
        (lambda: TransformerConfig.preset("huge", vocab_size=10), "preset must be one of.*'huge'"),
    ],
)
def test_refusals(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_a_cache_needs_a_mask():
    attention = layers.MultiHeadAttention(2, 4)
    attention(X)
    cache = attention.empty_cache(1, 5)
    mask = np.ones((1, 1, 3, 5), bool)
    for options in (
        {"cache_index": 0},
        {"attention_mask": mask},
        {"attention_mask": mask, "cache_index": 0, "use_causal_mask": True},
    ):
        with pytest.raises(
            ValueError, match="with a cache give cache_index, and an attention_mask"
        ):
            attention(X, cache=cache, **options)


def test_decoding_beyond_the_learned_positions_is_refused():
    model = Transformer(config(positions="learned", max_position_embeddings=5))
    ids = np.array([[3, 4, 2]])
    with pytest.raises(ValueError, match=r"max_length=6 exceeds.*max_position_embeddings=5"):
        model.start(ids, max_length=6)
    assert model.start(ids, max_length=5).ancestors.shape == (5, 1, 1)


def test_a_source_longer_than_the_learned_positions_is_refused():
    model = Transformer(config(positions="learned", max_position_embeddings=5))
    short, long = np.full((1, 5), 3), np.full((1, 6), 3)
    assert model({"source": short, "target": short}).shape == (1, 5, 10)
    for batch in ({"source": long, "target": short}, {"source": short, "target": long}):
        with pytest.raises(ValueError, match=r"6 positions.*max_position_embeddings=5"):
            model(batch)
