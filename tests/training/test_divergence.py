"""A training that goes astray ends with its place, and keeps the last good checkpoint."""

import math

import keras
import numpy as np
import pytest
import tiny

from keras_transformer.training import (
    ScoreCallback,
    StopOnDivergence,
    TrainingCheckpoint,
    TrainingDiverged,
    load_weights,
)


class Poison(keras.callbacks.Callback):
    """Makes one weight, or one number of the optimizer, no number after an update."""

    def __init__(self, update, pick=lambda model: model.weights[-2]):
        super().__init__()
        self.update, self.pick = update, pick

    def on_train_batch_end(self, batch, logs=None):
        if int(self.model.optimizer.iterations) == self.update:
            variable = self.pick(self.model)
            values = keras.ops.convert_to_numpy(variable).copy()
            values.flat[3] = np.nan
            variable.assign(values)


def fit(directory, *callbacks, every_steps=1, first=0):
    """A training of 3 epochs of 4 batches, with checkpoints."""
    data, model = tiny.ClockedData(), tiny.tiny_model()
    checkpoint = TrainingCheckpoint(directory, clock=data, every_steps=every_steps)
    first = checkpoint.restore(model)
    guard = StopOnDivergence(checkpoint)
    fit.model = model
    model.fit(
        data.dataset,
        initial_epoch=first,
        epochs=3,
        verbose=0,
        shuffle=False,
        callbacks=[*callbacks, guard, checkpoint],
    )
    return model


def all_finite(model):
    return all(np.isfinite(value).all() for value in model.get_weights())


def test_a_loss_that_is_no_number_ends_the_training_with_its_place(tmp_path):
    place = r"The loss is nan after update 7, which is batch 3 of 4 of epoch 2\."
    kept = r"The last good checkpoint is .*epoch-0001-batch-00000000\.npz\. A lower learning rate"
    with pytest.raises(TrainingDiverged, match=f"{place} {kept}"):
        fit(tmp_path, Poison(6), every_steps=99)
    with pytest.raises(TrainingDiverged, match="There is no checkpoint yet"):
        fit(tmp_path / "other", Poison(2), every_steps=99)


def test_the_place_in_a_resumed_epoch_is_that_in_the_whole_one(tmp_path):
    with pytest.raises(TrainingDiverged, match="after update 6, which is batch 2 of 4"):
        fit(tmp_path, Poison(6))  # the checkpoint looks at the weights themselves
    with pytest.raises(TrainingDiverged, match="after update 7, which is batch 3 of 4 of epoch 2"):
        fit(tmp_path, Poison(7))


@pytest.mark.parametrize(
    "pick, name",
    [
        (lambda model: model.weights[-2], r"dense\w*/kernel"),
        (
            lambda model: model.optimizer._model_variables_moving_average[-2],
            r"dense\w*_kernel_average",
        ),
    ],
    ids=["weights", "averaged weights"],
)
def test_weights_that_are_no_numbers_are_never_written(pick, name, tmp_path):
    """Their batch's loss was still a number: it is that of the weights before."""
    with pytest.raises(
        TrainingDiverged, match=rf"{name}\S* is not finite after update 6,"
    ) as found:
        fit(tmp_path, Poison(6, pick))
    assert "epoch-0001-batch-00000001.npz" in str(found.value)
    assert not any(path.name > "epoch-0001-batch-00000001.npz" for path in tmp_path.iterdir())
    for path in TrainingCheckpoint(tmp_path).paths():
        load_weights(fit.model, path)
        assert all_finite(fit.model)
    whole, resumed = fit(tmp_path / "whole"), fit(tmp_path)
    tiny.assert_same_bits(resumed, tiny.weights(whole))


def test_an_epoch_that_ends_with_such_weights_is_not_kept(tmp_path):
    with pytest.raises(TrainingDiverged, match="after update 4, which is batch 4 of 4 of epoch 1"):
        fit(tmp_path, Poison(4), every_steps=None)
    assert TrainingCheckpoint(tmp_path).paths() == []


@pytest.mark.parametrize("average", [False, True])
def test_such_weights_are_not_scored(average, tmp_path):
    """A score of texts may well be a number, and better than any before."""
    scores = iter([1.0, 2.0, 3.0])
    score = ScoreCallback(lambda model: next(scores), average=average)

    def pick(model):
        return model.optimizer._model_variables_moving_average[-2] if average else model.weights[-2]

    with pytest.raises(TrainingDiverged, match="is not finite after update 8"):
        fit(tmp_path, Poison(8, pick), score, every_steps=None)
    assert score.history == [(0, 1.0)] and score.best_epoch == 0
    assert all(np.isfinite(value).all() for value in score.best_weights)


# A loss that explodes. `fit` tells the mean over an epoch's batches.


def show(guard, losses, epoch=0, already=()):
    """What the callback sees of an epoch with these losses of batches."""
    guard.set_model(tiny.tiny_model())
    guard.model.optimizer.build(guard.model.trainable_variables)
    guard.set_params({"steps": 50})
    guard.on_train_begin()
    guard.on_epoch_begin(epoch)
    seen = list(already)
    for batch, loss in enumerate(losses):
        seen.append(loss)
        guard.on_train_batch_end(batch, {"loss": float(np.mean(seen))})


def test_an_exploding_loss_ends_the_training():
    losses = [9.0] * 20 + [5e3, 8e3, 2e4]
    with pytest.raises(
        TrainingDiverged, match=r"3 batches in a row .* more than 900, 100 times"
    ) as f:
        show(StopOnDivergence(), losses)
    assert "batch 23 of 50 of epoch 1" in str(f.value)


def test_one_bad_batch_is_no_explosion():
    show(StopOnDivergence(), [9.0] * 20 + [5e3, 8e3, 9.0, 2e4, 9.0, 9.0])


def test_a_small_loss_may_grow_a_hundredfold():
    show(StopOnDivergence(), [0.001, 0.9, 20.0, 90.0, 0.1])


def test_a_resumed_epoch_begins_with_the_mean_that_it_had(tmp_path):
    checkpoint = TrainingCheckpoint(tmp_path)
    checkpoint.skipped = 20
    losses = [9.0, 5e3, 8e3, 2e4]
    with pytest.raises(TrainingDiverged, match="batch 24 of 50"):
        show(StopOnDivergence(checkpoint), losses, already=[9.0] * 20)


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="factor must be more than 1, got 1"):
        StopOnDivergence(factor=1)
    with pytest.raises(ValueError, match="in_a_row must be at least 1, got 0"):
        StopOnDivergence(in_a_row=0)
    show(StopOnDivergence(factor=math.inf), [9.0, 1e30, 1e30, 1e30])
