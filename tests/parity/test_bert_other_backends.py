"""BERT gives on Keras' other backends what it gives on TensorFlow."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from layers.fresh_process import report_of
from models import berts
from parity import bert_on_backend

KINDS = ("pretraining", "classifier", "span_qa", "embedder", "cls_embedder")


@pytest.mark.parametrize("backend", [pytest.param("torch", marks=pytest.mark.parity), "jax"])
def test_another_backend_computes_the_same(tmp_path, backend):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    for kind in KINDS:
        outputs = berts.outputs_of(berts.built(kind), berts.batch(kind))
        np.savez(tmp_path / f"{kind}.npz", **outputs)
    report = report_of(Path(bert_on_backend.__file__), tmp_path, KERAS_BACKEND=backend)
    assert report.pop("backend") == backend
    assert sorted(report) == sorted(KINDS)
    wrong = {name: d for name, d in report.items() if not isinstance(d, float) or d > 1e-5}
    assert not wrong, wrong
