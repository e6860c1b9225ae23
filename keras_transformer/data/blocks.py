"""A stream of tokens -> blocks of one length: cut without waste, or documents side by side.

Blocks are known by their numbers, and each is read when it is asked for, so that the blocks of a
corpus of any size can come in any order.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np

from .stored_array import Tokens

OPEN_ROWS = 256  # rows that wait for a document that fits


class StreamBlocks:
    """A stream of tokens cut into blocks; every token is a label exactly once.

    The stream is taken for a ring: what stands before its first token is the end marker at its
    end, and with a `shift` the tokens at its beginning come last. So only the last block is padded,
    and there are equally many blocks whatever the shift.

    Args:
        tokens: the stream.
        block_size: tokens of a block.
        shift: the first label of the first block, counted from 0; less than there are tokens.

    Example:
        >>> blocks = StreamBlocks(np.array([5, 6, 7, 8, 2]), block_size=3, shift=1)
        >>> inputs, labels = np.zeros((2, 2, 3), int)  # [blocks, block_size] each
        >>> for number in range(len(blocks)):
        ...     blocks.write(number, inputs[number], labels[number])
        >>> inputs.tolist(), labels.tolist()
        ([[5, 6, 7], [8, 2, 0]], [[6, 7, 8], [2, 5, 0]])
    """

    def __init__(self, tokens: Tokens, block_size: int, shift: int = 0):
        self._tokens = tokens
        self._block_size = block_size
        self._shift = shift

    def __len__(self) -> int:
        return -(-len(self._tokens) // self._block_size)

    def write(
        self,
        number: int,
        inputs: np.ndarray,
        labels: np.ndarray,
        segments: np.ndarray | None = None,
    ) -> None:
        """Writes a block into the beginnings of arrays `[block_size]`; it has no segments."""
        start = number * self._block_size
        count = min(self._block_size, len(self._tokens) - start)
        tokens = self._ring(start + self._shift - 1, count + 1)
        inputs[:count], labels[:count] = tokens[:-1], tokens[1:]

    def _ring(self, start: int, count: int) -> np.ndarray:
        total = len(self._tokens)
        start %= total
        parts = [self._tokens[start : start + count]]
        while (missing := count - sum(map(len, parts))) > 0:
            parts.append(self._tokens[:missing])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


class DocumentBlocks:
    """Whole documents packed into blocks; every token is a label exactly once.

    The input before a document's first token is `start_id`; its last label is the end marker.
    A document with more labels than a block is cut into pieces, each but the last a block of its
    own; the first input of a piece is the last label of the one before. A piece goes into the
    block with the least room that is enough, of up to 256 that are not full (best fit: Johnson et
    al. 1974, "Worst-case performance bounds for simple one-dimensional packing algorithms").

    Where the pieces lie is held in memory: some 24 bytes each.

    Args:
        tokens: the stream, each document followed by the end marker.
        chunks: the same, chunk after chunk.
        block_size: tokens of a block.
        eos_id: the end marker.
        start_id: stands before the first token of a document.

    Example:
        >>> tokens = np.array([5, 6, 2, 7, 2])
        >>> blocks = DocumentBlocks(tokens, [tokens], block_size=6, eos_id=2, start_id=1)
        >>> inputs, labels, segments = np.zeros((3, 6), int)
        >>> blocks.write(0, inputs, labels, segments)
        >>> inputs.tolist(), labels.tolist(), segments.tolist()
        ([1, 5, 6, 1, 7, 0], [5, 6, 2, 7, 2, 0], [1, 1, 1, 2, 2, 0])
    """

    def __init__(
        self,
        tokens: Tokens,
        chunks: Iterable[np.ndarray],
        block_size: int,
        eos_id: int,
        start_id: int,
    ):
        self._tokens = tokens
        self._start_id = start_id
        starts, sizes, begins = _pieces(_ends(chunks, eos_id), block_size)
        order, ends = array("q"), array("q", [0])
        for row in _rows(map(int, sizes), block_size):
            order.extend(row)
            ends.append(len(order))
        pieces = np.frombuffer(order, np.int64)
        # Of the pieces in the order of their rows: [pieces]
        self._starts, self._sizes, self._begins = starts[pieces], sizes[pieces], begins[pieces]
        self._ends = np.frombuffer(ends, np.int64)  # [rows + 1], pieces before each row

    def __len__(self) -> int:
        return len(self._ends) - 1

    def write(
        self, number: int, inputs: np.ndarray, labels: np.ndarray, segments: np.ndarray
    ) -> None:
        """Writes a block into the beginnings of arrays `[block_size]`."""
        end = 0
        for segment, piece in enumerate(range(*self._ends[number : number + 2].tolist()), start=1):
            start, size = int(self._starts[piece]), int(self._sizes[piece])
            begin, end = end, end + size
            tokens = self._tokens[max(0, start - 1) : start + size]
            labels[begin:end] = tokens[-size:]
            inputs[begin + 1 : end] = tokens[-size:-1]
            inputs[begin] = self._start_id if self._begins[piece] else tokens[0]
            segments[begin:end] = segment


def _ends(chunks: Iterable[np.ndarray], eos_id: int) -> np.ndarray:
    """Where documents end, their end markers included: int64 `[documents]`."""
    found, before = [], 0
    for chunk in chunks:
        found.append(np.flatnonzero(chunk == eos_id) + (before + 1))
        before += len(chunk)
    return np.concatenate(found)


def _pieces(ends: np.ndarray, block_size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pieces of at most `block_size` labels of one document each, in the order of the stream.

    Returns:
        `[pieces]` each: their first labels, their numbers of labels, and whether they begin
        documents.
    """
    lengths = np.diff(ends, prepend=0)  # [documents]
    counts = -(-lengths // block_size)  # [documents], their pieces
    firsts = np.cumsum(counts) - counts  # [documents], the first of their pieces
    places = np.arange(counts.sum()) - np.repeat(firsts, counts)  # [pieces], within documents
    starts = np.repeat(ends - lengths, counts) + places * block_size
    sizes = np.minimum(np.repeat(ends, counts) - starts, block_size)
    return starts, sizes, places == 0


def _rows(sizes: Iterable[int], block_size: int) -> Iterator[list[int]]:
    """Rows of pieces, by their numbers, with at most `block_size` labels together."""
    rows: defaultdict[int, list[int]] = defaultdict(list)
    open_rows: list[tuple[int, int]] = []  # (room, number), sorted
    count = 0
    for piece, size in enumerate(sizes):
        place = bisect_left(open_rows, (size, 0))
        if place < len(open_rows):
            room, number = open_rows.pop(place)
        else:
            room, number = block_size, count
            count += 1
        rows[number].append(piece)
        if room > size:
            insort(open_rows, (room - size, number))
            if len(open_rows) <= OPEN_ROWS:
                continue
            number = open_rows.pop(0)[1]
        yield rows.pop(number)
    yield from (rows[number] for number in sorted(rows))
