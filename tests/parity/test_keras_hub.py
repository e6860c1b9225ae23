"""Our layers give what KerasHub's (keras-nlp's) give when they have the same weights."""

import keras
import keras_nlp
import numpy as np
import pytest

from keras_transformer.layers import DecoderLayer, EncoderLayer, SinusoidalPositions

WIDTH, HEADS, INNER = 16, 4, 32


def copy_attention(theirs: keras.layers.MultiHeadAttention, ours) -> None:
    pairs = [
        (theirs.query_dense, ours.query_dense),
        (theirs.key_dense, ours.key_dense),
        (theirs.value_dense, ours.value_dense),
        (theirs.output_dense, ours.output_dense),
    ]
    for source, target in pairs:
        # Theirs keep heads as an axis, [width, heads, dim] and [heads, dim, width].
        target.kernel.assign(keras.ops.reshape(source.kernel, target.kernel.shape))
        target.bias.assign(keras.ops.reshape(source.bias, target.bias.shape))


def copy_norm(theirs, ours) -> None:
    ours.gamma.assign(theirs.gamma)
    ours.beta.assign(theirs.beta)


def copy_feed_forward(theirs, ours) -> None:
    ours.feed_forward.input_dense.set_weights(theirs._feedforward_intermediate_dense.get_weights())
    ours.feed_forward.output_dense.set_weights(theirs._feedforward_output_dense.get_weights())
    copy_norm(theirs._feedforward_layer_norm, ours.feed_forward_residual.norm)


def randomise(layer: keras.Layer, rng: np.random.Generator) -> None:
    for variable in layer.trainable_variables:
        variable.assign(rng.normal(size=variable.shape) * 0.3)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.mark.parametrize("norm_first", [False, True])
def test_encoder_layer(norm_first, rng):
    theirs = keras_nlp.layers.TransformerEncoder(
        INNER, HEADS, activation="gelu", layer_norm_epsilon=1e-6, normalize_first=norm_first
    )
    ours = EncoderLayer(HEADS, INNER, hidden_act="gelu", norm_first=norm_first)
    inputs = rng.normal(size=(2, 5, WIDTH)).astype("float32")
    mask = np.array([[True] * 5, [True] * 3 + [False] * 2])
    theirs(inputs), ours(inputs)
    randomise(theirs, rng)
    copy_attention(theirs._self_attention_layer, ours.self_attention)
    copy_norm(theirs._self_attention_layer_norm, ours.self_attention_residual.norm)
    copy_feed_forward(theirs, ours)

    expected = keras.ops.convert_to_numpy(theirs(inputs, padding_mask=mask))
    found = keras.ops.convert_to_numpy(ours(inputs, attention_mask=mask))
    np.testing.assert_allclose(found[mask], expected[mask], atol=1e-5)


@pytest.mark.parametrize("norm_first", [False, True])
def test_decoder_layer_with_another_source_length(norm_first, rng):
    theirs = keras_nlp.layers.TransformerDecoder(
        INNER, HEADS, layer_norm_epsilon=1e-6, normalize_first=norm_first
    )
    ours = DecoderLayer(HEADS, INNER, norm_first=norm_first)
    inputs = rng.normal(size=(2, 4, WIDTH)).astype("float32")
    memory = rng.normal(size=(2, 6, WIDTH)).astype("float32")
    memory_mask = np.array([[True] * 6, [True] * 2 + [False] * 4])
    theirs(inputs, memory), ours(inputs, memory)
    randomise(theirs, rng)
    copy_attention(theirs._self_attention_layer, ours.self_attention)
    copy_norm(theirs._self_attention_layer_norm, ours.self_attention_residual.norm)
    copy_attention(theirs._cross_attention_layer, ours.cross_attention)
    copy_norm(theirs._cross_attention_layer_norm, ours.cross_attention_residual.norm)
    copy_feed_forward(theirs, ours)

    expected = theirs(inputs, memory, encoder_padding_mask=memory_mask)
    found = ours(inputs, memory, memory_mask=memory_mask)
    np.testing.assert_allclose(
        keras.ops.convert_to_numpy(found), keras.ops.convert_to_numpy(expected), atol=1e-5
    )


def test_sinusoidal_positions():
    inputs = np.zeros((1, 50, WIDTH), "float32")
    theirs = keras_nlp.layers.SinePositionEncoding()(inputs)
    ours = SinusoidalPositions()(inputs)
    np.testing.assert_allclose(
        keras.ops.convert_to_numpy(ours)[0], keras.ops.convert_to_numpy(theirs)[0], atol=1e-5
    )
