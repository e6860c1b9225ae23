"""Lines of UTF-8 text, read as a stream and checked on the way."""

from __future__ import annotations

import codecs
import gzip
import io
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
        path: the file, or a pipe such as `/dev/stdin`.

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
    if path.is_dir() or not path.exists():
        reason = "it is a folder, not a file" if path.is_dir() else "there is no such file"
        raise FileNotFoundError(f"{path}: {reason}.")
    with path.open("rb") as stream:
        yield from decode_lines(stream, str(path))


def decode_lines(stream: io.BufferedReader, name: str) -> Iterator[str]:
    """The lines of an open binary stream, by the rules of `read_lines`.

    Args:
        stream: is read once, from where it stands, without seeking; it is left open.
        name: what messages call it.

    Example:
        >>> list(decode_lines(io.BufferedReader(io.BytesIO(b"one\\n\\ntwo")), "memory"))
        ['one', '', 'two']
    """
    number = 0
    try:
        is_gzip = stream.peek(2)[:2] == _GZIP_MAGIC
        for number, line in enumerate(gzip.open(stream) if is_gzip else stream, start=1):
            text = line.removesuffix(b"\n").removesuffix(b"\r")
            if number == 1:
                text = text.removeprefix(codecs.BOM_UTF8)
            yield text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name}, line {number}: byte 0x{error.object[error.start]:02x} at position "
            f"{error.start + 1} is not valid UTF-8; convert the file to UTF-8."
        ) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(
            f"{name}: the gzip data is damaged after line {number} ({error}); compress it again."
        ) from error
