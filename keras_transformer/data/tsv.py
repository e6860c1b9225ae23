"""Pairs from two columns of a tab-separated file."""

from __future__ import annotations

import os
from collections.abc import Iterator

from .lines import read_lines_again
from .pairs import TextPairs

Column = int | str


def tsv_pairs(
    path: str | os.PathLike[str],
    source: Column | None = None,
    target: Column | None = None,
    *,
    header: bool | None = None,
) -> TextPairs:
    """Pairs of two columns of a UTF-8 TSV file, plain or gzip.

    There are no quoting rules: a tab ends a field, a line feed ends a row, and a field may start
    with a double quote or hold any number of them. Every row must have as many columns as the
    first one.

    Args:
        path: the file.
        source: column of the source texts, by name or by number (1 is the first, as in
            `cut -f`). A string of digits is a number.
        target: the same for the target texts. Where both are left out, columns named "source" and
            "target" are taken if the first row has both names, and columns 1 and 2 if not.
        header: whether the first row holds names; by default it does if a column is given, or
            found, by name.

    Returns:
        `TextPairs`. Reading them raises a ValueError naming file and line for a row with another
        number of columns, and one naming the columns there are for a column there is not.

    Example:
        >>> tsv_pairs("train.tsv", source="english", target="german").name
        'tsv:train.tsv'
    """
    if (source is None) != (target is None):
        raise ValueError(
            f"{path}: give both columns or neither (source column {source!r}, "
            f"target column {target!r})."
        )
    for column in (source, target):
        if not isinstance(column, int | str | None):
            raise ValueError(f"{path}: a column is a name or a number, not {column!r}.")
    return TextPairs(f"tsv:{path}", lambda: _rows(path, source, target, header))


def _rows(path, source, target, header) -> Iterator[tuple[str, str]]:
    lines = enumerate(read_lines_again(path), start=1)
    first = next(lines, None)
    if first is None:
        return
    names = first[1].split("\t")
    if source is None:
        named = header is not False and {"source", "target"} <= set(names)
        source, target = ("source", "target") if named else (1, 2)
    if header is None:
        header = not (is_number(source) and is_number(target))
    source_index = column_index(path, source, names, header)
    target_index = column_index(path, target, names, header)
    if not header:
        yield names[source_index], names[target_index]
    for number, line in lines:
        fields = line.split("\t")
        if len(fields) == len(names):
            yield fields[source_index], fields[target_index]
        elif not line.strip():
            yield "", ""  # a blank line: counted and left out as a blank pair
        else:
            raise ValueError(
                f"{path}, line {number}: {len(fields)} columns where the first line has "
                f"{len(names)}; every row needs the same number of tab-separated fields."
            )


def is_number(column: Column) -> bool:
    """Whether a column is given by its number."""
    return isinstance(column, int) or column.isdecimal()


def column_index(path, column: Column, names: list[str], header: bool) -> int:
    """The place of a column, from 0, in rows whose first one is `names`.

    Raises:
        ValueError: there is no such column.
    """
    if header and column in names:  # a name that looks like a number is still a name
        return names.index(column)
    if is_number(column):
        if 1 <= int(column) <= len(names):
            return int(column) - 1
        raise ValueError(
            f"{path} has no column {column}: its first line has {len(names)} columns, "
            f"counted from 1."
        )
    if not header:
        raise ValueError(f"{path}: column {column!r} is a name, but header=False says none are.")
    raise ValueError(
        f"{path} has no column named {column!r} in its first line, which has: {', '.join(names)}."
    )
