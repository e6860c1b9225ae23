"""Training with a large vocabulary needs little more memory than its logits."""

import pytest
from training import processes

from benchmarks import memory


@pytest.mark.skipif(
    memory.Watch().memory() is None, reason="the system does not tell how much memory is used"
)
@pytest.mark.parametrize(
    "policy", ["float32", pytest.param("mixed_bfloat16", marks=pytest.mark.slow)]
)
def test_a_step_needs_less_than_three_times_its_logits(policy):
    """With 50,000 ids: logits, probabilities that become the gradient, and all the rest."""
    assert 1 < float(processes.run("memory_of_a_step", policy)) < 3
