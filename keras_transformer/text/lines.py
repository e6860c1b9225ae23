"""Lines of UTF-8 text, read as a stream and checked on the way."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

_GZIP_MAGIC = b"\x1f\x8b"
LONGEST_LINE = 2**26  # bytes; it bounds the memory


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
        ValueError: a line is not UTF-8, or longer than 64 MB as in a file without line ends (the
            message names file and line), or the gzip stream is damaged or cut short.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "text.txt"
        >>> _ = path.write_bytes(b"\xef\xbb\xbfone\r\ntwo")
        >>> list(read_lines(path))
        ['one', 'two']
    """
    with _opened(path) as stream:
        yield from decode_lines(stream, str(path))


def read_line_pieces(path: str | os.PathLike[str], longest: int) -> Iterator[tuple[str, bool]]:
    """The lines of `read_lines`, long ones in pieces: for texts whose line ends may be far apart.

    Args:
        path: the file, or a pipe such as `/dev/stdin`.
        longest: most bytes of a piece, give or take a few.

    Yields:
        A piece, and whether its line ends with it.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "text.txt"
        >>> _ = path.write_text("one two\\nthree")
        >>> list(read_line_pieces(path, 4))
        [('one', False), (' two', True), ('thr', False), ('ee', True)]
    """
    with _opened(path) as stream:
        yield from _decoded(stream, str(path), longest)


def decode_lines(stream: io.BufferedReader, name: str) -> Iterator[str]:
    """The lines of an open binary stream, by the rules of `read_lines`.

    Args:
        stream: is read once, from where it stands, without seeking; it is left open.
        name: what messages call it.

    Example:
        >>> list(decode_lines(io.BufferedReader(io.BytesIO(b"one\\n\\ntwo")), "memory"))
        ['one', '', 'two']
    """
    for number, (text, is_end) in enumerate(_decoded(stream, name, LONGEST_LINE), start=1):
        if not is_end:
            raise ValueError(
                f"{name}, line {number}: it is longer than {LONGEST_LINE:,} bytes; one text a line "
                "is expected, so put line ends between the texts."
            )
        yield text


def _opened(path: str | os.PathLike[str]) -> io.BufferedReader:
    path = Path(path)
    if path.is_dir() or not path.exists():
        reason = "it is a folder, not a file" if path.is_dir() else "there is no such file"
        raise FileNotFoundError(f"{path}: {reason}.")
    return path.open("rb")


def _decoded(stream: io.BufferedReader, name: str, longest: int) -> Iterator[tuple[str, bool]]:
    """Lines without their ends, those of more than `longest` bytes in pieces; and what ends one."""
    number = 0
    rest: bytes | None = None  # of a line in pieces: what the last piece left to the next one
    before = 0  # bytes of a line in its earlier pieces
    try:
        file = gzip.open(stream) if stream.peek(2)[:2] == _GZIP_MAGIC else stream
        for line in iter(partial(file.readline, longest), b""):
            is_end = line.endswith(b"\n") or len(line) < longest
            if rest is not None:
                line = rest + line
            else:
                number += 1
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
            if is_end:
                text, rest = line.removesuffix(b"\n").removesuffix(b"\r"), None
            else:
                text, rest = _cut_before_last_character(line)
            yield text.decode("utf-8"), is_end
            before = 0 if is_end else before + len(text)
        if rest is not None:
            yield rest.decode("utf-8"), True
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name}, line {number}: byte 0x{error.object[error.start]:02x} at position "
            f"{before + error.start + 1} is not valid UTF-8; convert the file to UTF-8."
        ) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(
            f"{name}: the gzip data is damaged after line {number} ({error}); compress it again."
        ) from error


def _cut_before_last_character(text: bytes) -> tuple[bytes, bytes]:
    """The last character may be cut in two, or a carriage return that ends the line."""
    end = len(text) - 1
    while end > len(text) - 4 and text[end] & 0xC0 == 0x80:  # not the first byte of a character
        end -= 1
    return text[:end], text[end:]
