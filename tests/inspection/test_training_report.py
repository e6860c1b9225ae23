"""The report of a training: what it holds, and when it is written."""

import json
from collections import Counter

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.data import ExampleBatches, TextPairs
from keras_transformer.data.length_report import LengthReport, SideLengths
from keras_transformer.data.pairs import ReadReport
from keras_transformer.inspection.data_counts import data_counts
from keras_transformer.inspection.training_report import (
    TrainingReport,
    describe_devices,
    read_report,
)
from keras_transformer.training import ScoreCallback, StepLimit, Throughput, adamw


@pytest.fixture(scope="module")
def model():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(adamw(1e-3), loss="mse")
    return model


@pytest.fixture
def fresh(model):
    """The model, with all its updates before it."""
    model.optimizer.iterations.assign(0)
    return model


DATA = np.ones((8, 2), "float32"), np.ones((8, 1), "float32")


def fit(model, report, epochs, *, first=0, callbacks=(), score=None):
    scoring = ScoreCallback(score or (lambda _: float(model.optimizer.iterations)), name="valid_f1")
    model.fit(
        *DATA, batch_size=4, epochs=epochs, initial_epoch=first, verbose=0,
        callbacks=[*callbacks, Throughput(), scoring, report.callback()],
    )  # fmt: skip


def epochs_of(folder):
    return [(row["epoch"], row["updates"]) for row in read_report(folder)["epochs"]]


class Stop(keras.callbacks.Callback):
    """Ends a training as a kill does: nobody is told."""

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 1:
            raise KeyboardInterrupt


def test_a_run_has_its_report_from_the_start_to_the_end(fresh, tmp_path):
    report = TrainingReport(tmp_path, "runs/mine", "train.py")
    report.add_data("train", TextPairs("two", lambda: iter([("a", "b"), ("c", "")])).check())
    assert list(tmp_path.iterdir()) == []  # what is refused before training leaves nothing
    with report:
        report.begin(fresh, {"rate": 0.5, "limit": float("inf")}, ("valid_f1", "max"))
        found = read_report(tmp_path)
        assert found["state"] == "running" and found["epochs"] == []
        assert found["data"]["train"]["dropped"] == {"blank target": 1}
        assert found["options"] == {"rate": 0.5, "limit": None}  # JSON has no infinity
        assert found["model"]["parameters"] == 3
        fit(fresh, report, epochs=3)
        report.finish({"test": {"f1": 0.5}}, [{"text": "x", "model": "y"}])
    found = read_report(tmp_path)
    assert found["state"] == "done" and found["scores"] == {"test": {"f1": 0.5}}
    assert epochs_of(tmp_path) == [(1, 2), (2, 4), (3, 6)]
    row = found["epochs"][-1]
    assert {"loss", "learning_rate", "valid_f1", "seconds"} <= row.keys() and row["valid_f1"] == 6
    assert found["samples"] == [{"updates": None, "texts": {"text": "x", "model": "y"}}]
    assert {path.name for path in tmp_path.iterdir()} == {"report.json", "report.html"}


def test_a_killed_run_has_one_and_a_resumed_one_goes_on_with_it(fresh, tmp_path):
    report = TrainingReport(tmp_path)
    report.begin(fresh)
    report.add_sample({"text": "early"}, updates=2)
    report.add_sample({"text": "lost"}, updates=9)
    with pytest.raises(KeyboardInterrupt):
        fit(fresh, report, epochs=3, callbacks=[Stop()])
    assert epochs_of(tmp_path) == [(1, 2)] and read_report(tmp_path)["state"] == "running"
    fit(fresh, report, epochs=3, first=1)  # and is killed after the checkpoint of epoch 2
    assert epochs_of(tmp_path) == [(1, 2), (2, 4), (3, 6)]
    began = read_report(tmp_path)["started"]

    fresh.optimizer.iterations.assign(4)
    again = TrainingReport(tmp_path)
    again.begin(fresh, resume=True)
    assert epochs_of(tmp_path) == [(1, 2), (2, 4)]
    found = read_report(tmp_path)
    assert found["started"] == began and len(found["resumed"]) == 1
    assert [sample["texts"]["text"] for sample in found["samples"]] == ["early"]
    before = found["epochs"][-1]["seconds"]
    fit(fresh, again, epochs=3, first=2)
    assert epochs_of(tmp_path) == [(1, 2), (2, 4), (3, 6)]
    assert read_report(tmp_path)["epochs"][-1]["seconds"] > before


def test_an_epoch_that_a_limit_cut_is_replaced_when_it_goes_on(fresh, tmp_path):
    report = TrainingReport(tmp_path)
    report.begin(fresh)
    fit(fresh, report, epochs=3, callbacks=[StepLimit(3)])
    assert epochs_of(tmp_path) == [(1, 2), (2, 3)]
    again = TrainingReport(tmp_path)
    again.begin(fresh, resume=True)
    assert epochs_of(tmp_path) == [(1, 2), (2, 3)]  # if nothing is left to do, it stays
    fit(fresh, again, epochs=2, first=1)
    assert epochs_of(tmp_path) == [(1, 2), (2, 5)]


def test_within_a_long_epoch_there_are_points_and_not_too_many(fresh, tmp_path, monkeypatch):
    monkeypatch.setattr("keras_transformer.inspection.report_callback.MOST_WITHIN", 3)
    report = TrainingReport(tmp_path)
    report.begin(fresh)
    callback = report.callback(interval=0.0)
    fresh.fit(*DATA, batch_size=1, epochs=1, verbose=0, callbacks=[callback])
    points = read_report(tmp_path)["within"]
    assert 0 < len(points) <= 3
    assert all(point["epoch"] == 1 and point["learning_rate"] > 0 for point in points)


def test_the_loss_of_a_point_is_that_of_the_time_since_the_one_before(fresh, tmp_path):
    class Means(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            means.append(logs["loss"])  # of all batches so far

    means = []
    report = TrainingReport(tmp_path)
    report.begin(fresh)
    sized = tf.data.Dataset.from_tensor_slices(DATA).batch(1)
    callbacks = [Means(), report.callback(interval=0.0)]
    fresh.fit(sized, epochs=1, verbose=0, shuffle=False, callbacks=callbacks)
    sums = np.array(means) * np.arange(1, 9)
    points = report.facts["within"]
    assert [point["updates"] for point in points] == [3, 4, 5, 6, 7, 8]
    np.testing.assert_allclose([point["loss"] for point in points], np.diff(sums)[1:], rtol=1e-4)


@pytest.mark.parametrize(
    ("error", "state", "message"),
    [
        (ValueError("The loss is nan."), "failed", "The loss is nan."),
        (SystemExit("Stopped."), "stopped", "Stopped."),
        (KeyboardInterrupt(), "stopped", "KeyboardInterrupt"),
    ],
)
def test_what_ended_a_training_is_in_its_report(fresh, tmp_path, error, state, message):
    with pytest.raises(type(error)), TrainingReport(tmp_path) as report:
        report.begin(fresh)
        raise error
    found = read_report(tmp_path)
    assert (found["state"], found["message"]) == (state, message)
    assert message in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(("cores", "words"), [({0}, "CPU, 1 core"), ({0, 1}, "CPU, 2 cores")])
def test_the_cores_are_those_that_the_process_may_use(model, monkeypatch, cores, words):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: cores, raising=False)
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda _: [])
    assert describe_devices(model) == [words]


def test_only_the_chief_writes(fresh, tmp_path, monkeypatch):
    monkeypatch.setattr("keras_transformer.inspection.training_report.is_chief", lambda _: False)
    with TrainingReport(tmp_path) as report:
        report.begin(fresh)
        report.finish({})
    assert list(tmp_path.iterdir()) == []


def test_a_report_is_whole_or_not_there(fresh, tmp_path, monkeypatch):
    report = TrainingReport(tmp_path)
    report.begin(fresh)
    before = (tmp_path / "report.json").read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space")))
    with pytest.raises(OSError, match="No space"):
        report.end("done")
    assert (tmp_path / "report.json").read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"report.json", "report.html"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "cannot be read"),
        ("[]", "has the format None"),
        ('{"format": 9}', "the format 9"),
        ('{"format": 1, "title": "a", "state": "done"}', "damaged: it has no devices"),
    ],
)
def test_a_damaged_report_is_refused_by_name(tmp_path, text, words):
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(ValueError, match=f"report.json .*{words}"):
        read_report(tmp_path)


# Counts.


def test_counts_of_pairs_are_those_of_reading_and_of_lengths():
    report = LengthReport(
        ReadReport("t", read=10, kept=8, dropped=Counter({"blank target": 2})),
        read=8, kept=6, dropped=Counter({"too long": 2, "no tokens": 0}), batches=3,
        source=SideLengths(total=30, longest=9, padded=40),
        target=SideLengths(total=60, longest=20, padded=80),
    )  # fmt: skip
    found = data_counts(report)
    assert (found["read"], found["kept"]) == (10, 6)
    assert found["dropped"] == {"blank target": 2, "too long": 2}
    assert found["mean_length"] == {"source": 5.0, "target": 10.0}
    assert found["longest"] == {"source": 9, "target": 20}
    assert found["padding_share"] == pytest.approx(0.25)
    json.dumps(found)


def test_counts_of_examples_have_their_lengths():
    examples = [{"token_ids": np.arange(1, n), "label": n} for n in (4, 2, 3)]
    found = data_counts(ExampleBatches(examples, "label", batch_size=3, training=False).report)
    assert found["examples"] == 3 and found["longest"] == 3 and found["mean_length"] == 2.0
