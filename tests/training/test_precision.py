"""Mixed precision: the same training, its loss scaled where need be, resumed and restored."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny

from keras_transformer.models import (
    Bert,
    BertConfig,
    BertPretraining,
    Gpt,
    GptConfig,
    Transformer,
    TransformerConfig,
)
from keras_transformer.training import (
    InverseSquareRootSchedule,
    StepLimit,
    TokenCrossEntropy,
    TokenLoss,
    TrainingCheckpoint,
    adamw,
    averaged_weights,
    set_seed,
)

SIZES = {"hidden_size": 16, "num_attention_heads": 2}
HALF = ["mixed_bfloat16", "mixed_float16"]


def make_gpt(policy, **optimizer):
    """A compiled model with dropout; always the same weights."""
    set_seed(5)
    config = GptConfig(
        vocab_size=tiny.VOCABULARY, num_hidden_layers=1, max_position_embeddings=8, **SIZES
    )
    model = Gpt(config, dtype=policy)
    model.build()
    options = {"ema": 0.9} | optimizer
    model.compile(
        adamw(InverseSquareRootSchedule(1e-2, 5), **options),
        loss=TokenCrossEntropy(0.1),
        metrics=[TokenLoss()],
        weighted_metrics=[],
    )
    return model


class Batches:
    """4 batches an epoch, as `tiny.ClockedData` gives them, for a model of ours."""

    def __init__(self):
        self.clock = tiny.ClockedData()
        self.dataset = self.clock.dataset.map(lambda x, y: ({"token_ids": x}, y))


def fit(model, directory, *callbacks, epochs=3):
    """A training with checkpoints after each batch; gives its history."""
    batches = Batches()
    checkpoint = TrainingCheckpoint(directory, clock=batches.clock, every_steps=1)
    first = checkpoint.restore(model)
    return model.fit(
        batches.dataset,
        initial_epoch=first,
        epochs=epochs,
        verbose=0,
        shuffle=False,
        callbacks=[*callbacks, checkpoint],
    ).history


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """For each policy a model after 12 updates, its history, and its folder."""
    found = {}
    for policy in ("float32", *HALF):
        directory = tmp_path_factory.mktemp(policy)
        model = make_gpt(policy)
        found[policy] = (model, fit(model, directory), directory)
    return found


@pytest.mark.parametrize("policy", HALF)
def test_it_learns_as_in_single_precision(policy, trained):
    model, history, _ = trained[policy]
    single = trained["float32"][1]["token_loss"]
    assert history["token_loss"][-1] == pytest.approx(single[-1], rel=0.02)
    assert history["token_loss"][-1] < 0.97 * history["token_loss"][0]
    assert {v.dtype for v in model.trainable_variables} == {"float32"}
    assert int(model.optimizer.iterations) == 12
    rate = InverseSquareRootSchedule(1e-2, 5)(12)
    assert float(model.optimizer.learning_rate) == pytest.approx(float(rate))


def test_only_float16_scales_its_loss(trained):
    kinds = {policy: type(model.optimizer).__name__ for policy, (model, *_) in trained.items()}
    assert kinds == {
        "float32": "TransformerAdamW",
        "mixed_bfloat16": "TransformerAdamW",
        "mixed_float16": "LossScaleOptimizer",
    }


@pytest.mark.slow
def test_stopped_and_resumed_equals_uninterrupted(trained, tmp_path):
    """The scale of the loss and the steps since its last change among the rest."""
    fit(make_gpt("mixed_float16"), tmp_path, StepLimit(6))
    resumed = make_gpt("mixed_float16")
    history = fit(resumed, tmp_path)
    whole, whole_history, _ = trained["mixed_float16"]
    tiny.assert_same_bits(resumed, tiny.weights(whole))
    assert history["token_loss"][-1] == whole_history["token_loss"][-1]
    assert int(resumed.optimizer.step_counter) == 12


@pytest.mark.parametrize(
    "saved, present",
    [("float32", half) for half in HALF] + [(half, "float32") for half in HALF],
)
def test_a_checkpoint_goes_on_in_another_precision(saved, present, trained):
    _, _, directory = trained[saved]
    other = make_gpt(present)
    checkpoint = TrainingCheckpoint(directory)
    assert checkpoint.restore(other) == 3
    assert int(other.optimizer.iterations) == 12
    # `fit` ends with the mean of the weights in the model; the file has the weights themselves.
    again = make_gpt(saved)
    TrainingCheckpoint(directory).restore(again)
    for value, right in zip(other.weights, again.weights, strict=True):
        np.testing.assert_array_equal(value, right)
    if present == "mixed_float16":
        assert float(other.optimizer.dynamic_scale) == 2.0**15  # its own, as at the beginning


def test_gradients_that_overflow_change_nothing_but_the_scale():
    model = make_gpt("mixed_float16")
    x, y = tiny.tiny_ids(4)
    model.train_on_batch({"token_ids": x}, y)
    model.optimizer.dynamic_scale.assign(2.0**100)
    before = tiny.weights(model)
    names = [v.path for v in [*model.variables, *model.optimizer.variables]]
    model.train_on_batch({"token_ids": x}, y)
    changed = {
        name.rsplit("/", 1)[-1]
        for name, old, new in zip(names, before, tiny.weights(model), strict=True)
        if not np.array_equal(old, new)
    }
    assert changed <= {"dynamic_scale", "step_counter", "seed_generator_state", "sum", "count",
                       "total"}  # fmt: skip
    assert float(model.optimizer.dynamic_scale) == 2.0**99
    assert int(model.optimizer.iterations) == 1


def test_the_mean_of_the_weights_is_that_of_the_updates_made():
    model = make_gpt("mixed_float16", ema=0.5)
    x, y = tiny.tiny_ids(4)
    weights, means = [], []
    for scale in (2.0**15, 2.0**15, 2.0**100):  # of the next update; the last one fails
        model.train_on_batch({"token_ids": x}, y)
        model.optimizer.dynamic_scale.assign(scale)
        weights.append(keras.ops.convert_to_numpy(model.trainable_variables[0]))
        with averaged_weights(model):
            means.append(keras.ops.convert_to_numpy(model.trainable_variables[0]))
    model.train_on_batch({"token_ids": x}, y)
    with averaged_weights(model):
        np.testing.assert_array_equal(model.trainable_variables[0], means[-1])
    np.testing.assert_array_equal(model.trainable_variables[0], weights[-1])
    for before, mean, after in zip(means[:-1], means[1:], weights[1:], strict=True):
        np.testing.assert_allclose(mean, (before + after) / 2, rtol=1e-5, atol=1e-8)


MODELS = {
    "transformer": lambda dtype: Transformer(
        TransformerConfig(vocab_size=20, encoder_layers=1, decoder_layers=1, **SIZES), dtype=dtype
    ),
    "gpt": lambda dtype: Gpt(GptConfig(vocab_size=20, num_hidden_layers=1, **SIZES), dtype=dtype),
    "bert": lambda dtype: BertPretraining(
        Bert(BertConfig(vocab_size=20, num_hidden_layers=1, **SIZES), dtype=dtype)
    ),
}


@pytest.mark.parametrize("policy", HALF)
@pytest.mark.parametrize("name", MODELS)
def test_logits_and_loss_are_float32(name, policy):
    model = MODELS[name](policy)
    ids = np.array([[5, 6, 7]])
    outputs = model({"source": ids, "target": ids} if name == "transformer" else {"token_ids": ids})
    logits = outputs["masked_tokens"] if name == "bert" else outputs
    assert logits.dtype == tf.float32
    assert TokenCrossEntropy()(ids, logits).dtype == tf.float32
