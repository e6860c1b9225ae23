"""Texts, and pairs of them, from the fields of JSON-lines files: one JSON object a line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from .lines import read_lines_again
from .pairs import TextPairs

JSON_LINES_ENDINGS = (".jsonl",)
BLANK = object()  # of a line without a record


def json_lines_pairs(
    path: str | os.PathLike[str], source: str = "source", target: str = "target"
) -> TextPairs:
    """Pairs of two text fields of a UTF-8 JSON-lines file, plain or gzip.

    Args:
        path: the file.
        source: name of the field with the source text; a dot reaches into an object
            (`translation.en`).
        target: the same for the target text.

    Returns:
        `TextPairs`. Reading them raises a ValueError naming file and line for a line that is not a
        JSON object, lacks a field, or has one that is not a text. A blank line counts as a blank
        pair.

    Raises:
        ValueError: a field's name is not a text.

    Example:
        >>> json_lines_pairs("train.jsonl", "translation.en", "translation.de").name
        'jsonl:train.jsonl'
    """
    for side, name in (("source", source), ("target", target)):
        if not isinstance(name, str):
            raise ValueError(f"{path}: the {side} field must be a name (a text), not {name!r}.")
    return TextPairs(f"jsonl:{path}", lambda: json_pairs(path, source, target))


def json_pairs(path: str | os.PathLike[str], source: str, target: str) -> Iterator[tuple[str, str]]:
    """Yields two text fields of every line of a file, two blank texts for a blank line."""
    for where, record in json_records(path):
        yield json_text(record, source, where), json_text(record, target, where)


def json_records(path: str | os.PathLike[str]) -> Iterator[tuple[str, Any]]:
    """Yields (where it stands, what is in it) of every line; `BLANK` is in a blank one.

    Raises:
        ValueError: a line is not JSON; the message names file and line.
    """
    for number, line in enumerate(read_lines_again(path), start=1):
        where = f"{path}, line {number}"
        if not line.strip():
            yield where, BLANK
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"{where}: not JSON ({error.msg} at column {error.colno}); each line must hold one "
                "JSON object."
            ) from None
        except (ValueError, RecursionError) as error:
            # Thousands of digits in one number, or of brackets in one another.
            raise ValueError(f"{where}: JSON that cannot be read ({error}).") from None
        yield where, record


def json_text(record: Any, name: str, where: str) -> str:
    """The text in a field of a record, "" for a blank line.

    Raises:
        ValueError: there is no such field, or it is not a text; the message begins with `where`.
    """
    if record is BLANK:
        return ""
    value = record
    # A field whose own name has a dot comes before the way into an object.
    whole = isinstance(record, dict) and name in record
    for key in [name] if whole else name.split("."):
        if not isinstance(value, dict):
            raise ValueError(f"{where}: no JSON object to take field {name!r} from.")
        if key not in value:
            raise ValueError(
                f"{where}: no field {name!r}; the fields there are: {', '.join(value) or 'none'}."
            )
        value = value[key]
    if not isinstance(value, str):
        shown = "an object or a list" if isinstance(value, dict | list) else json.dumps(value)[:50]
        raise ValueError(f"{where}: field {name!r} is {shown}, not a text.")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(
            f"{where}: field {name!r} has half a surrogate pair, which is no character."
        ) from None
    return value
