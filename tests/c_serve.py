"""A runner of SavedModels without Python, for tests; where this machine has one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from benchmarks.c_serve import CServe


@pytest.fixture(scope="session")
def c_serve(tmp_path_factory: pytest.TempPathFactory) -> CServe:
    """c_serve, built once from the folder `$KERAS_TRANSFORMER_C_SERVE`; skips the test without.

    Example (a `conftest.py` imports the fixture first):
        def test_serves(c_serve): c_serve.ask(model, "serving_default", [{"text": ["abc"]}])
    """
    sources = os.environ.get("KERAS_TRANSFORMER_C_SERVE")
    if not sources:
        pytest.skip("needs c_serve; set KERAS_TRANSFORMER_C_SERVE to its folder")
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc to build c_serve")
    return CServe.build(Path(sources).resolve(), tmp_path_factory.mktemp("c_serve"))
