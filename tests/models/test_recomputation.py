"""Layers that are computed twice give the numbers of layers that are computed once."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.layers import Encoder
from keras_transformer.models import (
    Bert,
    BertClassifier,
    BertConfig,
    Gpt,
    GptConfig,
    Transformer,
    TransformerConfig,
    recompute_layers,
)

DROPOUT = {"hidden_dropout": 0.3, "attention_dropout": 0.2}
IDS = np.array([[5, 6, 7, 8, 0], [9, 3, 4, 0, 0], [2, 8, 9, 7, 6]])


def transformer(**fields):
    sizes = {"hidden_size": 16, "num_attention_heads": 2, "encoder_layers": 2, "decoder_layers": 2}
    config = TransformerConfig(
        vocab_size=20, intermediate_size=32, activation_dropout=0.1, **sizes, **DROPOUT, **fields
    )
    return Transformer(config), {"source": IDS, "target": IDS[:, :4]}


def gpt(**fields):
    sizes = {"hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 2}
    config = GptConfig(vocab_size=20, max_position_embeddings=8, **sizes, **DROPOUT, **fields)
    return Gpt(config), {"token_ids": IDS}


def bert():
    sizes = {"hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 2}
    config = BertConfig(vocab_size=20, intermediate_size=32, **sizes, **DROPOUT)
    return BertClassifier(Bert(config), num_labels=3), {"token_ids": IDS}


MODELS = {
    "transformer": transformer,
    "position bias shared by the layers": lambda: transformer(positions="buckets"),
    "gpt": gpt,
    "rotary positions, shared keys": lambda: gpt(positions="rotary", num_key_value_heads=1),
    "bert with a head": bert,
}


def two_steps(make, recompute, policy="float32", in_graph=True):
    """Losses and gradients of two steps, and the seed generators' states after them."""
    keras.utils.set_random_seed(3)
    keras.config.set_dtype_policy(policy)
    try:
        model, inputs = make()
    finally:
        keras.config.set_dtype_policy("float32")
    model.build()
    recompute_layers(model, recompute)

    def step():
        with tf.GradientTape() as tape:
            outputs = tf.cast(model(inputs, training=True), tf.float32)
            loss = tf.reduce_mean(tf.math.sin(outputs * 3.0))
        gradients = tape.gradient(loss, [v.value for v in model.trainable_variables])
        return loss, [tf.convert_to_tensor(gradient) for gradient in gradients]

    step = tf.function(step) if in_graph else step
    results = [tf.nest.flatten(step()) for _ in range(2)]
    states = [v for v in model.non_trainable_variables if "seed" in v.path]
    assert len(states) > 4
    return results, [keras.ops.convert_to_numpy(state) for state in states]


def assert_same(once, twice, tolerance):
    for values, others in zip(once[0], twice[0], strict=True):
        for value, other in zip(values, others, strict=True):
            scale = float(np.abs(value).max())
            np.testing.assert_allclose(other, value, rtol=0, atol=tolerance * scale + 1e-9)
    for state, other in zip(once[1], twice[1], strict=True):
        np.testing.assert_array_equal(state, other)


@pytest.mark.parametrize("name", MODELS)
def test_gradients_and_dropout_are_those_of_layers_computed_once(name):
    once, twice = (two_steps(MODELS[name], recompute) for recompute in (False, True))
    assert float(once[0][0][0]) != float(once[0][1][0])  # each step drops other values
    assert_same(once, twice, 1e-6)


def test_also_step_by_step_outside_of_a_graph():
    once, twice = (two_steps(gpt, recompute, in_graph=False) for recompute in (False, True))
    assert_same(once, twice, 1e-6)


def test_also_in_half_precision():
    once, twice = (two_steps(gpt, recompute, "mixed_bfloat16") for recompute in (False, True))
    assert_same(once, twice, 1e-2)


def test_prediction_is_not_recomputed_and_config_keeps_the_choice():
    model, inputs = gpt()
    expected = model(inputs)
    recompute_layers(model)
    np.testing.assert_array_equal(model(inputs), expected)
    encoder = Encoder(num_layers=2, num_heads=2, intermediate_size=16, recompute=True)
    assert Encoder.from_config(encoder.get_config()).recompute
    recompute_layers(model, on=False)
    assert not model.decoder.recompute


def test_fit_takes_it():
    losses = []
    for recompute in (False, True):
        keras.utils.set_random_seed(3)
        model, inputs = gpt()
        recompute_layers(model, recompute)
        model.compile("sgd", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        losses.append(model.fit(inputs, IDS, epochs=3, verbose=0, shuffle=False).history["loss"])
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-6)


def test_a_model_without_such_layers_is_refused():
    model = keras.Sequential([keras.Input([3]), keras.layers.Dense(2)], name="plain")
    with pytest.raises(ValueError, match="plain has no Encoder or Decoder"):
        recompute_layers(model)
