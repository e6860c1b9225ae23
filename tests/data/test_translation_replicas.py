"""Batches under two replicas, in a process of its own with a single thread to share."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# One shared thread: whatever waits for a thread of the common pool while it holds one would hang.
SCRIPT = """
import tensorflow as tf
(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
tf.config.threading.set_inter_op_parallelism_threads(1)
tf.config.threading.set_intra_op_parallelism_threads(1)
import test_translation as t

batches = t.make_batches(t.make_pairs(700), batch_tokens=512, replicas=2)
count, passes, make = batches.count_batches(), [], batches.batches
batches.batches = lambda epoch, skip: passes.append(epoch) or make(epoch, skip)
with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
    model = t.tiny_model()
counter = t.CountSteps(batches.clock)
model.fit(batches.dataset, epochs=3, verbose=0, callbacks=[counter])
assert counter.steps == [count] * 3, (counter.steps, count)
assert passes == [0, 0, 1, 2], passes  # the first is fit's own look at one batch
print("as it should be")
"""


@pytest.mark.slow
def test_fit_on_two_replicas_keeps_epochs_and_steps():
    path = os.pathsep.join([str(ROOT), str(Path(__file__).parent), str(ROOT / "tests")])
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": "-1"},
        check=False,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert "as it should be" in result.stdout, result.stderr[-3000:]
