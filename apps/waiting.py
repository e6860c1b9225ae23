"""What goes on while something takes long: a bar, or a clock, in a terminal; nothing elsewhere."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import keras
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

from keras_transformer.data.source import CountedSource
from keras_transformer.training.terminal import Terminal, progress_bar

# One for all: a score within a training is shown below the training's own bar.
CONSOLE = Terminal()
ERRORS = Terminal(stderr=True)

Item = TypeVar("Item")
Report = TypeVar("Report")


class Waiting:
    """Counts the steps of something that takes long.

    Args:
        bar: what shows them; None where nothing is shown.
    """

    def __init__(self, bar: Progress | None = None):
        self._bar = bar
        self._done = 0
        self._shown = 0.0

    def advance(self, steps: int = 1) -> None:
        """Some steps more."""
        self._done += steps
        if self._bar is None or (now := time.monotonic()) - self._shown < 0.1:
            return
        self._shown = now
        task = self._bar.task_ids[0]
        steps_of = f"{self._done:,}" if self._bar.tasks[0].total is None else ""
        self._bar.update(task, completed=self._done, steps=steps_of)

    def count(self, items: Iterable[Item]) -> Iterable[Item]:
        """The same items, each a step."""
        return items if self._bar is None else self._counted(items)

    def _counted(self, items: Iterable[Item]) -> Iterator[Item]:
        for item in items:
            yield item
            self.advance()

    def callback(self) -> keras.callbacks.Callback:
        """For `evaluate`: each batch is a step."""
        return keras.callbacks.LambdaCallback(on_test_batch_end=lambda *_, **__: self.advance())


@contextmanager
def waiting(
    what: str, total: int | None = None, console: Console | None = None
) -> Iterator[Waiting]:
    """Shows what takes long as long as it does, if the output is a terminal.

    Args:
        what: what it is, as in "Reading a.txt".
        total: its steps, if they are known.
        console: where it is shown; on standard output by default.
    """
    console = console or CONSOLE
    if not console.is_terminal:
        yield Waiting()
        return
    columns: list[ProgressColumn] = [
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
    ]
    columns += (
        [BarColumn(), TaskProgressColumn()] if total else [TextColumn("{task.fields[steps]}")]
    )
    with progress_bar(console, *columns, TimeElapsedColumn()) as bar:
        bar.add_task(what, total=total, steps="")
        yield Waiting(bar)


def check(data: CountedSource[Any, Report]) -> Report:
    """Reads a source of data to its end, which is shown, and refuses an empty one; its counts."""
    with waiting(f"Reading {data.name}") as bar:
        return data.check(bar.count)
