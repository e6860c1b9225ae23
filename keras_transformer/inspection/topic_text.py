"""Topics as text: tables with lines in a terminal, plain columns elsewhere."""

from __future__ import annotations

import io
import sys
from typing import TextIO

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from keras_transformer.inspection.topic import Matrix, Step, Topic
from keras_transformer.training.terminal import Terminal

# Where there is no terminal, nothing is to be cut or wrapped but sentences.
_PLAIN_WIDTH, _SENTENCE_WIDTH = 1000, 96


def print_topic(topic: Topic, file: TextIO | None = None) -> None:
    """Prints a topic.

    Args:
        topic: what to print.
        file: where to; standard output by default.

    >>> from keras_transformer.inspection.topic import Matrix, Step, Topic
    >>> print_topic(Topic("Doubling", "Twice a number.", [Step("Twice", "2 x", Matrix([[2, 4]]))]))
    Doubling
    ========
    Twice a number.
    <BLANKLINE>
    1. Twice
       2 x
           2  4
    """
    file = sys.stdout if file is None else file
    console = Terminal(file=file, highlight=False)
    if console.is_terminal:
        _print(console, topic, terminal=True)
        return
    buffer = io.StringIO()
    _print(Console(file=buffer, width=_PLAIN_WIDTH, highlight=False), topic, terminal=False)
    lines = [line.rstrip() for line in buffer.getvalue().splitlines()]
    print("\n".join(lines), file=file)


def _print(console: Console, topic: Topic, terminal: bool) -> None:
    console.print(Text(topic.title, style="bold"))
    console.print(Text("=" * Text(topic.title).cell_len, style="dim"))
    width = min(console.width, _SENTENCE_WIDTH)
    console.print(Text(topic.sentence), width=width)
    for number, step in enumerate(topic.steps, start=1):
        console.print()
        _print_step(console, number, step, width, terminal)


def _print_step(console: Console, number: int, step: Step, width: int, terminal: bool) -> None:
    console.print(Text(f"{number}. {step.title}", style="bold"))
    if step.formula:
        for line in step.formula.splitlines():
            console.print(Padding(Text(line, style="cyan"), (0, 0, 0, 3)))
    if step.matrix is not None:
        console.print(Padding(_table(step.matrix, terminal), (0, 0, 0, 6)))
    if step.picture is not None:
        console.print(Padding(Text("(A page shows a picture of it.)", style="dim"), (0, 0, 0, 3)))
    if step.sentence:
        console.print(Padding(Text(step.sentence), (0, 0, 0, 3)), width=width)


def _table(matrix: Matrix, terminal: bool) -> Table:
    table = Table(
        box=box.ROUNDED if terminal else None,
        show_header=bool(matrix.columns),
        header_style="bold" if terminal else "",
        padding=(0, 1),
        pad_edge=terminal,
    )
    cells = matrix.cells()
    right = [
        all(not isinstance(row[i], str) for row in matrix.values)
        for i in range(len(matrix.values[0]))
    ]
    if matrix.rows:
        table.add_column("", no_wrap=True, style="bold" if terminal else "")
    for i, is_number in enumerate(right):
        name = matrix.columns[i] if matrix.columns else ""
        table.add_column(
            Text(name),
            justify="right" if is_number else "left",
            no_wrap=is_number or not terminal,
            overflow="fold",
        )
    for i, row in enumerate(cells):
        name = [Text(matrix.rows[i])] if matrix.rows else []
        table.add_row(*name, *map(Text, row))
    return table
