"""What the page says when something goes wrong."""

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import gradio


def shown(function: Callable) -> Callable:
    """The same function, whose errors of a user or a server the page shows as sentences."""
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def stream(*arguments: Any) -> Iterator[Any]:
            try:
                yield from function(*arguments)
            except (ValueError, OSError) as error:
                raise gradio.Error(str(error), print_exception=False) from error

        return stream

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (ValueError, OSError) as error:
            raise gradio.Error(str(error), print_exception=False) from error

    return call


def note_cut(truncated: bool, what: str) -> None:
    """Says on the page that not all of a text was read."""
    if truncated:
        gradio.Warning(f"{what} longer than the model takes: the end is missing.")
