"""matplotlib, which only pictures need, and in which texts are no formulas."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any


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


def drawing(style: Callable[[], Mapping[str, Any]]) -> Callable[[Callable], Callable]:
    """Makes a function draw in a style, and dollars in texts stand for themselves.

    Args:
        style: gives the settings of matplotlib, once it is imported.
    """

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def draw(*args: Any, **kwargs: Any) -> Any:
            plain = {"text.parse_math": False}  # else "$$" is a formula, and a wrong one
            with matplotlib_module().rc_context(plain | dict(style())):
                return function(*args, **kwargs)

        return draw

    return decorated
