"""Documents of tokenised sentences, end to end in one array, in memory or in a temporary file."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .documents import DocumentReport, TextDocuments
from .stored_array import HOLD_BYTES, StoredArray, Tokens
from .token_arrays import token_chunks

Sentence = np.ndarray  # ids [tokens], at least one


class TokenDocument(Sequence[Sentence]):
    """The sentences of one document.

    Args:
        tokens: ids of all documents.
        starts: int64 `[sentences + 1]`, where in them the sentences begin, and where the last
            one ends.
    """

    def __init__(self, tokens: Tokens, starts: np.ndarray):
        self._tokens = tokens
        self.starts = starts

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: int) -> Sentence:
        if not 0 <= number < len(self):
            raise IndexError(number)  # it ends a loop over the sentences
        return self.text(number, number + 1)

    def text(self, start: int, end: int) -> np.ndarray:
        """Ids `[tokens]` of the sentences from `start` up to, not with, `end`."""
        return self._tokens[self.starts[start] : self.starts[end]]


class TokenDocuments(Sequence[TokenDocument]):
    """Documents by their numbers. Where sentences lie is held in memory, eight bytes each.

    Args:
        tokens: ids of all sentences, end to end: an array or a `StoredArray`.
        lengths: `[sentences]`, their tokens, at least one each.
        sizes: `[documents]`, their sentences, at least one each.

    Example:
        >>> documents = TokenDocuments(np.array([5, 6, 7]), np.array([1, 1, 1]), np.array([2, 1]))
        >>> [[sentence.tolist() for sentence in document] for document in documents]
        [[[5], [6]], [[7]]]
    """

    def __init__(self, tokens: Tokens, lengths: np.ndarray, sizes: np.ndarray):
        self.tokens = tokens
        self.sizes = sizes
        self._starts = _starts(lengths)  # [sentences + 1]
        self._firsts = _starts(sizes)  # [documents + 1]

    @classmethod
    def of(cls, documents: TokenDocuments | Sequence[Sequence[Sentence]]) -> TokenDocuments:
        """Documents that are lists of arrays, put end to end."""
        if isinstance(documents, TokenDocuments):
            return documents
        sentences = [sentence for document in documents for sentence in document]
        return cls(
            np.concatenate(sentences),
            np.array([len(sentence) for sentence in sentences]),
            np.array([len(document) for document in documents]),
        )

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, number: int) -> TokenDocument:
        if not 0 <= number < len(self):
            raise IndexError(number)
        first, end = self._firsts[number : number + 2]
        return TokenDocument(self.tokens, self._starts[first : end + 1])


def tokenised_documents(
    documents: TextDocuments, tokenizer: Any, hold: int = HOLD_BYTES
) -> tuple[TokenDocuments, DocumentReport]:
    """The ids of all sentences, and the counts with those dropped that have no tokens.

    The texts are read once, some hundreds at a time.

    Args:
        documents: the texts.
        tokenizer: gives the ids.
        hold: most bytes of ids to keep in memory; more are kept in a temporary file.

    Raises:
        ValueError: what the documents raise; there are no tokens.
    """
    sizes, lengths = array("q"), array("q")
    tokens = StoredArray(np.min_scalar_type(max(1, tokenizer.vocab_size - 1)), hold)

    def sentences() -> Iterator[str]:
        for document in documents:
            sizes.append(len(document))
            yield from document

    for ids, counts in token_chunks(sentences(), tokenizer):
        tokens.append(ids)
        lengths.extend(counts.tolist())
    return _without_blanks(
        tokens, np.array(lengths, np.int64), np.array(sizes, np.int64), documents.report
    )


def _without_blanks(
    tokens: StoredArray, lengths: np.ndarray, sizes: np.ndarray, report: DocumentReport
) -> tuple[TokenDocuments, DocumentReport]:
    """Leaves out sentences without tokens, and documents that have no others."""
    if not lengths.all():
        numbers = np.repeat(np.arange(len(sizes)), sizes)  # [sentences], of their documents
        sizes = np.bincount(numbers[lengths > 0], minlength=len(sizes))
        sizes, blank = sizes[sizes > 0], int((lengths == 0).sum())
        lengths = lengths[lengths > 0]
        dropped = report.dropped.copy()
        dropped["no tokens"] += blank
        report = replace(report, dropped=dropped, kept=len(lengths), documents=len(sizes))
    if not len(lengths):
        raise ValueError(f"{report}; there is nothing to work with.")
    return TokenDocuments(tokens, lengths, sizes), report


def _starts(lengths: np.ndarray) -> np.ndarray:
    """Where things of these lengths begin that lie end to end, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
