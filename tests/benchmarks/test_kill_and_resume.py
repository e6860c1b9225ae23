"""Two runs that differ anywhere are told apart."""

import numpy as np
import pytest

from benchmarks.kill_and_resume import differences

RUN = {
    "checkpoint": "epoch-0002",
    "model/0/kernel": np.float32([0.0, np.nan]),
    "history/loss": [1.5],
}


def test_the_same_run_is_the_same():
    assert differences(RUN, {**RUN, "model/0/kernel": np.float32([0.0, np.nan])}) == []


@pytest.mark.parametrize(
    "name, value",
    [
        ("checkpoint", "epoch-0001"),
        ("model/0/kernel", np.float32([-0.0, np.nan])),
        ("model/0/kernel", np.float64([0.0, np.nan])),
        ("model/0/kernel", np.float32([[0.0, np.nan]])),
        ("history/loss", [1.5000000000000002]),
        ("history/another", [1.5]),
    ],
)
def test_the_last_bit_counts(name, value):
    assert differences(RUN, RUN | {name: value}) == [name]


def test_what_is_missing_counts():
    assert differences(RUN, {"checkpoint": "epoch-0002"}) == ["model/0/kernel", "history/loss"]
