"""AdamW: what is decayed, and the running mean of the weights."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny

from keras_transformer.models import Transformer, TransformerConfig
from keras_transformer.training import TransformerAdamW, adamw, averaged_weights


def test_only_matrices_are_decayed():
    model = tiny.tiny_model(adamw(0.1, weight_decay=0.5, clip_norm=None))
    before = {v.path: keras.ops.convert_to_numpy(v) for v in model.trainable_variables}
    zeros = [np.zeros(v.shape, "float32") for v in model.trainable_variables]
    model.optimizer.apply(zeros, model.trainable_variables)
    for variable in model.trainable_variables:
        share = 0.95 if variable.name in ("kernel", "embeddings") else 1.0
        np.testing.assert_allclose(variable, share * before[variable.path], rtol=1e-6)


@pytest.mark.parametrize(
    "path, decayed",
    [
        ("encoder/attention/query/kernel", True),
        ("encoder/attention/query/bias", False),  # [heads, head_size]
        ("token_embedding/embeddings", True),
        ("learned_positions/embeddings", False),
        ("position_embedding/embeddings", False),
        ("norm_1/gamma", False),
        ("norm/scale", False),
        ("relative_attention_bias/embeddings", False),
        ("position_model/encoder/query/kernel", True),
        ("my_scale/beta_search/dense/kernel", True),
        ("token_and_position_embedding/token_embedding/embeddings", True),
    ],
)
def test_names_decide_for_biases_scales_and_positions(path, decayed):
    from keras_transformer.training.optimizers import decays

    class Variable:
        shape = (2, 3)

    Variable.path = path
    assert decays(Variable) is decayed


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "buckets"])
def test_a_models_own_name_changes_nothing(positions):
    from keras_transformer.training.optimizers import decays

    config = TransformerConfig.preset("tiny", vocab_size=9, positions=positions)
    choices = []
    for name in ("transformer", "position_bias"):
        model = Transformer(config, name=name)
        model.build()
        choices.append([decays(variable) for variable in model.trainable_variables])
    assert choices[0] == choices[1] and any(choices[0])
    tables = [v for v in model.trainable_variables if "position" in v.path.split("/")[-2]]
    assert bool(tables) == (positions != "sinusoidal")
    assert not any(decays(table) for table in tables)


def test_the_choice_survives_serialisation():
    copy = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(adamw(0.1, weight_decay=0.5, ema=0.9))
    )
    assert isinstance(copy, TransformerAdamW)
    assert copy.use_ema and copy.ema_momentum == 0.9 and copy.global_clipnorm == 1.0


def test_averaged_weights_come_and_go_to_the_last_bit():
    model = tiny.tiny_model(adamw(0.1, ema=0.5))
    x, y = tiny.tiny_ids(4)
    mean = None
    for _ in range(3):
        model.train_on_batch(x, y)
        now = keras.ops.convert_to_numpy(model.trainable_variables[0]).astype("float64")
        mean = now if mean is None else 0.5 * mean + 0.5 * now
    trained = tiny.weights(model)
    with averaged_weights(model):
        np.testing.assert_allclose(model.trainable_variables[0], mean, rtol=1e-5)
    tiny.assert_same_bits(model, trained)


def test_averaged_weights_needs_an_optimizer_that_averages():
    context = averaged_weights(tiny.tiny_model(adamw(0.1)))
    with pytest.raises(ValueError, match=r"adamw\(ema=0.999\)"), context:
        pass


@pytest.mark.parametrize("options", [{}, {"global_clipnorm": 0.1}, {"use_ema": True}])
def test_updates_are_those_of_keras(options):
    """Dense gradients and those of a look-up, decayed and not, over changing rates."""
    rate = keras.optimizers.schedules.PolynomialDecay(0.1, 5, 0.01)
    rng, ends = np.random.default_rng(0), []
    start = rng.normal(size=(7, 3)), rng.normal(size=3)
    gradients = rng.normal(size=(5, 7, 3)), rng.normal(size=(5, 3))
    for kind in (keras.optimizers.AdamW, TransformerAdamW):
        table = keras.Variable(start[0], name="embeddings")
        bias = keras.Variable(start[1], name="bias")
        optimizer = kind(rate, weight_decay=0.3, beta_2=0.98, epsilon=1e-9, **options)
        optimizer.exclude_from_weight_decay(var_list=[bias])
        for step in range(5):
            rows = tf.cast(gradients[0][step, :2], "float32")
            slices = tf.IndexedSlices(rows, tf.constant([4, 1]), tf.constant([7, 3]))
            optimizer.apply([slices, tf.cast(gradients[1][step], "float32")], [table, bias])
        ends.append([keras.ops.convert_to_numpy(v) for v in (table, bias, *optimizer.variables)])
    assert len(ends[0]) == len(ends[1])
    for theirs, ours in zip(*ends, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-7)


def test_updates_follow_the_paper_to_all_digits_of_float64():
    rng = np.random.default_rng(0)
    weights, first, second = rng.normal(size=(4, 3)), np.zeros((4, 3)), np.zeros((4, 3))
    variable = keras.Variable(weights, dtype="float64", name="kernel")
    optimizer = TransformerAdamW(0.125, beta_1=0.9, beta_2=0.98, epsilon=1e-9, weight_decay=0.0)
    for step in range(1, 6):
        gradient = rng.normal(size=(4, 3))
        first = 0.9 * first + 0.1 * gradient
        second = 0.98 * second + 0.02 * gradient**2
        rate = 0.125 * np.sqrt(1 - 0.98**step) / (1 - 0.9**step)
        weights = weights - rate * first / (np.sqrt(second) + 1e-9)
        optimizer.apply([tf.constant(gradient)], [variable])
    np.testing.assert_allclose(keras.ops.convert_to_numpy(variable), weights, rtol=1e-12)


def test_updates_in_half_precision_under_loss_scaling_and_with_amsgrad():
    for options in ({"amsgrad": True}, {"loss_scale_factor": 8.0}):
        ends = []
        for kind in (keras.optimizers.AdamW, TransformerAdamW):
            weights = keras.Variable(np.ones((2, 2)), dtype="float32", name="kernel")
            optimizer = kind(0.1, **options)
            for _ in range(3):
                optimizer.apply([tf.constant([[0.5, -2.0], [0.0, 4.0]])], [weights])
            ends.append(keras.ops.convert_to_numpy(weights))
        # In float32, 1 - 0.999 alone is off by 1e-5; the update by half of that.
        np.testing.assert_allclose(*ends, rtol=1e-5)
