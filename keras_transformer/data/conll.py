"""Sentences whose words have tags, from files in the manner of CoNLL: a word a line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from .lines import read_lines_again
from .pairs import ReadReport
from .source import CountedSource
from .text_files import text_files

DOCUMENT_MARK = "-DOCSTART-"
CONLL_ENDINGS = (".conll", ".bio", ".iob", ".txt")


class TaggedSentence(NamedTuple):
    """Words and a tag for each.

    Attributes:
        words: the words.
        tags: as many tags.
        document: number of the document that the sentence belongs to, from 0.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    document: int = 0


@dataclass
class TaggedReport(ReadReport):
    """What one pass over tagged sentences met; `read` and `kept` count sentences.

    Attributes:
        words: words of the kept sentences.
        documents: documents that have a sentence.
    """

    words: int = 0
    documents: int = 0

    def __str__(self) -> str:
        return f"{super().__str__()} sentences of {self.words:,} words"


class TaggedSentences(CountedSource[TaggedSentence, TaggedReport]):
    """A source of tagged sentences that can be read again and again.

    A NUL character in a word becomes U+FFFD, and the sentence is counted as repaired; a sentence
    without words is left out and counted.

    Args:
        name: what messages and reports call this source.
        read: opens the source and yields sentence after sentence.

    Example:
        >>> sentence = TaggedSentence(("Ada", "sleeps"), ("B-PER", "O"))
        >>> sentences = TaggedSentences("one", lambda: iter([sentence]))
        >>> sentences.tag_names()
        ['O', 'B-PER']
        >>> print(sentences.report)
        one: read 1, kept 1 sentences of 2 words
    """

    def __iter__(self) -> Iterator[TaggedSentence]:
        report = TaggedReport(self.name)
        document = None
        for sentence in self._read():
            report.read += 1
            if not sentence.words:
                report.dropped["no words"] += 1
                continue
            if any("\0" in word for word in sentence.words):
                report.repaired["NUL replaced by U+FFFD"] += 1
                words = tuple(word.replace("\0", "\ufffd") for word in sentence.words)
                sentence = sentence._replace(words=words)
            report.kept += 1
            report.words += len(sentence.words)
            report.documents += sentence.document != document
            document = sentence.document
            yield sentence
        self._report = report  # only a finished pass knows the counts

    def tag_names(self) -> list[str]:
        """The tags there are, in an order that stays: "O" first, then by type, B- before I-."""
        tags = {tag for sentence in self for tag in sentence.tags}
        return sorted(tags, key=lambda tag: (tag != "O", tag[2:] if tag[1:2] == "-" else tag, tag))

    def texts(self) -> Iterator[str]:
        """The sentences as texts, words between blanks, for instance to train a tokenizer."""
        return (" ".join(sentence.words) for sentence in self)


def conll_file(
    path: str | os.PathLike[str], word_column: int = 1, tag_column: int | None = None
) -> TaggedSentences:
    """Tagged sentences of UTF-8 files, plain or gzip: a word a line, blank lines between them.

    Columns are separated by tabs if the first line with words has one, else by blanks; other
    white space, such as U+00A0, belongs to a word. Every line has as many columns as that first
    one. A line that begins with -DOCSTART- is no word: it ends the sentence and the document.
    Both also end where their file does.

    Args:
        path: the file, or a folder, whose files `*.conll`, `*.bio`, `*.iob` and `*.txt` (and
            `.gz` of them) at any depth are taken in the order of their names.
        word_column: column of the words, from 1.
        tag_column: column of the tags, from 1; the last one by default.

    Returns:
        `TaggedSentences`. Reading them raises a ValueError naming file and line for a line with
        another number of columns, a blank word or a blank tag.

    Raises:
        ValueError: a folder has no such file, or a column is less than 1.
        FileNotFoundError: there is no such file.

    Example:
        >>> conll_file("train.conll")
        Traceback (most recent call last):
        FileNotFoundError: train.conll: there is no such file or folder.
    """
    for name, column in (("word_column", word_column), ("tag_column", tag_column)):
        if column is not None and column < 1:
            raise ValueError(f"{path}: {name} is {column}; columns are counted from 1.")
    name, files = text_files(path, endings=CONLL_ENDINGS)
    return TaggedSentences(f"conll:{name}", lambda: _sentences(files, word_column, tag_column))


@dataclass
class _Columns:
    """The columns of one pass: where words and tags are, and how many the first word had."""

    word: int
    tag: int | None
    count: int = 0
    file: Path | None = None  # that the first word stands in


def _sentences(
    files: list[Path], word_column: int, tag_column: int | None
) -> Iterator[TaggedSentence]:
    columns = _Columns(word_column, tag_column)
    documents = 0  # of the files before
    for file in files:
        last = -1
        for sentence in _sentences_of(file, columns):
            last = sentence.document
            yield sentence._replace(document=documents + last)
        documents += last + 1


def _sentences_of(file: Path, columns: _Columns) -> Iterator[TaggedSentence]:
    words: list[str] = []
    tags: list[str] = []
    document, in_document = 0, False
    separator = None
    for number, line in enumerate(read_lines_again(file), start=1):
        ends_document = line.split("\t")[0].split(" ")[0] == DOCUMENT_MARK
        if ends_document or not line.strip(" \t"):
            if words:
                yield TaggedSentence(tuple(words), tuple(tags), document)
                words, tags, in_document = [], [], True
            if ends_document:
                document, in_document = document + in_document, False
            continue
        where = f"{file}, line {number}"
        if separator is None:
            separator = "\t" if "\t" in line else " "
        fields = line.split("\t") if separator == "\t" else [f for f in line.split(" ") if f]
        if not columns.count:
            columns.count, columns.file = len(fields), file
            _check_columns(where, columns)
        if len(fields) != columns.count:
            between = "tabs" if separator == "\t" else "blanks"
            first = (
                "the first word" if columns.file == file else f"the first word of {columns.file}"
            )
            raise ValueError(
                f"{where}: {len(fields)} columns where {first} has {columns.count}; every word "
                f"needs the same number of columns, separated by {between}."
            )
        word, tag = fields[columns.word - 1], fields[(columns.tag or columns.count) - 1].strip()
        if not word or not tag:
            raise ValueError(f"{where}: the {'tag' if word else 'word'} is blank.")
        words.append(word)
        tags.append(tag)
    if words:
        yield TaggedSentence(tuple(words), tuple(tags), document)


def _check_columns(where: str, columns: _Columns) -> None:
    if columns.count < 2:
        raise ValueError(f"{where}: one column only; a line needs a word and its tag.")
    for column in (columns.word, columns.tag or columns.count):
        if column > columns.count:
            raise ValueError(f"{where}: there is no column {column}; the line has {columns.count}.")
