"""Layers and models give on Keras' other backends what they give on TensorFlow."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from layers import gallery
from layers.fresh_process import report_of
from parity import compute_on_backend
from parity.compute_on_backend import NAMES


@pytest.fixture(scope="module")
def computed_by_tensorflow(tmp_path_factory):
    folder = tmp_path_factory.mktemp("computed")
    for name in NAMES:
        model, inputs = compute_on_backend.built(name)
        gallery.randomise(model)
        np.savez(
            folder / f"{name}.npz",
            **{f"weight {i}": w.numpy() for i, w in enumerate(model.weights)},
            **{
                f"output {i}": o for i, o in enumerate(compute_on_backend.outputs_of(model, inputs))
            },
        )
    return folder


# Keras' fourth backend, NumPy's, imports JAX's: it is no smaller companion.
@pytest.mark.parametrize("backend", [pytest.param("torch", marks=pytest.mark.parity), "jax"])
def test_another_backend_computes_the_same(computed_by_tensorflow, backend):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    script = Path(compute_on_backend.__file__)
    report = report_of(script, computed_by_tensorflow, KERAS_BACKEND=backend)
    assert report.pop("backend") == backend
    assert sorted(report) == sorted(NAMES)
    wrong = {name: d for name, d in report.items() if not isinstance(d, float) or d > 1e-5}
    assert not wrong, wrong
