"""Files that a user names one by one, or by the folder they lie in."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class TextFiles(NamedTuple):
    """Files to be read one after the other.

    Attributes:
        name: what messages and reports call them together.
        files: the files.
    """

    name: str
    files: list[Path]


def text_files(*paths: str | os.PathLike[str], endings: Sequence[str]) -> TextFiles:
    """The files that are meant by paths of files and of folders.

    Args:
        paths: a file is taken whatever it is called; of a folder the files with one of the
            endings are, plain or gzip, at any depth and in the order of their names.
        endings: ".txt", for instance, which also stands for ".txt.gz".

    Raises:
        ValueError: a folder has no such file.
        FileNotFoundError: there is nothing of that name.

    Example:
        >>> text_files("books.txt", endings=[".txt"])
        Traceback (most recent call last):
        FileNotFoundError: books.txt: there is no such file or folder.
    """
    names = [name for ending in endings for name in (ending, f"{ending}.gz")]
    files = [file for path in paths for file in _files_of(Path(path), names)]
    count = f" ({len(files)} files)" if len(files) > 1 else ""
    return TextFiles(" + ".join(map(str, paths)) + count, files)


def _files_of(path: Path, names: list[str]) -> list[Path]:
    if not path.is_dir():
        if not path.exists():
            raise FileNotFoundError(f"{path}: there is no such file or folder.")
        return [path]
    files = sorted(f for f in path.rglob("*") if f.name.endswith(tuple(names)) and f.is_file())
    files = [f for f in files if not _is_hidden(f.relative_to(path))]
    if not files:
        *others, last = names
        raise ValueError(f"{path}: the folder has no file {', '.join(others)} or {last} in it.")
    return files


def _is_hidden(path: Path) -> bool:
    """Whether a file, or a folder that it lies in, is hidden: what programs put there, not data."""
    return any(part.startswith(".") for part in path.parts)
