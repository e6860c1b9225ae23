"""Texts whose line ends matter: novels, plays, programs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from .documents import LONGEST_DOCUMENT, TEXT_ENDINGS, TextDocuments
from .lines import read_pieces_again
from .text_files import text_files

PARTED_BY = {"file": "ends of files", "paragraph": "blank lines and ends of files"}


def raw_text_files(
    *paths: str | os.PathLike[str],
    document: Literal["file", "paragraph"] = "file",
    endings: Sequence[str] = TEXT_ENDINGS,
) -> TextDocuments:
    """Documents of UTF-8 files, plain or gzip, each one text with its blanks and its line ends.

    Every line ends with one line feed: the last one of a file too, and one that ended with a
    carriage return and a line feed.

    Args:
        paths: files, and folders, whose files with one of the endings are taken, at any depth and
            in the order of their names.
        document: "file" makes a document of each file (a longer one than 4,194,304 characters
            counts as several, cut at the end of a line, or within one that is as long),
            "paragraph" of the lines between blank ones.
        endings: of the files to take in a folder, plain or with ".gz": [".py"], say.

    Returns:
        `TextDocuments` of one text each.

    Raises:
        ValueError: no path is given, a folder has no such file, or there is no such document.
        FileNotFoundError: there is no such file.

    Example:
        >>> raw_text_files("novel.txt")
        Traceback (most recent call last):
        FileNotFoundError: novel.txt: there is no such file or folder.
    """
    if not paths:
        raise ValueError("give at least one text file, or a folder of them.")
    if document not in PARTED_BY:
        raise ValueError(f'document is {document!r}; right are "file" and "paragraph".')
    name, files = text_files(*paths, endings=endings)
    ends_at_blank = document == "paragraph"
    return TextDocuments(
        name,
        lambda: ([text] for file in files for text in _texts_of(file, ends_at_blank)),
        PARTED_BY[document],
    )


def _texts_of(file: Path, ends_at_blank: bool) -> Iterator[str]:
    parts: list[str] = []
    size = 0
    begins_line = True
    for part, ends_line in read_pieces_again(file, LONGEST_DOCUMENT):
        is_end = ends_at_blank and begins_line and ends_line and not part.strip()
        if not is_end:
            parts.append(f"{part}\n" if ends_line else part)
            size += len(part) + ends_line
        begins_line = ends_line
        if parts and (is_end or size >= LONGEST_DOCUMENT):
            yield "".join(parts)
            parts, size = [], 0
    if parts:
        yield "".join(parts)
