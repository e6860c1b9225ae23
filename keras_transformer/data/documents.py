"""Documents of text; files of them with one sentence a line and blank lines between documents."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Literal
from zlib import crc32

from .lines import read_lines_again
from .pairs import ReadReport
from .source import CountedSource
from .text_files import text_files

Split = Literal["train", "valid", "test"]

TEXT_ENDINGS = (".txt",)
LONGEST_DOCUMENT = 2**22  # characters; it bounds the memory
HELD_OUT_SHARE = 0.1  # of the built-in sentences, for validation and again for test


@dataclass
class DocumentReport(ReadReport):
    """What one pass over documents met; `read` and `kept` count sentences.

    Attributes:
        documents: number of documents with a sentence in them.
        characters: characters of all sentences read.
    """

    documents: int = 0
    characters: int = 0

    def __str__(self) -> str:
        return f"{super().__str__()} sentences in {self.documents:,} documents"


class TextDocuments(CountedSource[list[str], DocumentReport]):
    """A source of documents, each a list of sentences, that can be read again and again.

    A sentence that is nothing but white space is left out and counted. A NUL character becomes a
    space and is counted as a repair.

    Args:
        name: what messages and reports call this source.
        read: opens the source and yields the sentences of document after document; a whole text
            with its line ends may stand as the only sentence of its document.
        parted_by: what parts the documents, for messages.

    Example:
        >>> documents = TextDocuments("two", lambda: iter([["A.", "B."], ["C."]]))
        >>> list(documents)
        [['A.', 'B.'], ['C.']]
        >>> print(documents.report)
        two: read 3, kept 3 sentences in 2 documents
        >>> list(documents + documents)
        [['A.', 'B.'], ['C.'], ['A.', 'B.'], ['C.']]
    """

    def __init__(
        self,
        name: str,
        read: Callable[[], Iterator[Iterable[str]]],
        parted_by: str = "blank lines and ends of files",
    ):
        super().__init__(name, read)
        self.parted_by = parted_by

    def __iter__(self) -> Iterator[list[str]]:
        report = DocumentReport(self.name)
        for document in self._read():
            sentences = []
            for sentence in document:
                report.read += 1
                report.characters += len(sentence)
                text = _without_nul(sentence)
                if not text.strip():
                    report.dropped["blank"] += 1
                    continue
                report.repaired["NUL replaced by a space"] += text != sentence
                report.kept += 1
                sentences.append(text)
            if sentences:
                report.documents += 1
                yield sentences
        report.repaired += {}  # forgets the kinds that never occurred
        self._report = report  # only a finished pass knows the counts

    def sentences(self) -> Iterator[str]:
        """The sentences alone, for instance to train a tokenizer."""
        return (sentence for document in self for sentence in document)

    def part(self, name: str, chosen: Callable[[int], bool]) -> TextDocuments:
        """The documents at some positions, read in the same way and counted on their own.

        Args:
            name: what messages and reports call the part.
            chosen: says of a position, counted from 0, whether its document is in the part.

        Example:
            >>> documents = TextDocuments("three", lambda: iter([["A."], ["B."], ["C."]]))
            >>> list(documents.part("even", lambda position: position % 2 == 0))
            [['A.'], ['C.']]
        """

        def read() -> Iterator[Iterable[str]]:
            position = 0
            for document in self._read():
                if chosen(position):
                    yield document
                # One without a sentence has no position: it goes, to be counted, with the next.
                position += any(_without_nul(sentence).strip() for sentence in document)

        return TextDocuments(name, read, self.parted_by)

    def characters(self, name: str, first: int, last: int) -> TextDocuments:
        """What stands at the characters [first, last), counted over all sentences.

        A document is cut in two where such a border lies within it.

        Args:
            name: what messages and reports call the part.
            first: the first character, counted from 0.
            last: the first character after the part.

        Example:
            >>> documents = TextDocuments("two", lambda: iter([["to be", "or"], ["not"]]))
            >>> list(documents.characters("middle", 3, 8))
            [['be', 'or'], ['n']]
        """

        def read() -> Iterator[Iterable[str]]:
            start = 0
            for document in self._read():
                part = []
                for sentence in document:
                    if text := sentence[max(0, first - start) : max(0, last - start)]:
                        part.append(text)
                    start += len(sentence)
                yield part
                if start >= last:
                    return

        return TextDocuments(name, read, self.parted_by)

    def __add__(self, other: TextDocuments) -> TextDocuments:
        """The documents of both sources, one after the other."""
        parted_by = dict.fromkeys([self.parted_by, other.parted_by])
        return TextDocuments(
            f"{self.name} + {other.name}",
            lambda: chain(self._read(), other._read()),
            " and ".join(parted_by),
        )


def _without_nul(sentence: str) -> str:
    return sentence.replace("\0", " ")


def document_files(*paths: str | os.PathLike[str]) -> TextDocuments:
    """Documents of UTF-8 files, plain or gzip: one sentence a line, blank lines between documents.

    A document also ends where its file does, and one that is longer than 4,194,304 characters
    counts as several.

    Args:
        paths: files, and folders, whose files `*.txt` and `*.txt.gz` at any depth are taken in
            the order of their names.

    Returns:
        `TextDocuments`.

    Raises:
        ValueError: no path is given, or a folder has no text file.
        FileNotFoundError: there is no such file.

    Example:
        >>> document_files("books.txt").name
        Traceback (most recent call last):
        FileNotFoundError: books.txt: there is no such file or folder.
    """
    if not paths:
        raise ValueError("give at least one text file, or a folder of them.")
    name, files = text_files(*paths, endings=TEXT_ENDINGS)
    return TextDocuments(name, lambda: (d for file in files for d in _documents_of(file)))


def _documents_of(file: Path) -> Iterator[list[str]]:
    sentences: list[str] = []
    size = 0
    for line in read_lines_again(file):
        is_blank = not line.strip()
        if not is_blank:
            sentences.append(line)
            size += len(line)
        if sentences and (is_blank or size >= LONGEST_DOCUMENT):
            yield sentences
            sentences, size = [], 0
    if sentences:
        yield sentences


def builtin_documents(split: Split = "train") -> TextDocuments:
    """English prose that every Python installation carries: the topics of its `help()`.

    A topic is a document; its code, grammars and headings are left out, and so is a sentence
    that another topic has, too: no sentence stands in two splits. Some 2,000 sentences, which
    differ a little from one version of Python to the next.

    Args:
        split: "train", "valid" or "test", whole documents each.

    Raises:
        ValueError: there is no such split.

    Example:
        >>> builtin_documents("test").report.documents > 5
        True
    """
    if split not in ("train", "valid", "test"):
        raise ValueError(f"builtin has no split {split!r}; it has: train, valid, test.")
    return TextDocuments(f"builtin:{split}", lambda: iter(_builtin_splits()[split]))


@cache
def _builtin_splits() -> dict[str, list[list[str]]]:
    documents = _topics()
    most = HELD_OUT_SHARE * sum(map(len, documents.values()))
    splits: dict[str, list[list[str]]] = {"test": [], "valid": [], "train": []}
    for name in sorted(documents, key=lambda name: crc32(name.encode())):
        sentences = documents[name]
        for split, held in splits.items():  # the first one that has room
            if split == "train" or sum(map(len, held)) + len(sentences) <= most:
                held.append(sentences)
                break
    return splits


def _topics() -> dict[str, list[str]]:
    """Topic -> its sentences, of topics with two or more."""
    from pydoc_data.topics import topics

    seen: set[str] = set()
    documents = {}
    # Large topics quote small ones: the small ones are to keep their sentences.
    for name in sorted(topics, key=lambda name: (len(topics[name]), name)):
        sentences = []
        for sentence in _prose_sentences(topics[name]):
            if sentence not in seen:
                seen.add(sentence)
                sentences.append(sentence)
        if len(sentences) > 1:
            documents[name] = sentences
    return documents


def _prose_sentences(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text):
        lines = paragraph.splitlines()
        if re.search(r"::=|>>>|\n *[*=~^-]{3,}|[|+]--", paragraph):
            continue
        prose = " ".join(" ".join(lines).split())
        for sentence in re.split(r"(?<=[a-z)*\"][.!?]) (?=[A-Z*\"])", prose):
            # A sentence begins like one and ends like one; code does not.
            if re.match(r"[A-Z\"*(]", sentence) and sentence[-1] in ".!?" and " " in sentence:
                yield sentence
