"""Texts, or pairs of texts, each with a label or a number, from tab-separated files."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from .lines import read_lines_again
from .pairs import ReadReport
from .source import CountedSource
from .text_files import text_files
from .tsv import Column, column_index, is_number

TSV_ENDINGS = (".tsv",)
TEXT_NAMES = ("text", "text_a", "sentence", "sentence1")
PAIR_NAMES = ("text_pair", "text_b", "sentence2")
LABEL_NAMES = ("label", "score")


class LabelledText(NamedTuple):
    """A text, perhaps a second one, and what is to be known of them.

    Attributes:
        text: the text.
        text_pair: the second text, or None.
        label: the name of the label, or the number.
    """

    text: str
    text_pair: str | None
    label: str | float


class LabelledTexts(CountedSource[LabelledText, ReadReport]):
    """A source of labelled texts that can be read again and again.

    A row with a blank text or a blank label is left out and counted. A NUL character becomes a
    space and is counted as a repair; blanks around a label are no part of it.

    Args:
        name: what messages and reports call this source.
        read: opens the source and yields (where it stands, text, second text or None, label).
        regression: labels are numbers.

    Example:
        >>> rows = [("row 1", "fine", None, "good"), ("row 2", "poor", None, "bad")]
        >>> texts = LabelledTexts("two", lambda: iter(rows))
        >>> next(iter(texts)), texts.label_names()
        (LabelledText(text='fine', text_pair=None, label='good'), ['bad', 'good'])
    """

    def __init__(
        self,
        name: str,
        read: Callable[[], Iterator[tuple[str, str, str | None, str | float | None]]],
        regression: bool = False,
    ):
        super().__init__(name, read)
        self.regression = regression

    def __iter__(self) -> Iterator[LabelledText]:
        report = ReadReport(self.name)
        for where, *texts, label in self._read():
            report.read += 1
            clean = [text if text is None else text.replace("\0", " ") for text in texts]
            if fault := _fault(*clean, label):
                report.dropped[fault] += 1
                continue
            if clean != texts:
                report.repaired["NUL replaced by a space"] += 1
            report.kept += 1
            label = _number(where, label) if self.regression else str(label).strip()
            yield LabelledText(*clean, label)
        self._report = report  # only a finished pass knows the counts

    def label_names(self) -> list[str]:
        """The labels there are, in an order that stays: numbers by size, then names by letters.

        Raises:
            ValueError: the labels are numbers to be guessed, or there is only one label.
        """
        if self.regression:
            raise ValueError(f"{self.name}: regression has numbers, not names of labels.")
        names = sorted({row.label for row in self}, key=_label_order)
        if len(names) < 2:
            raise ValueError(
                f"{self.report}; the only label is {', '.join(names) or 'none'}: a classifier "
                "needs two at least."
            )
        return names

    def texts(self) -> Iterator[str]:
        """The texts alone, first and second ones, for instance to train a tokenizer."""
        for row in self:
            yield row.text
            if row.text_pair is not None:
                yield row.text_pair


def labelled_tsv(
    path: str | os.PathLike[str],
    text: Column | None = None,
    label: Column | None = None,
    text_pair: Column | None = None,
    *,
    header: bool | None = None,
    regression: bool = False,
) -> LabelledTexts:
    """Labelled texts of UTF-8 TSV files, plain or gzip.

    There are no quoting rules: a tab ends a field, a line feed ends a row, and a field may start
    with a double quote or hold any number of them. Every row must have as many columns as the
    first one, and every file the same columns; a blank line is left out and counted.

    Args:
        path: the file, or a folder, whose files `*.tsv` and `*.tsv.gz` at any depth are taken in
            the order of their names.
        text: column of the texts, by name or by number (1 is the first). Where it and the label
            are left out, columns with usual names are taken ("text", "text_a", "sentence",
            "sentence1" with "label" or "score", and "text_pair", "text_b" or "sentence2" where
            there is one), or columns 1 and 2 of a file that has just two.
        label: column of the labels.
        text_pair: column of the second texts, if the file has pairs of texts.
        header: whether the first row of a file holds names; by default it does if a column is
            given, or found, by name.
        regression: labels are numbers.

    Returns:
        `LabelledTexts`. Reading them raises a ValueError naming file and line for a row with
        another number of columns or a label that is no number, one naming the columns there are
        for a column there is not, and one naming two files of a folder with different columns.

    Raises:
        ValueError: a folder has no such file; impossible columns.
        FileNotFoundError: there is no such file.

    Example:
        >>> labelled_tsv("train.tsv", text="review", label="stars", regression=True)
        Traceback (most recent call last):
        FileNotFoundError: train.tsv: there is no such file or folder.
    """
    if (text is None) != (label is None) or (text is None and text_pair is not None):
        raise ValueError(
            f"{path}: give the columns of text and label or neither (text column {text!r}, "
            f"label column {label!r}, text pair column {text_pair!r})."
        )
    for column in (text, label, text_pair):
        if not isinstance(column, int | str | None):
            raise ValueError(f"{path}: a column is a name or a number, not {column!r}.")
    columns = (text, text_pair, label)
    name, files = text_files(path, endings=TSV_ENDINGS)
    return LabelledTexts(f"tsv:{name}", lambda: _rows(files, columns, header), regression)


@dataclass(frozen=True)
class _Layout:
    """How a file's rows are to be read: files with equal layouts can be read together."""

    width: int
    header: tuple[str, ...] | None  # its names
    columns: tuple[int, int | None, int]  # of text, second text and label, from 0

    def __str__(self) -> str:
        if self.header is None:
            return f"{self.width} columns without a header"
        return f"the header {', '.join(name[:30] for name in self.header)}"


def _rows(files: list[Path], columns, header) -> Iterator[tuple[str, str, str | None, str]]:
    first: tuple[Path, _Layout] | None = None
    for file in files:
        lines = read_lines_again(file)
        line = next(lines, None)
        if line is None:
            continue
        layout = _layout(file, line.split("\t"), columns, header)
        first = first or (file, layout)
        if layout != first[1]:
            raise ValueError(
                f"{file} has {layout}, but {first[0]} has {first[1]}; all files of a folder need "
                "the same columns in the same order."
            )
        yield from _rows_of(file, chain([line], lines), layout)


def _layout(file: Path, names: list[str], columns, header: bool | None) -> _Layout:
    if columns[0] is None:
        columns = _usual_columns(file, names, header)
    if header is None:
        header = not all(is_number(column) for column in columns if column is not None)
    text, pair, label = (
        None if column is None else column_index(file, column, names, header) for column in columns
    )
    return _Layout(len(names), tuple(names) if header else None, (text, pair, label))


def _rows_of(
    file: Path, lines: Iterable[str], layout: _Layout
) -> Iterator[tuple[str, str, str | None, str]]:
    text, pair, label = layout.columns
    for number, line in enumerate(lines, start=1):
        if number == 1 and layout.header:
            continue
        where = f"{file}, line {number}"
        fields = line.split("\t")
        if len(fields) == layout.width:
            yield where, fields[text], None if pair is None else fields[pair], fields[label]
        elif not line.strip():
            yield where, "", None, ""  # counted and left out
        else:
            raise ValueError(
                f"{where}: {len(fields)} columns where the first line has {layout.width}; every "
                "row needs the same number of tab-separated fields."
            )


def _usual_columns(path, names: list[str], header: bool | None):
    """Columns (text, text pair, label) of a file for which none were given."""
    if header is not False:
        text, pair, label = (
            next((name for name in usual if name in names), None)
            for usual in (TEXT_NAMES, PAIR_NAMES, LABEL_NAMES)
        )
        if text is not None and label is not None:
            return text, pair, label
    if len(names) == 2:
        return 1, None, 2
    if len(names) == 1:
        raise ValueError(
            f"{path} is no table of texts and labels: its first line has no tab, by which columns "
            f"are separated ({names[0][:30]!r})."
        )
    raise ValueError(
        f"{path}: say which columns hold text and label; its first line has {len(names)} columns: "
        f"{', '.join(name[:30] for name in names)}."
    )


def _fault(text: str, text_pair: str | None, label: str | float | None) -> str | None:
    if not text.strip() and (text_pair is None or not text_pair.strip()):
        return "blank text"
    if not text.strip():
        return "blank first text"
    if text_pair is not None and not text_pair.strip():
        return "blank second text"
    return "no label" if label is None or not str(label).strip() else None


def _number(where: str, label: str | float) -> float:
    try:
        number = float(label)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{where}: the label is {label!r}; regression needs a finite number.")
    return number


def _label_order(label: str) -> tuple[bool, int, str]:
    is_number = label.isascii() and label.removeprefix("-").isdecimal()
    return not is_number, int(label) if is_number else 0, label
