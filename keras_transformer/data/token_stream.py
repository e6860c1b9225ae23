"""Documents -> one long stream of token ids, in memory or in a temporary file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from .documents import DocumentReport, TextDocuments
from .stored_array import StoredArray
from .tokenised import encoded, flat_tokens, mapped_in_parallel

PIECE_CHARACTERS = 2**14  # longer texts are tokenised in pieces
CHUNK_CHARACTERS = 2**17  # tokenised by one call
CHUNK_TEXTS = 1024
CHUNK_TOKENS = 2**20  # read at a time


class TokenStream:
    """The tokens of all documents, end to end, each document followed by the end marker.

    The documents are read and tokenised once, when the tokens are first asked for. They are kept
    in the smallest type of integer that holds the vocabulary (two bytes up to 65,536 ids): up to
    `hold` tokens in memory, more in a temporary file.

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
        >>> stream.tokens[:].tolist()
        [4, 5, 7, 6, 2, 5, 2]
    """

    def __init__(self, documents: TextDocuments, tokenizer: Any, hold: int):
        self.documents = documents
        self.eos_id = int(tokenizer.eos_id)
        self.text_bytes = 0  # UTF-8 of all documents, known after the tokens
        self._hold = hold
        self._tokens: StoredArray | None = None
        self._without_tokens = 0  # documents
        self._dtype = np.min_scalar_type(max(1, tokenizer.vocab_size - 1))

        def tokenise(texts, ends):
            text_bytes = tf.reduce_sum(tf.strings.length(texts))
            return (*flat_tokens(tokenizer.tokenize(texts)), ends, text_bytes)

        signature = (tf.TensorSpec([None], tf.string), tf.TensorSpec([None], tf.bool))
        self._tokenise = mapped_in_parallel(self._chunks_of_text, signature, tokenise)

    @property
    def tokens(self) -> StoredArray:
        """All ids, end markers included; reads and tokenises the documents when first asked for.

        Raises:
            ValueError: the documents are not what they should be, or have no tokens.
        """
        if self._tokens is None:
            self._tokens = self._tokenised()
        if not len(self._tokens):
            raise ValueError(f"{self.report}; there is nothing to work with.")
        return self._tokens

    def count_tokens(self) -> int:
        """Number of tokens, end markers included; raises what `tokens` does."""
        return len(self.tokens)

    @property
    def is_held(self) -> bool:
        """Whether the tokens are in memory."""
        return self.tokens.is_held

    @property
    def report(self) -> DocumentReport:
        """The counts of the documents, with those dropped that have no tokens."""
        report = self.documents.report
        if self._without_tokens:
            dropped = report.dropped.copy()
            dropped["document without tokens"] = self._without_tokens
            documents = report.documents - self._without_tokens
            report = replace(report, dropped=dropped, documents=documents)
        return report

    def chunks(self) -> Iterator[np.ndarray]:
        """The tokens from the first to the last one, a million at a time."""
        for start in range(0, self.count_tokens(), CHUNK_TOKENS):
            yield self.tokens[start : start + CHUNK_TOKENS]

    def _tokenised(self) -> StoredArray:
        tokens = StoredArray(self._dtype, self._hold * self._dtype.itemsize)
        text_bytes = without_tokens = 0
        begun = 0  # tokens of the document that the last chunk left unfinished
        for ids, lengths, is_end, size in self._tokenise():
            self._check_ids(ids)
            ends = np.cumsum(lengths)[is_end]  # [documents], where in `ids` they end
            counts = np.diff(ends, prepend=-begun)  # [documents], their tokens
            begun = len(ids) - int(ends[-1]) if len(ends) else begun + len(ids)
            tokens.append(np.insert(ids, ends[counts > 0], self.eos_id).astype(self._dtype))
            without_tokens += int((counts == 0).sum())
            text_bytes += int(size)
        self.text_bytes, self._without_tokens = text_bytes, without_tokens
        return tokens

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
