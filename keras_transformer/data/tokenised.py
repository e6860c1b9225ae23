"""Texts as token ids: tokenised once, in graph, in parallel, many texts at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import tensorflow as tf

from .pairs import TextPairs
from .stored_array import HOLD_BYTES, StoredArray


@dataclass
class TokenChunk:
    """The tokens of some consecutive texts, end to end.

    Attributes:
        ids: int32 `[tokens]`.
        lengths: int64 `[texts]`, tokens of each text.
        starts: int64 `[texts]`, where each text's tokens begin in `ids`.
    """

    ids: np.ndarray
    lengths: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, ids: np.ndarray, lengths: np.ndarray) -> TokenChunk:
        return cls(ids, lengths, np.cumsum(lengths) - lengths)

    def padded(self, rows: np.ndarray, length: int, most: int, end: int) -> np.ndarray:
        """The first `most` tokens of the texts numbered `rows`, each followed by the id `end`.

        Returns:
            int32 `[rows, length]`, padded with 0.
        """
        lengths = np.minimum(self.lengths[rows], most)
        columns = np.arange(length)
        is_token = columns < lengths[:, None]  # [rows, length]
        padded = np.zeros((len(rows), length), np.int32)
        padded[is_token] = self.ids[(self.starts[rows, None] + columns)[is_token]]
        padded[np.arange(len(rows)), lengths] = end
        return padded


class StoredChunks:
    """`TokenChunk`s that are kept, in memory while they are few, then in temporary files.

    Args:
        hold: most bytes of ids in memory, and a sixteenth of that for their lengths.

    Example:
        >>> chunks = StoredChunks()
        >>> chunks.append(TokenChunk.of(np.array([5, 6, 7]), np.array([1, 2])))
        >>> len(chunks), chunks[0].lengths.tolist()
        (1, [1, 2])
    """

    def __init__(self, hold: int = HOLD_BYTES):
        self._ids = StoredArray(np.int32, hold)
        self._lengths = StoredArray(np.int32, hold // 16)  # a text has some 16 tokens
        self._ends = [(0, 0)]  # ids and texts before each chunk, and after the last one

    @property
    def is_held(self) -> bool:
        """Whether all ids are in memory."""
        return self._ids.is_held

    def append(self, chunk: TokenChunk) -> None:
        """Keeps one more."""
        self._ids.append(chunk.ids)
        self._lengths.append(chunk.lengths)
        self._ends.append((len(self._ids), len(self._lengths)))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, number: int) -> TokenChunk:
        (first_id, first_text), (last_id, last_text) = self._ends[number : number + 2]
        lengths = self._lengths[first_text:last_text].astype(np.int64)
        return TokenChunk.of(self._ids[first_id:last_id], lengths)


class TokenisedPairs:
    """A re-iterable stream of (source, target) `TokenChunk`s, in the order of the pairs.

    The first whole pass reads and tokenises the texts; later ones take what it has kept.

    Args:
        pairs: the texts.
        source_tokenizer: gives `tokenize(string [texts]) -> RaggedTensor int32 [texts, (tokens)]`.
        target_tokenizer: the same for the target.
        hold: most bytes of a side's ids to keep in memory; more are kept in a temporary file.
        chunk_size: pairs tokenised by one call.
    """

    def __init__(
        self,
        pairs: TextPairs,
        source_tokenizer,
        target_tokenizer,
        hold: int = HOLD_BYTES,
        chunk_size: int = 512,
    ):
        self._pairs = pairs
        self._hold = hold
        self._chunk_size = chunk_size
        self._sides: tuple[StoredChunks, StoredChunks] | None = None

        def tokenise(source, target):
            return (
                *flat_tokens(source_tokenizer.tokenize(source)),
                *flat_tokens(target_tokenizer.tokenize(target)),
            )

        text = tf.TensorSpec([None], tf.string)
        self._tokenise = mapped_in_parallel(self._text_chunks, (text, text), tokenise)

    @property
    def is_held(self) -> bool:
        """Whether all tokens are in memory, after the first pass."""
        return self._sides is not None and all(side.is_held for side in self._sides)

    def __len__(self) -> int:
        """Number of chunks; 0 before the first whole pass."""
        return 0 if self._sides is None else len(self._sides[0])

    def __iter__(self) -> Iterator[tuple[TokenChunk, TokenChunk]]:
        if self._sides is not None:
            yield from self.chunks(range(len(self)))
            return
        sides = (StoredChunks(self._hold), StoredChunks(self._hold))
        for source_ids, source_lengths, target_ids, target_lengths in self._tokenise():
            source = TokenChunk.of(source_ids, source_lengths)
            target = TokenChunk.of(target_ids, target_lengths)
            for side, chunk in zip(sides, (source, target), strict=True):
                side.append(chunk)
            yield source, target
        self._sides = sides  # only a whole pass is worth keeping

    def chunks(self, numbers: Iterable[int]) -> Iterator[tuple[TokenChunk, TokenChunk]]:
        """The chunks of these numbers, in this order, after the first pass."""
        source, target = self._sides
        return ((source[number], target[number]) for number in numbers)

    def _text_chunks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        pairs = iter(self._pairs)
        while chunk := list(islice(pairs, self._chunk_size)):
            sources, targets = zip(*chunk, strict=True)
            yield encoded(sources), encoded(targets)


def mapped_in_parallel(
    read: Callable[[], Iterator[Any]], signature: Any, function: Callable[..., Any]
) -> Callable[[], Iterator[Any]]:
    """Makes passes over `function(*item)` of the items that `read` gives, in their order.

    Args:
        read: opens a source and yields its items. What it raises, the pass raises after the items
            before it; out of a graph it would be hard to read.
        signature: `tf.TensorSpec`s in the structure of an item.
        function: runs in the graph, for several items at a time.

    Returns:
        A function that begins a pass, which yields NumPy arrays.
    """
    faults: list[Exception] = []

    def read_up_to_a_fault() -> Iterator[Any]:
        try:
            yield from read()
        except Exception as fault:  # noqa: BLE001, the pass raises it
            faults.append(fault)

    workers = min(16, max(2, os.cpu_count() or 2))
    with tf.device("cpu:0"):
        dataset = tf.data.Dataset.from_generator(read_up_to_a_fault, output_signature=signature)
        dataset = dataset.map(function, num_parallel_calls=workers, deterministic=True)
        dataset = dataset.prefetch(2 * workers)
    # Threads of its own: the dataset that waits for this one may hold all shared threads.
    options = tf.data.Options()
    options.threading.private_threadpool_size = workers + 1
    dataset = dataset.with_options(options)

    def one_pass() -> Iterator[Any]:
        known = len(faults)
        with tf.device("cpu:0"):
            items = dataset.as_numpy_iterator()
        yield from items
        if len(faults) > known:
            raise faults[known]

    return one_pass


def encoded(texts: Iterable[str]) -> np.ndarray:
    """Texts as UTF-8: bytes `[texts]`."""
    return np.array([text.encode("utf-8") for text in texts], dtype=object)


def flat_tokens(tokens: tf.RaggedTensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Ids int32 `[tokens]` of texts end to end, and the tokens of each: int64 `[texts]`."""
    return tf.cast(tokens.flat_values, tf.int32), tokens.row_lengths()
