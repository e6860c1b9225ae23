"""A run that was stopped anywhere and resumed ends like one that was not."""

import json

import keras
import numpy as np
import pytest
import tiny
from training import fresh_process, processes

from keras_transformer.training import (
    InverseSquareRootSchedule,
    ScoreCallback,
    StepLimit,
    TrainingCheckpoint,
    adamw,
    average_checkpoints,
    load_weights,
)
from keras_transformer.training.checkpoint_files import (
    named_arrays,
    read_checkpoint,
    write_checkpoint,
)

EPOCHS = 3  # of 4 batches


class Killed(Exception):
    """What a test raises in place of a kill: nothing of `fit` runs after it."""


class Kill(keras.callbacks.Callback):
    def __init__(self, step):
        super().__init__()
        self.step = step

    def on_train_batch_end(self, batch, logs=None):
        if int(self.model.optimizer.iterations) == self.step:
            raise Killed


class Rates(keras.callbacks.Callback):
    """The learning rate of each step."""

    def __init__(self):
        super().__init__()
        self.rates = {}

    def on_train_batch_begin(self, batch, logs=None):
        step = int(self.model.optimizer.iterations)
        self.rates[step] = float(self.model.optimizer.learning_rate)


def train(directory, kill_at=None, every_steps=1, epochs=EPOCHS, limits=(), restore_best=False):
    """Train, or go on, in fresh objects; gives the model, its score callback, rates and history."""
    data, model = tiny.ClockedData(), tiny.tiny_model()
    score = ScoreCallback(
        lambda m: float(np.abs(m.get_weights()[0]).sum()), restore_best=restore_best
    )
    stopping = keras.callbacks.EarlyStopping("loss", patience=9)
    history = keras.callbacks.History()
    checkpoint = TrainingCheckpoint(
        directory, clock=data, track=[score, stopping, history], every_steps=every_steps
    )
    first = checkpoint.restore(model)
    rates = Rates()
    callbacks = [*limits, rates, score, stopping, history, checkpoint]
    if kill_at is not None:
        callbacks.append(Kill(kill_at))
    model.fit(
        data.dataset,
        initial_epoch=first,
        epochs=first if any(limit.is_over(model) for limit in limits) else epochs,
        verbose=0,
        shuffle=False,
        callbacks=callbacks,
    )
    return model, score, stopping, rates.rates, history.history


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run that was never stopped."""
    return train(tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize("step", [1, 4, 6])  # within an epoch, and at its last batch
def test_killed_and_resumed_equals_uninterrupted(step, whole, tmp_path):
    model, score, stopping, rates, history = whole
    with pytest.raises(Killed):
        train(tmp_path, kill_at=step)
    resumed, resumed_score, resumed_stopping, resumed_rates, resumed_history = train(tmp_path)
    tiny.assert_same_bits(resumed, tiny.weights(model))
    assert resumed_score.history == score.history
    assert (resumed_stopping.best, resumed_stopping.wait) == (stopping.best, stopping.wait)
    # Killed before the end of an epoch is saved, its last batch is done again.
    first = step - 1 if step % 4 == 0 else step
    assert resumed_rates == {s: rate for s, rate in rates.items() if s >= first}
    # To the last bit, those of the epoch that was cut among them.
    assert resumed_history == history and len(history["token_loss"]) == EPOCHS


def test_killed_between_checkpoints_goes_back_to_the_last(whole, tmp_path):
    with pytest.raises(Killed):
        train(tmp_path, kill_at=7, every_steps=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "epoch-0000-batch-00000002.npz",
        "epoch-0001-batch-00000000.npz",
        "epoch-0001-batch-00000002.npz",
    ]
    resumed, *_ = train(tmp_path, every_steps=2)
    tiny.assert_same_bits(resumed, tiny.weights(whole[0]))


def test_stopped_by_a_limit_within_an_epoch_goes_on_there(whole, tmp_path):
    train(tmp_path, every_steps=None, limits=[StepLimit(6)])
    assert sorted(p.name for p in tmp_path.iterdir())[-1] == "epoch-0001-batch-00000002.npz"
    resumed, *_ = train(tmp_path)
    tiny.assert_same_bits(resumed, tiny.weights(whole[0]))


def test_a_training_that_is_over_stays_as_it_was_when_resumed(tmp_path):
    options = dict(every_steps=None, limits=[StepLimit(6)], restore_best=True)
    model, score, *_ = train(tmp_path, **options)
    assert [epoch for epoch, _ in score.history] == [0, 1]  # the second after two batches of four
    again, score_again, _, rates, _ = train(tmp_path, **options)
    assert rates == {}  # not one update more
    assert score_again.history == score.history
    tiny.assert_same_bits(again, tiny.weights(model))


def test_resumed_at_an_epoch_border_equals_uninterrupted(whole, tmp_path):
    train(tmp_path, every_steps=None, epochs=1)
    resumed, *_ = train(tmp_path, every_steps=None)
    tiny.assert_same_bits(resumed, tiny.weights(whole[0]))


@pytest.mark.slow
def test_a_process_killed_for_real_is_resumed_in_another(tmp_path, seeded_and_killed):
    directory, _ = seeded_and_killed
    reference, resumed = tiny.tiny_model(), tiny.tiny_model()
    for model, first in ((reference, None), (resumed, 1)):
        data = tiny.ClockedData()
        checkpoint = TrainingCheckpoint(directory if first else tmp_path, clock=data, keep=99)
        assert checkpoint.restore(model) == (first or 0)
        model.fit(
            data.dataset, initial_epoch=first or 0, epochs=3, verbose=0, callbacks=[checkpoint]
        )
    tiny.assert_same_bits(resumed, tiny.weights(reference))


@pytest.fixture(scope="module")
def seeded_and_killed(tmp_path_factory):
    directory = tmp_path_factory.mktemp("killed")
    return directory, json.loads(processes.run("losses_and_killed_run", directory, expect=-9))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_losses_in_two_processes(tmp_path, seeded_and_killed):
    """And a model saved with our schedule loads where only our package was imported."""
    _, losses = seeded_and_killed
    model = tiny.tiny_model()
    model.fit(*tiny.tiny_ids(4), verbose=0)
    model.save(tmp_path / "model.keras")
    second = json.loads(processes.run("losses_and_loaded_model", tmp_path / "model.keras"))
    assert len(losses) == 20
    assert second["losses"] == losses
    schedule = InverseSquareRootSchedule(1e-2, 5)
    assert second["rates"] == [float(schedule(step)) for step in (0, 3, 4, 40)]
    assert second["loss"] == model.loss.get_config()
    assert fresh_process.seeded_losses(seed=2) != losses


def test_a_saved_model_goes_on_with_a_constant_rate(tmp_path):
    model = tiny.tiny_model()
    x, y = tiny.tiny_ids(4)
    model.fit(x, y, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    loaded.compile(adamw(1e-3), loss=loaded.loss, jit_compile=False)
    assert np.isfinite(loaded.fit(x, y, verbose=0).history["loss"][0])


def test_a_checkpoint_goes_on_with_a_constant_rate(tmp_path):
    train(tmp_path, epochs=1)
    model = tiny.tiny_model(adamw(1e-3, ema=0.9))
    callbacks = [
        ScoreCallback(lambda m: 0.0), keras.callbacks.EarlyStopping(), keras.callbacks.History()
    ]  # fmt: skip
    TrainingCheckpoint(tmp_path, track=callbacks).restore(model)
    assert int(model.optimizer.iterations) == 4
    assert float(model.optimizer.learning_rate) == pytest.approx(1e-3)


def test_the_last_and_the_best_files_stay(tmp_path):
    scores = iter([1.0, 5.0, 3.0, 4.0, 2.0])
    data, model = tiny.ClockedData(), tiny.tiny_model()
    after = []
    score = ScoreCallback(lambda m: after.append(m.get_weights()) or next(scores))
    checkpoint = TrainingCheckpoint(tmp_path, clock=data, keep=2, monitor="bleu", mode="max")
    model.fit(data.dataset, epochs=5, verbose=0, shuffle=False, callbacks=[score, checkpoint])
    assert [path.name[:10] for path in checkpoint.paths()] == [
        "epoch-0002", "epoch-0004", "epoch-0005"
    ]  # fmt: skip
    assert checkpoint.best_score == 5.0
    assert checkpoint.best_path().name.startswith("epoch-0002")
    load_weights(model, checkpoint.best_path())
    for value, right in zip(model.get_weights(), after[1], strict=True):
        np.testing.assert_array_equal(value, right)
    average_checkpoints(model, checkpoint.paths()[-2:])
    for value, *two in zip(model.get_weights(), after[3], after[4], strict=True):
        np.testing.assert_allclose(value, np.mean(two, 0), rtol=1e-6)
    again = TrainingCheckpoint(tmp_path, clock=data)
    again.restore(model)
    assert (again.best_score, again.best_path()) == (5.0, checkpoint.best_path())


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "epoch-0001-batch-00000000.npz"
    model = tiny.tiny_model()
    write_checkpoint(path, {"model": named_arrays(model.variables)}, {"epoch": 1})
    old = path.read_bytes()

    def fail(file, **arrays):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="disk full"):
        write_checkpoint(path, {"model": named_arrays(model.variables)}, {"epoch": 2})
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_bfloat16_and_nested_state_return_as_they_were(tmp_path):
    variable = keras.Variable([1.5, -2.25], dtype="bfloat16", name="half")
    half = keras.ops.convert_to_numpy(variable)
    state = {
        "list": [1, None, {"a": np.arange(3)}],
        "weights": [np.ones([2, 2], "float32"), half],
        "plain": {"array": 5},
    }
    write_checkpoint(tmp_path / "c.npz", {"model": named_arrays([variable])}, state)
    saved = read_checkpoint(tmp_path / "c.npz")
    np.testing.assert_array_equal(saved.variables("model", [variable])[0], half)
    np.testing.assert_array_equal(saved.state["list"][2]["a"], [0, 1, 2])
    assert saved.state["list"][:2] == [1, None]
    assert saved.state["weights"][0].dtype == np.float32
    np.testing.assert_array_equal(saved.state["weights"][1], half)
    assert saved.state["weights"][1].dtype == half.dtype
    assert saved.state["plain"] == {"array": 5}


def test_what_cannot_be_resumed_is_refused(tmp_path):
    with pytest.raises(Killed):
        train(tmp_path, kill_at=6)
    callbacks = [
        ScoreCallback(lambda m: 0.0), keras.callbacks.EarlyStopping(), keras.callbacks.History()
    ]  # fmt: skip
    data = tiny.ClockedData()
    with pytest.raises(ValueError, match="memory of 3 callbacks, but `track` has 0"):
        TrainingCheckpoint(tmp_path, clock=data).restore(tiny.tiny_model())
    checkpoint = TrainingCheckpoint(tmp_path, clock=data, track=callbacks)
    with pytest.raises(ValueError, match="of the optimizer, but yours has"):
        checkpoint.restore(tiny.tiny_model(keras.optimizers.SGD(0.1)))
    other = keras.Sequential([keras.Input([3]), keras.layers.Dense(2)])
    with pytest.raises(ValueError, match="built and compiled"):
        checkpoint.restore(other)
    other.compile(adamw(0.1), loss="mse")
    before = other.get_weights()
    with pytest.raises(ValueError, match="of the model, but yours has 2"):
        checkpoint.restore(other)
    np.testing.assert_array_equal(other.get_weights()[0], before[0])
    model = tiny.tiny_model()
    checkpoint.restore(model)
    with pytest.raises(ValueError, match="goes on with epoch 1, but fit begins with 0"):
        model.fit(data.dataset, epochs=2, verbose=0, callbacks=[*callbacks, checkpoint])
    with pytest.raises(ValueError, match="LambdaCallback cannot be kept"):
        TrainingCheckpoint(tmp_path, track=[keras.callbacks.LambdaCallback()])
    broken = tmp_path / "epoch-0009-batch-00000000.npz"
    broken.write_bytes(checkpoint.paths()[-1].read_bytes()[:-50])
    with pytest.raises(ValueError, match="is not a whole training checkpoint"):
        checkpoint.restore(model, broken)


def test_a_data_set_of_unknown_length_is_refused(tmp_path):
    data = tiny.ClockedData()
    unknown = data.dataset.filter(lambda x, y: True)
    checkpoint = TrainingCheckpoint(tmp_path, clock=data)
    with pytest.raises(ValueError, match="assert_cardinality"):
        tiny.tiny_model().fit(unknown, verbose=0, shuffle=False, callbacks=[checkpoint])


def test_without_a_clock_the_epoch_begins_again_with_a_warning(tmp_path):
    model, (x, y) = tiny.tiny_model(), tiny.tiny_ids(20)
    fit = {"batch_size": 5, "verbose": 0, "shuffle": False}
    model.fit(x, y, callbacks=[StepLimit(3), TrainingCheckpoint(tmp_path)], **fit)
    checkpoint, resumed = TrainingCheckpoint(tmp_path), tiny.tiny_model()
    with pytest.warns(UserWarning, match="after batch 3 of epoch 0, but TrainingCheckpoint has no"):
        assert checkpoint.restore(resumed) == 0
    resumed.fit(x, y, callbacks=[checkpoint], **fit)
    assert int(resumed.optimizer.iterations) == 7
