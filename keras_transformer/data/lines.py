"""Lines of a UTF-8 text file, read as a stream and checked on the way."""

from __future__ import annotations

import codecs
import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

_GZIP_MAGIC = b"\x1f\x8b"


def read_lines(path: str | os.PathLike[str]) -> Iterator[str]:
    r"""Yields the lines of a UTF-8 file, plain or gzip, without their line ends.

    Only a line feed ends a line (a carriage return before it goes too): Unicode's other
    separators, such as U+2028 or U+0085, belong to the text, so that line numbers stay those of
    `wc -l` and parallel files stay aligned. A byte-order mark at the start is removed. Gzip is
    recognised by content, whatever the file is called.

    Args:
        path: the file.

    Yields:
        One `str` a line.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a line is not UTF-8 (the message names file and line), or the gzip stream is
            damaged or cut short.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "text.txt"
        >>> _ = path.write_bytes(b"\xef\xbb\xbfone\r\ntwo")
        >>> list(read_lines(path))
        ['one', 'two']
    """
    path = Path(path)
    if not path.is_file():
        reason = "it is a folder, not a file" if path.is_dir() else "there is no such file"
        raise FileNotFoundError(f"{path}: {reason}.")
    number = 0
    try:
        with _open(path) as stream:
            for number, line in enumerate(stream, start=1):
                text = line.removesuffix(b"\n").removesuffix(b"\r")
                if number == 1:
                    text = text.removeprefix(codecs.BOM_UTF8)
                yield text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}, line {number}: byte 0x{error.object[error.start]:02x} at position "
            f"{error.start + 1} is not valid UTF-8; convert the file to UTF-8."
        ) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(
            f"{path}: the gzip data is damaged after line {number} ({error}); compress it again."
        ) from error


def _open(path: Path):
    """A binary stream of the file's text; iterating it splits on line feeds alone."""
    with path.open("rb") as stream:
        is_gzip = stream.read(2) == _GZIP_MAGIC
    return gzip.open(path, "rb") if is_gzip else path.open("rb")
