"""Strategies by name, and what the workers of one training have to agree on."""

import functools
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, get_args

import tensorflow as tf

StrategyName = Literal["auto", "one", "mirrored", "multiworker"]


def make_strategy(
    name: StrategyName = "auto", virtual_devices: int | None = None
) -> tf.distribute.Strategy:
    """The devices to train on; make and compile the model within the strategy's `scope()`.

    Call it before anything else of TensorFlow: several workers meet here, and devices cannot be
    made later.

    Args:
        name: "one" device; "mirrored": all GPUs of this machine, or all virtual devices
            (`tf.distribute.MirroredStrategy`); "multiworker": those of all machines that the
            environment variable TF_CONFIG names (`tf.distribute.MultiWorkerMirroredStrategy`);
            "auto": multiworker where TF_CONFIG names several workers, mirrored where there are
            several devices, else one.
        virtual_devices: makes so many devices of the CPU, to try replicas without GPUs.

    Raises:
        ValueError: for an unknown name, fewer than one device, devices that come too late, or a
            TF_CONFIG that names no workers or not this one.

    >>> make_strategy("one").num_replicas_in_sync
    1
    """
    if name not in get_args(StrategyName):
        raise ValueError(f"strategy is {name!r}; right are {', '.join(get_args(StrategyName))}.")
    workers = _count_workers()
    if name == "multiworker" or (name == "auto" and workers > 1):
        if virtual_devices is not None:
            raise ValueError(
                "Virtual devices are for one worker: on a CPU each of several workers has one "
                "device."
            )
        if not workers:
            raise ValueError(
                "strategy is multiworker, but the environment variable TF_CONFIG names no workers; "
                'right would be {"cluster": {"worker": ["HOST:PORT", ...]}, "task": {"type": '
                '"worker", "index": 0}} on the first of them; strategy "one" or "mirrored" is for '
                "this machine alone."
            )
        return tf.distribute.MultiWorkerMirroredStrategy()
    devices = _virtual_devices(virtual_devices) if virtual_devices is not None else _gpus()
    if name == "one" or (name == "auto" and len(devices) < 2):
        return tf.distribute.get_strategy()
    return tf.distribute.MirroredStrategy(devices or None)


def is_chief(strategy: tf.distribute.Strategy | None = None) -> bool:
    """Whether this process writes the files and reports: the chief, the first, or the only worker.

    Args:
        strategy: by default that of the `scope()` this is called in.

    >>> is_chief()
    True
    """
    strategy = strategy or tf.distribute.get_strategy()
    resolver = strategy.cluster_resolver
    if resolver is None or not resolver.cluster_spec():
        return True
    jobs = resolver.cluster_spec().jobs
    if resolver.task_type == "worker":
        return resolver.task_id == 0 and not {"chief", "master"} & set(jobs)
    return resolver.task_type in ("chief", "master")


def any_worker(flag: bool, strategy: tf.distribute.Strategy) -> bool:
    """Whether `flag` is true on any worker: the same answer on all, who must all ask.

    What ends a training (a clock, a signal) is seen by workers at different times; one that stops
    alone leaves the others waiting for its gradients.

    >>> any_worker(True, tf.distribute.get_strategy())
    True
    """
    return flag if count_workers(strategy) == 1 else _sum_of_workers(strategy, float(flag)) > 0


def of_chief(value: float, strategy: tf.distribute.Strategy) -> float:
    """The chief's `value`, on all workers, who must all ask.

    >>> of_chief(0.5, tf.distribute.get_strategy())
    0.5
    """
    if count_workers(strategy) == 1:
        return value
    return _sum_of_workers(strategy, value if is_chief(strategy) else 0.0)


def wait_for_workers(strategy: tf.distribute.Strategy) -> None:
    """Waits until all workers have come as far as this.

    >>> wait_for_workers(tf.distribute.get_strategy())
    """
    any_worker(False, strategy)


@contextmanager
def lost_workers_explained(strategy: tf.distribute.Strategy) -> Iterator[None]:
    """Ends the process with one sentence where another worker is gone.

    The strategy is not elastic: the others cannot go on without it.

    >>> with lost_workers_explained(tf.distribute.get_strategy()):
    ...     pass
    """
    try:
        yield
    except tf.errors.OpError as error:
        gone = isinstance(error, tf.errors.UnavailableError) or "Collective ops is" in error.message
        if count_workers(strategy) == 1 or not gone:
            raise
        lines = [line.strip() for line in error.message.splitlines() if line.strip()]
        reason = next(
            (line for line in lines if line != "Graph execution error:"), "no reason given"
        )
        raise SystemExit(
            "Another worker is gone, and training cannot go on without it: start all workers "
            f"again, with --resume or TrainingCheckpoint.restore. ({reason})"
        ) from error


def count_workers(strategy: tf.distribute.Strategy) -> int:
    """How many processes train together.

    >>> count_workers(tf.distribute.get_strategy())
    1
    """
    replicas = strategy.num_replicas_in_sync
    return 1 if replicas == 1 else replicas // len(strategy.extended.worker_devices)


def _sum_of_workers(strategy: tf.distribute.Strategy, value: float) -> float:
    return float(_summing(strategy)(tf.constant(value, tf.float64)))


@functools.cache
def _summing(strategy: tf.distribute.Strategy) -> tf.types.experimental.PolymorphicFunction:
    def of_first_replica(value: tf.Tensor) -> tf.Tensor:
        # Each worker counts once, however many replicas it has.
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        first = replica % len(strategy.extended.worker_devices) == 0
        return tf.where(first, value, 0)

    @tf.function
    def total(value: tf.Tensor) -> tf.Tensor:
        values = strategy.run(of_first_replica, args=(value,))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, values, axis=None)

    return total


def _count_workers() -> int:
    """Workers that TF_CONFIG names, the chief among them."""
    text = os.environ.get("TF_CONFIG")
    if not text:
        return 0
    try:
        config = json.loads(text)
        jobs = {job: _addresses(names) for job, names in config.get("cluster", {}).items()}
        task = config.get("task", {})
        kind, index = task.get("type"), task.get("index")
    except (ValueError, AttributeError, TypeError) as error:
        raise ValueError(f"TF_CONFIG is no description of a cluster in JSON: {text}") from error
    addresses = [a for job in ("chief", "master", "worker") for a in jobs.get(job, [])]
    for address in addresses:
        if not (isinstance(address, str) and re.fullmatch(r".+:\d+", address)):
            raise ValueError(
                f"TF_CONFIG names {address!r}; an address must be HOST:PORT, in a list such as "
                '"worker": ["one.example.org:12345", "other.example.org:12345"].'
            )
        if addresses.count(address) > 1:
            raise ValueError(f"TF_CONFIG names {address} twice; each worker has its own address.")
    if addresses and (type(index) is not int or index not in range(len(jobs.get(kind, [])))):
        raise ValueError(
            f"TF_CONFIG does not say which of its tasks this process is: {text}; right would be "
            '"task": {"type": "worker", "index": 0} on the first worker, 1 on the second.'
        )
    return len(addresses)


def _addresses(names: list | dict) -> list:
    """A job's addresses, which TF_CONFIG has in a list, or by their numbers."""
    if isinstance(names, dict):
        return [names[number] for number in sorted(names, key=int)]
    if not isinstance(names, list):
        raise TypeError(f"{names!r} is no list of addresses")
    return names


def _gpus() -> list[str]:
    return [f"GPU:{i}" for i in range(len(tf.config.list_physical_devices("GPU")))]


def _virtual_devices(count: int) -> list[str]:
    if count < 1:
        raise ValueError(f"virtual_devices is {count}; it must be at least 1.")
    cpu = tf.config.list_physical_devices("CPU")[0]
    try:
        tf.config.set_logical_device_configuration(
            cpu, [tf.config.LogicalDeviceConfiguration()] * count
        )
    except RuntimeError as error:
        raise ValueError(
            "virtual_devices must be made before TensorFlow is used: call make_strategy first."
        ) from error
    return [f"CPU:{i}" for i in range(count)]
