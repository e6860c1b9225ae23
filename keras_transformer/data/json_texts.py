"""Texts from a field of JSON-lines files: one JSON object, and one document, a line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from .documents import TextDocuments
from .json_lines import JSON_LINES_ENDINGS, json_records, json_text
from .text_files import text_files


def json_lines_texts(*paths: str | os.PathLike[str], field: str = "text") -> TextDocuments:
    """Documents of UTF-8 JSON-lines files, plain or gzip, each one text with its line ends.

    Args:
        paths: files, and folders, whose files `*.jsonl` and `*.jsonl.gz` at any depth are taken in
            the order of their names.
        field: name of the field with the text; a dot reaches into an object (`page.text`).

    Returns:
        `TextDocuments` of one text each. Reading them raises a ValueError naming file and line for
        a line that is not a JSON object, lacks the field, or has one that is not a text. A blank
        line counts as a blank text.

    Raises:
        ValueError: no path is given, a folder has no such file, or the field's name is not a text.
        FileNotFoundError: there is no such file.

    Example:
        >>> json_lines_texts("pages.jsonl", field="content")
        Traceback (most recent call last):
        FileNotFoundError: pages.jsonl: there is no such file or folder.
    """
    if not paths:
        raise ValueError("give at least one JSON-lines file, or a folder of them.")
    if not isinstance(field, str):
        raise ValueError(f"{paths[0]}: the field must be a name (a text), not {field!r}.")
    name, files = text_files(*paths, endings=JSON_LINES_ENDINGS)
    return TextDocuments(f"jsonl:{name}", lambda: _texts(files, field), "lines")


def _texts(files: list[Path], field: str) -> Iterator[list[str]]:
    for file in files:
        for where, record in json_records(file):
            yield [json_text(record, field, where)]
