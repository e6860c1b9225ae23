"""Several workers stop together, and go on together."""

import signal
import subprocess

import numpy as np
import pytest
from training import cluster


def read_batches(process: subprocess.Popen, count: int) -> None:
    """Waits until a worker has trained on so many batches."""
    while count:
        line = process.stdout.readline()
        assert line, process.stderr.read()[-3000:]
        count -= line == "batch\n"


@pytest.fixture(scope="module")
def one_device(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    cluster.finish([cluster.start("worker.py", folder, 3)])
    return np.load(folder / "weights.npy")


@pytest.mark.slow
def test_workers_that_are_killed_or_stopped_go_on_to_the_weights_of_one_device(
    one_device, tmp_path
):
    # A worker is killed: the chief ends with a sentence, not with a hang.
    chief, other = cluster.start_workers(2, "worker.py", tmp_path, 3)
    read_batches(chief, 2)
    other.kill()
    other.communicate()
    _, errors = chief.communicate(timeout=cluster.LONGEST)
    assert chief.returncode == 1
    assert "Another worker is gone, and training cannot go on without it" in errors
    assert list(tmp_path.glob("epoch-*.npz"))

    # A worker is asked to stop: both do, after the same batch.
    chief, other = cluster.start_workers(2, "worker.py", tmp_path, 3)
    read_batches(chief, 2)
    other.send_signal(signal.SIGTERM)
    for output in cluster.finish([chief, other]):
        assert "Training was stopped by SIGTERM." in output

    # Both go on to the end.
    for output in cluster.finish(cluster.start_workers(2, "worker.py", tmp_path, 3)):
        assert output.endswith("the end\n")
    np.testing.assert_allclose(np.load(tmp_path / "weights.npy"), one_device, atol=1e-5)
