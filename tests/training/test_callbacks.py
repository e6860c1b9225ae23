"""Limits, signals, scores and progress around `fit`."""

import io
import os
import re
import signal

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from rich.console import Console

from keras_transformer.training import (
    ScoreCallback,
    StepLimit,
    StopOnSignal,
    Throughput,
    TimeLimit,
    TrainingCheckpoint,
    TrainingInterrupted,
    TrainingProgress,
    limits,
)


def fit(model, *callbacks, epochs=3, **kwargs):
    data = tf.data.Dataset.from_tensor_slices(tiny.tiny_ids(20)).batch(5)
    return model.fit(
        data, epochs=epochs, verbose=0, shuffle=False, callbacks=list(callbacks), **kwargs
    )


def at_step(step, action):
    batches = []

    def count(batch, logs):
        batches.append(batch)
        if len(batches) == step:
            action()

    return keras.callbacks.LambdaCallback(on_train_batch_end=count)


@pytest.fixture
def model():
    return tiny.tiny_model()


def test_step_limit_counts_updates_over_runs(model):
    limit = StepLimit(6)
    fit(model, limit)
    assert int(model.optimizer.iterations) == 6
    assert limit.reached
    fit(model, StepLimit(7))
    assert int(model.optimizer.iterations) == 7


def test_step_limit_counts_updates_not_batches():
    model = tiny.tiny_model(keras.optimizers.AdamW(0.1, gradient_accumulation_steps=2))
    fit(model, StepLimit(3))
    assert int(model.optimizer.iterations) == 3
    assert int(model.optimizer._iterations) == 6


def test_time_limit_counts_the_time_of_earlier_runs(model, tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(limits.time, "monotonic", lambda: now[0])

    def run(target):
        ten_seconds = keras.callbacks.LambdaCallback(
            on_train_batch_begin=lambda batch, logs: now.__setitem__(0, now[0] + 10)
        )
        limit = TimeLimit(minutes=1)
        checkpoint = TrainingCheckpoint(tmp_path, track=[limit])
        first = checkpoint.restore(target)
        epochs = first + 1 if first == 0 else 3
        fit(target, ten_seconds, limit, checkpoint, epochs=epochs, initial_epoch=first)
        return limit

    first = run(model)
    assert first.seconds_used == 40 and not first.reached
    now[0] += 1000  # between two runs
    second = run(tiny.tiny_model())
    assert second.seconds_used == 60 and second.reached


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_after_the_batch_and_is_saved(number, model, tmp_path):
    before = signal.getsignal(number)
    stop = StopOnSignal()
    checkpoint = TrainingCheckpoint(tmp_path)
    send = at_step(6, lambda: os.kill(os.getpid(), number))
    score = ScoreCallback(lambda m: 1.0)
    with pytest.raises(TrainingInterrupted, match=f"stopped by {number.name}"):
        fit(model, send, stop, score, checkpoint)
    assert score.history == [(0, 1.0)]  # the epoch that was cut is not scored
    assert stop.received == number
    assert int(model.optimizer.iterations) == 6
    assert checkpoint.paths()[-1].name == "epoch-0001-batch-00000002.npz"
    assert signal.getsignal(number) is before


def test_a_signal_within_validation_waits_for_its_end_and_that_of_the_scores(model, tmp_path):
    x, y = tiny.tiny_ids(8)
    send = keras.callbacks.LambdaCallback()
    send.on_test_begin = lambda logs: os.kill(os.getpid(), signal.SIGTERM)
    stop, checkpoint = StopOnSignal(), TrainingCheckpoint(tmp_path)
    score = ScoreCallback(lambda m: 1.0)
    with pytest.raises(TrainingInterrupted, match="stopped by SIGTERM"):
        fit(model, stop, send, score, checkpoint, validation_data=(x, y))
    assert score.history == [(0, 1.0)]
    assert int(model.optimizer.iterations) == 4  # not one batch of the next epoch
    assert checkpoint.paths()[-1].name == "epoch-0001-batch-00000000.npz"


def test_after_an_error_the_next_training_gives_the_handlers_back(model):
    def fail():
        raise RuntimeError("of another callback")

    before = signal.getsignal(signal.SIGTERM)
    stop = StopOnSignal()
    with pytest.raises(RuntimeError, match="another callback"):
        fit(model, stop, at_step(2, fail))
    assert signal.getsignal(signal.SIGTERM) is not before
    fit(model, stop)
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.fixture
def interruptible():
    """Python's own handler, which a test run in the background may have been started without."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_a_second_signal_acts_at_once(model):
    stop = StopOnSignal()

    def twice():
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.received == signal.SIGINT
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fit(model, stop, at_step(2, twice))


def test_score_stops_early_and_puts_the_best_weights_back(model):
    scores = iter([1.0, 3.0, 2.0, 2.5, 9.0])
    seen = []
    score = ScoreCallback(lambda m: seen.append(m.get_weights()) or next(scores), patience=2)
    history = fit(model, score, epochs=9).history
    assert history["bleu"] == [1.0, 3.0, 2.0, 2.5]
    assert (score.best, score.best_epoch, score.stopped_early) == (3.0, 1, True)
    for value, right in zip(model.get_weights(), seen[1], strict=True):
        np.testing.assert_array_equal(value, right)


def test_score_every_so_many_epochs_and_at_the_end(model):
    score = ScoreCallback(lambda m: 1.0, every=2, name="f1", mode="min")
    fit(model, score, epochs=5)
    assert [epoch for epoch, _ in score.history] == [1, 3, 4]


def test_score_of_the_averaged_weights(model):
    seen = []

    def score_and_note(model):
        seen.append(keras.ops.convert_to_numpy(model.trainable_variables[0]))
        return 1.0

    score = ScoreCallback(score_and_note, average=True, restore_best=False)
    means = []
    note = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: means.append(
            keras.ops.convert_to_numpy(model.optimizer._model_variables_moving_average[0])
        )
    )
    fit(model, score, note, epochs=2)
    np.testing.assert_array_equal(seen, means)


def test_a_score_that_is_no_number_is_refused(model):
    with pytest.raises(ValueError, match="The score bleu of epoch 1 is nan"):
        fit(model, ScoreCallback(lambda m: float("nan")))


def test_throughput_and_rate_reach_tensorboard(model, tmp_path):
    x, y = tiny.tiny_ids(8)
    history = fit(
        model,
        Throughput(),
        keras.callbacks.TensorBoard(tmp_path),
        epochs=2,
        validation_data=(x, y),
    ).history
    assert all(rate > 0 for rate in history["tokens_per_second"])
    assert history["learning_rate"][1] == pytest.approx(1e-2 * (5 / 9) ** 0.5)
    tags = {
        value.tag
        for file in (tmp_path / "train").iterdir()
        for event in tf.compat.v1.train.summary_iterator(str(file))
        for value in event.summary.value
    }
    assert {"epoch_loss", "epoch_tokens_per_second", "epoch_learning_rate"} <= tags


def test_progress_counts_no_batches_beyond_a_limit_on_the_updates(model):
    text = io.StringIO()
    limit = StepLimit(6)
    progress = TrainingProgress(interval=0, limits=(limit,), console=Console(file=text))
    fit(model, limit, progress, epochs=9)
    shown = [line.partition(" loss")[0] for line in text.getvalue().splitlines()]
    assert shown[3] == "epoch 1/2 batch 4/4" and shown[-2] == "epoch 2/2 batch 2/2"


def test_progress_prints_plain_lines_when_not_in_a_terminal(model):
    text = io.StringIO()
    limit = StepLimit(100)
    progress = TrainingProgress(interval=0, limits=(limit,), console=Console(file=text))
    fit(model, limit, progress, epochs=2)
    lines = text.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[5].startswith("epoch 2/2 batch 1/4 loss ")
    assert "tokens/s" in lines[5] and re.search(r" 0:00:0\d left$", lines[5])
    assert lines[-1].startswith("epoch 2/2 done: 4 batches loss ")
    assert "\x1b" not in text.getvalue()


def test_progress_shows_a_bar_in_a_terminal(model):
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=120)
    fit(model, TrainingProgress(console=console), epochs=1)
    assert "epoch 1/1" in text.getvalue() and "token_loss" in text.getvalue()


def test_more_epochs_than_a_terminal_has_lines_are_all_shown(model):
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=60, height=5)
    fit(model, TrainingProgress(console=console), epochs=7)
    ends = re.findall(r"epoch (\d)/7 done: 4 batches .*? token_loss [\d.]+", text.getvalue())
    assert ends == list("1234567")
    assert "…" not in text.getvalue()


def test_the_epochs_counted_are_those_that_a_step_limit_leaves(model):
    text = io.StringIO()
    limit = StepLimit(10)
    fit(model, limit, TrainingProgress(0, (limit,), Console(file=text)), epochs=1000)
    lines = text.getvalue().splitlines()
    assert lines[4].startswith("epoch 1/3 done") and lines[-1].startswith("epoch 3/3 done: 2 ")


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: TimeLimit(0), "minutes must be positive, got 0"),
        (lambda: StepLimit(0), "steps must be at least 1, got 0"),
        (lambda: ScoreCallback(len, every=0), "every must be at least 1, got 0"),
        (lambda: ScoreCallback(len, mode="up"), "mode must be"),
        (lambda: TrainingCheckpoint("x", keep=0), "keep must be at least 1, got 0"),
        (lambda: TrainingCheckpoint("x", every_steps=0), "every_steps must be at least 1"),
    ],
)
def test_wrong_arguments_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
