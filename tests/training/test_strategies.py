"""Strategies by name, and what is refused."""

import inspect
import json

import keras
import pytest
import tensorflow as tf

from keras_transformer.training.distribution import (
    any_worker,
    count_workers,
    is_chief,
    lost_workers_explained,
    make_strategy,
    of_chief,
)

WORKERS = {"worker": ["127.0.0.1:1", "127.0.0.1:2"]}


def test_without_devices_and_workers_there_is_one_device(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    for name in ("auto", "one"):
        strategy = make_strategy(name)
        assert strategy is tf.distribute.get_strategy()
        assert is_chief(strategy) and count_workers(strategy) == 1


@pytest.mark.parametrize(
    ("name", "devices", "config", "fault"),
    [
        ("two", None, None, "strategy is 'two'; right are auto, one, mirrored, multiworker"),
        ("multiworker", None, None, "TF_CONFIG names no workers; right would be"),
        ("auto", None, "{", "TF_CONFIG is no description of a cluster in JSON: {"),
        ("auto", None, '["a"]', "TF_CONFIG is no description of a cluster"),
        ("auto", None, {"cluster": WORKERS}, "does not say which of its tasks this process is"),
        (
            "multiworker",
            None,
            {"cluster": WORKERS, "task": {"type": "worker", "index": 2}},
            "does not say which of its tasks this process is",
        ),
        ("auto", None, {"cluster": {"worker": "a:1"}}, "TF_CONFIG is no description of a cluster"),
        (
            "auto",
            None,
            {"cluster": {"worker": ["a", "b"]}},
            "names 'a'; an address must be HOST:PORT",
        ),
        ("auto", None, {"cluster": {"worker": [1, 2]}}, "names 1; an address must be HOST:PORT"),
        ("auto", None, {"cluster": {"worker": ["a:1", "a:1"]}}, "names a:1 twice"),
        *(
            (
                "multiworker",
                None,
                {"cluster": {"worker": workers}, "task": {"type": "worker", "index": index}},
                "does not say which of its tasks this process is",
            )
            for workers, index in ((["a:1"], 5), (["a:1", "b:1"], "0"), (["a:1", "b:1"], True))
        ),
        (
            "auto",
            2,
            {"cluster": WORKERS, "task": {"type": "worker", "index": 0}},
            "Virtual devices are for one worker",
        ),
        ("mirrored", 0, None, "virtual_devices is 0; it must be at least 1"),
        ("mirrored", 2, None, "must be made before TensorFlow is used"),
    ],
)
def test_what_cannot_be_is_refused(monkeypatch, name, devices, config, fault):
    tf.constant(1)  # TensorFlow is used
    text = config if isinstance(config, str) else json.dumps(config)
    monkeypatch.setenv("TF_CONFIG", "" if config is None else text)
    with pytest.raises(ValueError, match=fault.replace("{", r"\{")):
        make_strategy(name, devices)


class Resolver:
    """What a strategy knows of its cluster."""

    def __init__(self, jobs, task_type, task_id):
        self.task_type, self.task_id = task_type, task_id
        self._jobs = jobs

    def cluster_spec(self):
        return tf.train.ClusterSpec(self._jobs)


@pytest.mark.parametrize(
    ("jobs", "task", "chief"),
    [
        ({"worker": ["a:1", "b:1"]}, ("worker", 0), True),
        ({"worker": ["a:1", "b:1"]}, ("worker", 1), False),
        ({"chief": ["a:1"], "worker": ["b:1"]}, ("chief", 0), True),
        ({"chief": ["a:1"], "worker": ["b:1"]}, ("worker", 0), False),
        ({}, (None, None), True),
    ],
)
def test_the_chief_or_the_first_worker_writes(jobs, task, chief):
    strategy = type("Strategy", (), {"cluster_resolver": Resolver(jobs, *task)})()
    assert is_chief(strategy) is chief


def test_one_worker_agrees_with_itself():
    strategy = tf.distribute.get_strategy()
    assert any_worker(True, strategy) and not any_worker(False, strategy)
    assert of_chief(0.1, strategy) == 0.1


def test_without_other_workers_an_error_stays_what_it_is():
    with (
        pytest.raises(tf.errors.InternalError),
        lost_workers_explained(tf.distribute.get_strategy()),
    ):
        raise tf.errors.InternalError(None, None, "of another kind")


def test_keras_still_averages_the_numbers_of_a_step_along_an_axis_they_lack():
    """When this fails, `models.DistributedTraining` need not give them one any more."""
    from keras.src.backend.tensorflow import trainer

    assert 'strategy.reduce("MEAN", v, axis=0)' in inspect.getsource(trainer.reduce_per_replica)


def test_keras_still_builds_a_model_from_the_mean_of_the_replicas_rows():
    """When this fails, `models.DistributedTraining` need not override it any more."""
    built = inspect.getsource(keras.Model._maybe_symbolic_build)
    assert '"MEAN"' in built
