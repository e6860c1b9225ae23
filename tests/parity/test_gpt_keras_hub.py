"""Gpt gives what KerasHub's (keras-nlp's) GPT-2 and Llama give when they have the same weights."""

import keras
import keras_nlp
import numpy as np
from models import gpts
from numpy.testing import assert_allclose
from parity.test_keras_hub import copy_attention, copy_feed_forward, copy_norm, randomise

from keras_transformer.models import Gpt, GptConfig


def compare(ours, theirs):
    """Compares the logits; theirs give the last hidden states."""
    ids = np.random.default_rng(0).integers(3, 23, size=(2, 9)).astype("int32")
    hidden = theirs({"token_ids": ids, "padding_mask": np.ones_like(ids)})
    expected = theirs.token_embedding(hidden, reverse=True)
    assert_allclose(ours({"token_ids": ids}), keras.ops.convert_to_numpy(expected), atol=1e-4)


def test_gpt2_backbone():
    theirs = keras_nlp.models.GPT2Backbone(
        vocabulary_size=23,
        num_layers=2,
        num_heads=4,
        hidden_dim=16,
        intermediate_dim=24,
        max_sequence_length=40,
    )
    randomise(theirs, np.random.default_rng(7))
    ours = Gpt(GptConfig(**gpts.SIZES))
    ours.build()
    ours.token_embedding.embeddings.assign(theirs.token_embedding.embeddings)
    ours.position_embedding.embeddings.assign(theirs.position_embedding.position_embeddings)
    for source, target in zip(theirs.transformer_layers, ours.decoder.layers, strict=True):
        copy_attention(source._self_attention_layer, target.self_attention)
        copy_norm(source._self_attention_layer_norm, target.self_attention_residual.norm)
        copy_feed_forward(source, target)
    copy_norm(theirs.layer_norm, ours.decoder.norm)
    compare(ours, theirs)


def test_llama_backbone():
    theirs = keras_nlp.models.LlamaBackbone(
        vocabulary_size=23,
        num_layers=2,
        num_query_heads=4,
        num_key_value_heads=2,
        hidden_dim=16,
        intermediate_dim=24,
        rope_max_wavelength=500,
        layer_norm_epsilon=1e-6,
    )
    randomise(theirs, np.random.default_rng(7))
    ours = Gpt(gpts.CONFIGS["llama"])
    ours.build()
    ours.token_embedding.embeddings.assign(theirs.token_embedding.embeddings)
    ours.output_dense.kernel.assign(theirs.token_embedding.reverse_embeddings)
    ours.decoder.norm.scale.assign(theirs.layer_norm.scale)
    for source, target in zip(theirs.transformer_layers, ours.decoder.layers, strict=True):
        attention, network = source._self_attention_layer, target.feed_forward
        pairs = [
            (attention._query_dense.kernel, target.self_attention.query_dense.kernel),
            (attention._key_dense.kernel, target.self_attention.key_dense.kernel),
            (attention._value_dense.kernel, target.self_attention.value_dense.kernel),
            (attention._output_dense.kernel, target.self_attention.output_dense.kernel),
            (source._feedforward_gate_dense.kernel, network.gate_dense.kernel),
            (source._feedforward_intermediate_dense.kernel, network.input_dense.kernel),
            (source._feedforward_output_dense.kernel, network.output_dense.kernel),
            (source._self_attention_layernorm.scale, target.self_attention_residual.norm.scale),
            (source._feedforward_layernorm.scale, target.feed_forward_residual.norm.scale),
        ]
        for kernel, own in pairs:
            own.assign(keras.ops.reshape(kernel, own.shape))
    compare(ours, theirs)
