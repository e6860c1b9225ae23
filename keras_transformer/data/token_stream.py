"""Documents -> one long stream of token ids, in small arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from .documents import DocumentReport, TextDocuments
from .tokenised import encoded, flat_tokens, mapped_in_parallel

PIECE_CHARACTERS = 2**14  # longer texts are tokenised in pieces
CHUNK_CHARACTERS = 2**17  # tokenised by one call
CHUNK_TEXTS = 1024


class TokenStream:
    """The tokens of all documents, end to end, each document followed by the end marker.

    An iterator yields arrays of a few thousand ids each, of the smallest type that holds the
    vocabulary (two bytes up to 65,536 ids). A stream of at most `hold` tokens stays in memory
    after the first pass; a longer one is read and tokenised anew in each pass, with some chunks of
    text in memory.

    The sentences of a document are joined by line feeds. A text of more than 16,384 characters is
    tokenised in pieces, cut after a line feed, else before a blank.

    Args:
        documents: the texts.
        tokenizer: has an `eos_id`, the end marker.
        hold: most tokens to keep in memory.

    Example:
        >>> from keras_transformer.text import CharacterTokenizer
        >>> documents = TextDocuments("two", lambda: iter([["ab", "c"], ["b"]]))
        >>> stream = TokenStream(documents, CharacterTokenizer("abc\\n"), hold=100)
        >>> stream.count_tokens()
        7
        >>> [chunk.tolist() for chunk in stream]
        [[4, 5, 7, 6, 2, 5, 2]]
    """

    def __init__(self, documents: TextDocuments, tokenizer: Any, hold: int):
        self.documents = documents
        self.eos_id = int(tokenizer.eos_id)
        self.text_bytes = 0  # UTF-8 of all documents, known after the first pass
        self._hold = hold
        self._tokens: int | None = None  # of a whole pass
        self._held: list[np.ndarray] | None = None
        self._without_tokens = 0  # documents
        self._dtype = np.min_scalar_type(max(1, tokenizer.vocab_size - 1))

        def tokenise(texts, ends):
            text_bytes = tf.reduce_sum(tf.strings.length(texts))
            return (*flat_tokens(tokenizer.tokenize(texts)), ends, text_bytes)

        signature = (tf.TensorSpec([None], tf.string), tf.TensorSpec([None], tf.bool))
        self._dataset = mapped_in_parallel(self._chunks_of_text, signature, tokenise)

    def count_tokens(self) -> int:
        """Number of tokens, end markers included; the first call reads everything.

        Raises:
            ValueError: the documents are not what they should be, or have no tokens.
        """
        if self._tokens is None:
            # Reading alone comes first: its errors are plain, those out of a graph are not.
            self.documents.check()
            for _ in self:
                pass
        if not self._tokens:
            raise ValueError(f"{self.report}; there is nothing to work with.")
        return self._tokens

    @property
    def is_held(self) -> bool:
        """Whether the tokens are in memory."""
        return self._held is not None

    @property
    def report(self) -> DocumentReport:
        """The counts of the documents, with those dropped that have no tokens."""
        report = self.documents.check() if self._tokens is None else self.documents.report
        if self._without_tokens:
            dropped = report.dropped.copy()
            dropped["document without tokens"] = self._without_tokens
            documents = report.documents - self._without_tokens
            report = replace(report, dropped=dropped, documents=documents)
        return report

    def __iter__(self) -> Iterator[np.ndarray]:
        if self._held is not None:
            yield from self._held
            return
        held: list[np.ndarray] | None = [] if self._tokens is None else None
        tokens = text_bytes = without_tokens = 0
        begun = 0  # tokens of the document that the last chunk left unfinished
        with tf.device("cpu:0"):
            chunks = self._dataset.as_numpy_iterator()
        for ids, lengths, is_end, size in chunks:
            self._check_ids(ids)
            ends = np.cumsum(lengths)[is_end]  # [documents], where in `ids` they end
            counts = np.diff(ends, prepend=-begun)  # [documents], their tokens
            begun = len(ids) - int(ends[-1]) if len(ends) else begun + len(ids)
            chunk = np.insert(ids, ends[counts > 0], self.eos_id).astype(self._dtype)
            without_tokens += int((counts == 0).sum())
            tokens += len(chunk)
            text_bytes += int(size)
            if tokens > self._hold:
                held = None
            elif held is not None:
                held.append(chunk)
            if len(chunk):
                yield chunk
        self._tokens, self._held = tokens, held
        self.text_bytes, self._without_tokens = text_bytes, without_tokens

    def _check_ids(self, ids: np.ndarray) -> None:
        if (ids == self.eos_id).any():
            raise ValueError(
                f"{self.documents.name}: the tokenizer finds its end marker, id {self.eos_id}, "
                "inside of a text, where it would end the document; take one whose control ids no "
                "text yields."
            )

    def _chunks_of_text(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pieces of text bytes `[pieces]`, and bool `[pieces]`: whether their document ends."""
        pieces: list[str] = []
        ends: list[bool] = []
        characters = 0
        for document in self.documents:
            for piece, is_end in text_pieces("\n".join(document)):
                pieces.append(piece)
                ends.append(is_end)
                characters += len(piece)
                if characters >= CHUNK_CHARACTERS or len(pieces) >= CHUNK_TEXTS:
                    yield encoded(pieces), np.array(ends)
                    pieces, ends, characters = [], [], 0
        if pieces:
            yield encoded(pieces), np.array(ends)


def text_pieces(text: str, most: int = PIECE_CHARACTERS) -> Iterator[tuple[str, bool]]:
    """Cuts a text into pieces, and says of each whether it is the last one.

    Args:
        text: the text; the pieces make it up again.
        most: most characters of a piece.

    Example:
        >>> [piece for piece, _ in text_pieces("to be,\\nor not to be", most=9)]
        ['to be,\\n', 'or not', ' to be']
    """
    start = 0
    while len(text) - start > most:
        end = text.rfind("\n", start, start + most) + 1
        if end <= start:
            end = text.rfind(" ", start + 1, start + most)
        if end <= start:
            end = start + most
        yield text[start:end], False
        start = end
    yield text[start:], True
