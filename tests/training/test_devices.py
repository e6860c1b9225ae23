"""One device, several replicas and several workers compute the same."""

from pathlib import Path

import numpy as np
import pytest
from training import cluster

pytestmark = pytest.mark.slow

MODELS = ("transformer", "gpt", "bert")
KEYS = [*MODELS, *(f"{model}/parts" for model in MODELS), "transformer/recomputed"]

Results = dict[str, np.ndarray]


def by_replicas(count: int, file: Path) -> Results:
    cluster.finish([cluster.start("devices.py", file, count)])
    return dict(np.load(file))


def by_workers(count: int, file: Path) -> Results:
    cluster.finish(cluster.start_workers(count, "devices.py", file, "worker"))
    return dict(np.load(file))


@pytest.fixture(scope="module")
def one_device(tmp_path_factory) -> Results:
    return by_replicas(1, tmp_path_factory.mktemp("one") / "results.npz")


def part(results: Results, key: str) -> Results:
    found = {n[len(key) + 1 :]: v for n, v in results.items() if n.startswith(f"{key}/")}
    assert found, key
    return found


def assert_same_gradients(one: Results, other: Results) -> None:
    one, other = part(one, "gradients"), part(other, "gradients")
    assert one.keys() == other.keys()
    for name, gradient in one.items():
        bound = 1e-6 * np.abs(gradient).max() + 1e-7
        assert np.abs(other[name] - gradient).max() <= bound, name
    assert sum(np.abs(gradient).max() > 1e-3 for gradient in one.values()) > len(one) / 2


def assert_same_training(one: Results, other: Results) -> None:
    """Weights after ten updates of AdamW, and the numbers reported."""
    for name, value in part(one, "logs").items():
        assert other[f"logs/{name}"] == pytest.approx(value, rel=1e-6), name
    for name, weight in part(one, "weights").items():
        assert weight.dtype == np.float64
        if name.endswith("key/bias"):
            continue  # its gradient is zero but for rounding, which Adam makes as large as any
        np.testing.assert_allclose(other[f"weights/{name}"], weight, rtol=0, atol=1e-7)


def key(model: str, devices: int | str) -> str:
    name, _, way = model.partition("/")
    return f"{name}/{devices}" + (way and f"/{way}")


@pytest.mark.parametrize("count", [2, 4])
def test_replicas_train_every_model_as_one_device_does(one_device, tmp_path, count):
    found = by_replicas(count, tmp_path / "results.npz")
    for model in KEYS:
        one, other = part(one_device, key(model.partition("/")[0], 1)), key(model, count)
        assert_same_gradients(one, part(found, other))
        assert_same_training(one, part(found, other))


@pytest.mark.parametrize("count", [1, 2, 4])
def test_workers_train_every_model_as_one_device_does(one_device, tmp_path, count):
    found = by_workers(count, tmp_path / "results.npz")
    for model in KEYS:
        one, other = part(one_device, key(model.partition("/")[0], 1)), key(model, "worker")
        assert_same_gradients(one, part(found, other))
        assert_same_training(one, part(found, other))
