"""Two replicas compute what one does."""

import json

import numpy as np
import pytest
from training import processes

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return json.loads(processes.run("two_replicas", tmp_path_factory.mktemp("replicas")))


def test_two_replicas_report_the_loss_and_metrics_of_one(results):
    assert results["history_2"] == pytest.approx(results["history_1"], rel=1e-6)
    assert results["evaluate_2"] == pytest.approx(results["evaluate_1"], rel=1e-6)
    assert results["history_1"].keys() == {"loss", "token_loss"}


def test_two_replicas_change_the_weights_as_one_does(results):
    assert results["change_difference"] < 1e-6


def test_a_replica_without_rows_does_no_harm(results):
    assert np.all(np.isfinite(results["uneven"]))


def test_the_first_epoch_is_not_taken_to_build_the_model(results):
    assert results["epochs_begun"] == [0, 1]


@pytest.mark.parametrize("way", ["2_1", "1_2"])
def test_a_checkpoint_moves_between_one_and_two_replicas(results, way):
    assert results[f"restored_{way}"] is True
    assert results[f"next_step_{way}"] < 1e-6
