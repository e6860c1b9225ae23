"""A batch computed in parts makes the update of the whole batch."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny

from keras_transformer.models import DistributedTraining
from keras_transformer.training import (
    AccumulatedGradients,
    TokenAccuracy,
    TokenCrossEntropy,
    TokenLoss,
    adamw,
    set_seed,
)


class Model(DistributedTraining, keras.Model):
    """A functional model of Keras."""


def trained(step, loss, metrics=None, labels=None, rows: int = 7, outputs: int = 1) -> tuple:
    """The change of the weights by one update of SGD, and what `fit` reports."""
    set_seed(3)
    ids = keras.Input([None], dtype="int32")
    hidden = keras.layers.Embedding(tiny.VOCABULARY, 8)(ids)
    logits = [keras.layers.Dense(tiny.VOCABULARY, name=f"head_{i}")(hidden) for i in range(outputs)]
    named = {f"head_{i}": values for i, values in enumerate(logits)}
    model = Model(ids, named if outputs > 1 else logits[0])
    model.compile(keras.optimizers.SGD(100.0), loss, metrics=metrics, train_step=step)
    before = model.get_weights()
    inputs, tokens = tiny.tiny_ids(rows)
    labels = tokens if labels is None else labels(tokens)
    history = model.fit(inputs, labels, batch_size=rows, shuffle=False, verbose=0).history
    return [b - a for b, a in zip(before, model.get_weights(), strict=True)], history


def assert_same(whole: tuple, parts: tuple) -> None:
    for one, other in zip(whole[0], parts[0], strict=True):
        assert np.abs(one).max() > 0.1  # rounding of the weights themselves is far below it
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-6 * np.abs(one).max())
    assert parts[1].keys() == whole[1].keys()
    for name, values in whole[1].items():
        assert parts[1][name] == pytest.approx(values, rel=1e-5), name


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 9])  # 7 rows: some parts are smaller, or empty
def test_each_real_token_weighs_the_same_whatever_part_it_is_in(parts):
    arguments = (TokenCrossEntropy(0.1), [TokenLoss(), TokenAccuracy()])
    assert_same(trained(None, *arguments), trained(AccumulatedGradients(parts), *arguments))


def test_every_loss_of_a_model_has_a_count_of_its_own():
    def labels(tokens):
        return {"head_0": tokens, "head_1": np.where(np.arange(5) == 2, tokens, 0)}

    loss = {"head_0": TokenCrossEntropy(), "head_1": TokenCrossEntropy(0.1)}
    whole = trained(None, loss, labels=labels, outputs=2)
    assert_same(whole, trained(AccumulatedGradients(3), loss, labels=labels, outputs=2))


def test_losses_of_keras_are_averaged_over_rows():
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    assert_same(trained(None, loss), trained(AccumulatedGradients(3), loss))


def test_parts_without_rows_count_nothing_in_a_loss_that_is_a_function():
    def loss(labels, logits):
        return keras.ops.mean(
            keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True)
        )

    assert_same(trained(None, loss), trained(AccumulatedGradients(9), loss))


def test_the_loss_itself_is_as_before_when_the_step_is_over():
    loss = TokenCrossEntropy()
    trained(AccumulatedGradients(2), loss)
    assert float(loss([[1, 2, 0]], tf.zeros([1, 3, 4]))) == pytest.approx(np.log(4))


def test_clipping_and_adam_see_the_whole_gradient():
    inputs, labels = tiny.tiny_ids(7)
    weights = []
    for step in (None, AccumulatedGradients(3)):
        set_seed(3)
        ids = keras.Input([None], dtype="int32")
        hidden = keras.layers.Embedding(tiny.VOCABULARY, 8)(ids)
        model = Model(ids, keras.layers.Dense(tiny.VOCABULARY)(hidden))
        model.compile(
            adamw(1e-2, clip_norm=0.1, epsilon=1e-3), TokenCrossEntropy(), train_step=step
        )
        model.fit(inputs, labels, batch_size=4, epochs=3, shuffle=False, verbose=0)
        weights.append(model.get_weights())
        assert int(model.optimizer.iterations) == 6
    for one, other in zip(*weights, strict=True):
        np.testing.assert_allclose(other, one, atol=1e-6)


@pytest.mark.slow
def test_in_half_precision_with_its_loss_scale():
    """Gradients as large as float16 takes: what is scaled must be scaled back, each part once."""
    keras.config.set_dtype_policy("mixed_float16")
    try:
        whole = trained(None, TokenCrossEntropy(0.1))
        parts = trained(AccumulatedGradients(3), TokenCrossEntropy(0.1))
    finally:
        keras.config.set_dtype_policy("float32")
    for one, other in zip(whole[0], parts[0], strict=True):
        assert np.abs(one).max() > 0.1
        np.testing.assert_allclose(other, one, rtol=0, atol=2e-3 * np.abs(one).max())
    assert parts[1]["loss"] == pytest.approx(whole[1]["loss"], rel=1e-3)


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="parts must be at least 1"):
        AccumulatedGradients(0)
    keras_loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum")
    with pytest.raises(ValueError, match="must average over rows .* has 'sum'"):
        trained(AccumulatedGradients(2), keras_loss)
    one = TokenCrossEntropy()
    with pytest.raises(ValueError, match="a TokenCrossEntropy of its own"):
        trained(
            AccumulatedGradients(2),
            {"head_0": one, "head_1": one},
            labels=lambda tokens: {"head_0": tokens, "head_1": tokens},
            outputs=2,
        )
    with pytest.raises(ValueError, match="takes one loss for each output"):
        trained(
            AccumulatedGradients(2),
            TokenCrossEntropy(),
            labels=lambda tokens: {"head_0": tokens, "head_1": tokens},
            outputs=2,
        )
