"""The mask functions, and how masks reach attention: as arguments, or on the tensors."""

import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf
from layers import gallery
from numpy.testing import assert_allclose, assert_array_equal

from keras_transformer import layers
from keras_transformer.layers import masks

IDS = np.array(
    [[0, 0, 5, 6, 7], [8, 9, 4, 3, 10]], "int32"
)  # padded on the left: causality hides nothing
SOURCE = np.array([[5, 6, 7, 0, 0, 0, 0], [8, 9, 4, 3, 10, 6, 5]], "int32")


def test_padding_mask_takes_any_padding_id():
    assert_array_equal(masks.padding_mask([[5, 0, 9]]), [[True, False, True]])
    assert_array_equal(masks.padding_mask(np.array([[5, 0, 9]]), pad_id=9), [[True, True, False]])


def test_causal_mask_with_earlier_keys():
    expected = [[True, True, True, False], [True, True, True, True]]
    assert_array_equal(masks.causal_mask(2, 4, offset=2)[0, 0], expected)


def test_segment_mask_keeps_documents_apart_and_padding_out():
    mask = masks.segment_mask(np.array([[1, 1, 2, 0]]))[0, 0]
    expected = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    assert_array_equal(mask, np.array(expected, bool))


def test_segment_mask_of_queries_and_keys():
    mask = masks.segment_mask(np.array([[1, 2]]), np.array([[2, 1, 1, 0]]))[0, 0]
    assert_array_equal(mask, np.array([[0, 1, 1, 0], [1, 0, 0, 0]], bool))


def test_packed_documents_are_computed_as_if_alone():
    layer = layers.Encoder(2, num_heads=2, intermediate_size=16, rotary=layers.RotaryPositions())
    x = np.random.default_rng(0).normal(size=(1, 7, 8)).astype("float32")
    segments = np.array([[1, 1, 1, 2, 2, 0, 0]])
    packed = layer(x, attention_mask=masks.segment_mask(segments))
    assert_allclose(packed[:, :3], layer(x[:, :3]), atol=1e-5)
    assert_allclose(packed[:, 3:5], layer(x[:, 3:5]), atol=1e-5)


def test_masks_combine_as_booleans_of_any_rank():
    padding = np.array([[True, True, False]])
    per_query = np.array([[[True, False, True]] * 3])
    combined = masks.combine_masks(padding, None, per_query, masks.causal_mask(3))
    assert_array_equal(combined[0, 0], [[True, False, False]] * 3)
    assert masks.combine_masks(None, None) is None


@pytest.mark.parametrize("mask", [np.ones((1, 3), "int32"), np.zeros((1, 1, 3, 3), "float32")])
def test_numbers_are_refused_as_masks(mask):
    with pytest.raises(ValueError, match="must be boolean"):
        layers.EncoderLayer(2, 16)(np.ones((1, 3, 8), "float32"), attention_mask=mask)


def test_masks_of_other_ranks_are_refused():
    with pytest.raises(ValueError, match="not of rank 1"):
        masks.combine_masks(np.ones(3, bool))


def test_true_means_may_be_attended_in_every_layer():
    """Whoever hides a key by False, hides it everywhere; the query itself is never hidden."""
    x = np.random.default_rng(0).normal(size=(1, 3, 8)).astype("float32")
    changed = x.copy()
    changed[:, 2] += 1.0
    mask = np.array([[True, True, False]])
    attention = layers.MultiHeadAttention(2, 4)
    encoder = layers.EncoderLayer(2, 16)
    decoder = layers.DecoderLayer(2, 16)
    alone = layers.DecoderLayer(2, 16, cross_attention=False)
    cases = {
        "attention": lambda t, m: attention(t, attention_mask=m),
        "encoder": lambda t, m: encoder(t, attention_mask=m),
        "decoder": lambda t, m: alone(t, attention_mask=m, use_causal_mask=False),
        "memory": lambda t, m: decoder(x, t, memory_mask=m),
    }
    for name, call in cases.items():
        hidden = call(x, mask)[:, :2] - call(changed, mask)[:, :2]
        shown = call(x, ~mask)[:, :2] - call(changed, ~mask)[:, :2]
        assert np.abs(hidden).max() == 0.0, name
        assert np.abs(shown).max() > 1e-3, name


def with_masks_by_hand(name, embedding, stack):
    """What a layer gives when its masks come as arguments."""
    mask, memory_mask = masks.padding_mask(IDS), masks.padding_mask(SOURCE)
    plain = layers.TokenEmbedding(11, 8)
    plain.build((None, None))
    plain.embeddings.assign(embedding.embeddings)
    hidden, memory = plain(IDS), plain(SOURCE)
    calls = {
        "attention": lambda: stack(hidden, attention_mask=mask),
        "attention_to_itself": lambda: stack(hidden, hidden, attention_mask=mask),
        "cross_attention": lambda: stack(hidden, memory, attention_mask=memory_mask),
        "encoder_layer": lambda: stack(hidden, attention_mask=mask),
        "encoder": lambda: stack(hidden, attention_mask=mask),
        "decoder_layer": lambda: stack(
            hidden, memory, attention_mask=mask, memory_mask=memory_mask
        ),
        "decoder": lambda: stack(hidden, memory, attention_mask=mask, memory_mask=memory_mask),
        "decoder_only": lambda: stack(hidden, attention_mask=mask),
    }
    return calls[name]()


STACKS = {
    "attention": lambda: layers.MultiHeadAttention(2, 4),
    "attention_to_itself": lambda: layers.MultiHeadAttention(2, 4),
    "cross_attention": lambda: layers.MultiHeadAttention(2, 4),
    "encoder_layer": lambda: layers.EncoderLayer(2, 16),
    "encoder": lambda: layers.Encoder(2, num_heads=2, intermediate_size=16),
    "decoder_layer": lambda: layers.DecoderLayer(2, 16),
    "decoder": lambda: layers.Decoder(2, num_heads=2, intermediate_size=16),
    "decoder_only": lambda: layers.DecoderLayer(2, 16, cross_attention=False),
}


@pytest.mark.parametrize("name", STACKS)
def test_masks_on_the_tensors_are_honoured(name):
    embedding = layers.TokenEmbedding(11, 8, mask_zero=True)
    hidden, memory = embedding(IDS), embedding(SOURCE)
    stack = STACKS[name]()
    if name == "attention_to_itself":
        output = stack(hidden, hidden)
    elif name in ("cross_attention", "decoder_layer", "decoder"):
        output = stack(hidden, memory)
    else:
        output = stack(hidden)
    expected = with_masks_by_hand(name, embedding, stack)
    assert_allclose(output, expected, atol=1e-6)
    assert_array_equal(output._keras_mask, IDS != 0)  # and handed on


def test_a_mask_on_the_tensor_is_honoured_beside_other_arguments():
    embedding = layers.TokenEmbedding(11, 8, mask_zero=True)
    hidden = embedding(IDS)
    only_last = np.array([[False, False, False, False, True]] * 2)
    positions = np.arange(5)
    encoder = layers.EncoderLayer(2, 16)
    both = encoder(hidden, attention_mask=only_last, positions=positions)
    by_hand = encoder(hidden.numpy(), attention_mask=only_last & (IDS != 0))
    assert_allclose(both, by_hand, atol=1e-6)
    with_positions = encoder(hidden, positions=positions)
    assert_allclose(with_positions, encoder(hidden.numpy(), attention_mask=IDS != 0), atol=1e-6)


def test_keras_own_embedding_hands_its_mask_to_our_layers():
    embedding = keras.layers.Embedding(11, 8, mask_zero=True)
    encoder = layers.EncoderLayer(2, 16)
    expected = encoder(embedding(IDS).numpy(), attention_mask=IDS != 0)
    assert_allclose(encoder(embedding(IDS)), expected, atol=1e-6)


def test_projected_memory_needs_no_mask():
    layer = layers.DecoderLayer(2, 16)
    x = gallery.inputs()
    expected = layer(x["hidden"], x["memory"])
    projected = layer.cross_attention.project_memory(x["memory"])
    assert_allclose(layer(x["hidden"], projected), expected, atol=1e-6)


def test_plain_call_graph_predict_and_export_agree_without_any_warning(tmp_path):
    """A mask that rides on tensors must survive every way of running a model."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = keras.Sequential(
            [
                keras.Input((None,), dtype="int32"),
                layers.TokenEmbedding(11, 8, mask_zero=True),
                layers.SinusoidalPositions(),
                layers.EncoderLayer(2, 16, hidden_dropout=0.1),
                layers.MultiHeadAttention(2, 4),
            ]
        )
        ids = np.array([[1, 2, 0, 0]], "int32")
        plain = model(ids)
        graph = tf.function(model)(ids)
        predicted = model.predict(ids, verbose=0)
        model.compile("adam", "mse")
        alone = model(ids[:, :2])
        model.export(tmp_path / "export", verbose=False)
        loaded = tf.saved_model.load(tmp_path / "export")
        exported = loaded.serve(ids)
        model.fit(ids, plain.numpy(), verbose=0)
    for other in (graph, predicted, exported):
        assert_allclose(other, plain, atol=1e-5)
    assert_allclose(plain[:, :2], alone, atol=1e-5)
