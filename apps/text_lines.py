"""Lines of text for the commands that answer line by line."""

import itertools
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext

import waiting

from keras_transformer.data import decode_lines, read_lines

LINES_AT_A_TIME = 1024


def lines_of(file: str | None) -> Iterator[str]:
    """The lines of a file, or without one of standard input, by the same rules."""
    return read_lines(file) if file else decode_lines(sys.stdin.buffer, "standard input")


def in_chunks(
    lines: Iterable[str], file: str | None = None, size: int = LINES_AT_A_TIME
) -> Iterator[list[str]]:
    """Lines in lists; those typed at a terminal one by one, so that an answer follows each.

    Args:
        lines: what `lines_of` gives.
        file: where they come from, None for standard input.
        size: lines of a list; between two lists a command can be interrupted.
    """
    size = 1 if file is None and sys.stdin.isatty() else size
    lines = iter(lines)
    with lines_answered() as bar:
        while chunk := list(itertools.islice(lines, size)):
            yield chunk
            bar.advance(len(chunk))


def lines_answered() -> AbstractContextManager[waiting.Waiting]:
    """Counts lines in a terminal that does not show the answers themselves."""
    if waiting.CONSOLE.is_terminal:
        return nullcontext(waiting.Waiting())
    return waiting.waiting("Lines", console=waiting.ERRORS)
