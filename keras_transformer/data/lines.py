"""Lines of files that are read again and again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from keras_transformer.text.lines import read_line_pieces, read_lines


def read_lines_again(path: str | os.PathLike[str]) -> Iterator[str]:
    """`read_lines` of a file that can be opened any number of times.

    Pairs are read once to be checked and once for each epoch: a pipe would be empty the second
    time.

    Raises:
        ValueError: the file is a pipe or a device.
        FileNotFoundError: there is no such file.

    Example:
        >>> read_lines_again("/dev/null")
        Traceback (most recent call last):
        ValueError: /dev/null can be read only once, but pairs are read again and again: write ...
    """
    _check_again(path)
    return read_lines(path)


def read_pieces_again(path: str | os.PathLike[str], longest: int) -> Iterator[tuple[str, bool]]:
    """`read_line_pieces` of a file that can be opened any number of times: lines that may be as
    long as the file.

    Raises:
        ValueError: the file is a pipe or a device.
        FileNotFoundError: there is no such file.
    """
    _check_again(path)
    return read_line_pieces(path, longest)


def _check_again(path: str | os.PathLike[str]) -> None:
    file = Path(path)
    if file.exists() and not (file.is_file() or file.is_dir()):
        raise ValueError(
            f"{path} can be read only once, but pairs are read again and again: write them into a "
            "file first."
        )
