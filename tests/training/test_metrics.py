"""Metrics weigh tokens, not batches, and leave padding out."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.training import Perplexity, TokenAccuracy, TokenCrossEntropy, TokenLoss


def batch(rows, tokens, real, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(1, 6, [rows, tokens])
    labels.reshape(-1)[real:] = 0
    return labels, tf.constant(rng.normal(size=[rows, tokens, 6]), tf.float32)


BATCHES = [batch(10, 12, 100, seed=0), batch(2, 9, 10, seed=1)]


def by_hand(value_of):
    """Mean of a per-token value over the 110 real tokens of both batches."""
    values = [value_of(labels, logits.numpy())[labels != 0] for labels, logits in BATCHES]
    assert [len(v) for v in values] == [100, 10]
    return np.concatenate(values).mean()


def nll(labels, logits):
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    return -np.log(np.take_along_axis(p, labels[..., None], -1))[..., 0]


def result_of(metric):
    for labels, logits in BATCHES:
        metric.update_state(labels, logits)
    return float(metric.result())


def test_token_loss_is_the_mean_over_tokens_of_all_batches():
    assert result_of(TokenLoss()) == pytest.approx(by_hand(nll), rel=1e-6)


def test_an_epoch_reports_the_mean_over_tokens_of_batches_of_all_sizes():
    """What Keras calls `loss` weighs rows alike; the metric beside it weighs tokens."""
    inputs = keras.Input([None, 6])
    model = keras.Model(inputs, keras.layers.Identity()(inputs))
    metrics = [TokenLoss(), TokenAccuracy(), Perplexity()]
    model.compile(loss=TokenCrossEntropy(), metrics=metrics, run_eagerly=True)
    data = [(logits, tf.constant(labels)) for labels, logits in BATCHES]
    signature = (tf.TensorSpec([None, None, 6]), tf.TensorSpec([None, None], tf.int64))
    batches = tf.data.Dataset.from_generator(lambda: iter(data), output_signature=signature)
    batches = batches.apply(tf.data.experimental.assert_cardinality(len(data)))
    found = model.evaluate(batches, verbose=0, return_dict=True)
    assert found["token_loss"] == pytest.approx(by_hand(nll), rel=1e-6)
    assert found["perplexity"] == pytest.approx(math.exp(by_hand(nll)), rel=1e-6)
    right = by_hand(lambda labels, logits: logits.argmax(-1) == labels)
    assert found["token_accuracy"] == pytest.approx(right, rel=1e-6)


def test_token_loss_equals_the_loss_with_its_smoothing():
    labels, logits = BATCHES[0]
    metric = TokenLoss(label_smoothing=0.1)
    metric.update_state(labels, logits)
    assert float(metric.result()) == pytest.approx(
        float(TokenCrossEntropy(0.1)(labels, logits)), rel=1e-6
    )


def test_perplexity_is_exp_of_the_mean():
    assert result_of(Perplexity()) == pytest.approx(math.exp(by_hand(nll)), rel=1e-6)


def test_accuracy_leaves_padding_out():
    right = by_hand(lambda labels, logits: logits.argmax(-1) == labels)
    assert result_of(TokenAccuracy()) == pytest.approx(right, rel=1e-6)
    # A model that predicts padding everywhere is never right.
    metric = TokenAccuracy()
    metric.update_state([[1, 2, 0, 0]], tf.one_hot([[0, 0, 0, 0]], 6))
    assert float(metric.result()) == 0


@pytest.mark.parametrize("metric", [TokenLoss(0.1, 5), Perplexity(5), TokenAccuracy(5)])
def test_empty_is_finite_reset_starts_anew_and_config_returns(metric):
    metric.update_state(*BATCHES[0])
    metric.reset_state()
    metric.update_state(np.full([1, 2], 5), tf.zeros([1, 2, 6]))  # padding only
    assert float(metric.result()) == (1.0 if isinstance(metric, Perplexity) else 0.0)
    copy = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(metric))
    assert copy.get_config() == metric.get_config()


def test_sample_weight_weighs_rows():
    labels, logits = BATCHES[1]
    metric = TokenLoss()
    metric.update_state(labels, logits, sample_weight=[1.0, 0.0])
    assert float(metric.result()) == pytest.approx(nll(labels, logits.numpy())[0].mean(), rel=1e-6)
