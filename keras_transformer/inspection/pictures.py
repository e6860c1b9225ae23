"""matplotlib, which only pictures need."""

from __future__ import annotations

import importlib
from types import ModuleType


def matplotlib_module(name: str = "matplotlib") -> ModuleType:
    """A module of matplotlib, imported when a picture is wanted.

    Raises:
        ValueError: when matplotlib is not installed.

    >>> matplotlib_module("matplotlib.figure").Figure(figsize=(2, 1)).get_size_inches().tolist()
    [2.0, 1.0]
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ValueError(
            "Pictures need matplotlib, which is not installed: pip install matplotlib, or this "
            "package with its extra [plot]."
        ) from None
