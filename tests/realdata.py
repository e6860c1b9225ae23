"""Real public data sets for tests, where this machine has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_REPOSITORY = Path(__file__).resolve().parents[1]


def real_data(name: str) -> Path:
    """Path of a real data set's file or folder; skips the test where it is not there.

    The folder with all sets is `$KERAS_TRANSFORMER_DATA`, or `../shared/data` beside the
    repository.

    Example:
        folder = real_data("multi30k")
    """
    default = _REPOSITORY.parent / "shared" / "data"
    path = Path(os.environ.get("KERAS_TRANSFORMER_DATA") or default) / name
    if not path.exists():
        pytest.skip(f"needs the data set {path}; set KERAS_TRANSFORMER_DATA to its folder")
    return path
