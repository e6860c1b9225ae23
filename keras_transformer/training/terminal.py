"""Bars in a terminal, which leave alone what goes to files."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import Progress, ProgressColumn


class Terminal(Console):
    """A console that is a terminal only where its output is one.

    rich takes a file for one where `$FORCE_COLOR` is set, as in many a CI; a bar in a file is of no
    use.

    >>> import io
    >>> Terminal(file=io.StringIO()).is_terminal
    False
    """

    @property
    def is_terminal(self) -> bool:
        """Whether somebody looks at it."""
        return super().is_terminal and self.file.isatty()


def progress_bar(console: Console, *columns: ProgressColumn) -> Progress:
    """A bar that is erased when it is over.

    What is printed meanwhile stands above it, unless it goes elsewhere, as with `2> errors.log`.

    Args:
        console: a terminal.
        columns: parts of the bar.
    """
    return Progress(
        *columns,
        console=console,
        transient=True,
        redirect_stdout=not console.stderr,
        redirect_stderr=sys.stderr.isatty(),
    )
