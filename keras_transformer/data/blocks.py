"""A stream of tokens -> blocks of one length: cut without waste, or documents side by side."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

OPEN_ROWS = 256  # rows that wait for a document that fits


class Blocks(NamedTuple):
    """Some blocks. What stands in one behind its length means nothing.

    Attributes:
        inputs: ids `[blocks, block_size]`.
        labels: ids `[blocks, block_size]`, each the token after the one in `inputs`.
        segments: `[blocks, block_size]`, which document of its block a token belongs to, from 1;
            or None.
        lengths: `[blocks]`.
    """

    inputs: np.ndarray
    labels: np.ndarray
    segments: np.ndarray | None
    lengths: np.ndarray


def stream_blocks(
    chunks: Iterable[np.ndarray], block_size: int, most: int, eos_id: int, shift: int = 0
) -> Iterator[Blocks]:
    """Cuts a stream of tokens into blocks; every token is a label exactly once.

    The stream is taken for a ring: what stands before its first token is the end marker at its
    end, and with a `shift` the tokens at its beginning come last. So only the last block is padded,
    and there are equally many blocks whatever the shift.

    Args:
        chunks: the tokens, arrays of any length.
        block_size: tokens of a block.
        most: blocks to give at a time.
        eos_id: the end marker.
        shift: the first label of the first block, counted from 0; less than there are tokens.

    Example:
        >>> chunks = [np.array([5, 6, 7]), np.array([8, 2])]
        >>> blocks = next(stream_blocks(chunks, block_size=3, most=9, eos_id=2, shift=1))
        >>> blocks.inputs.tolist(), blocks.labels.tolist(), blocks.lengths.tolist()
        ([[5, 6, 7], [8, 2, 5]], [[6, 7, 8], [2, 5, 0]], [3, 2])
    """
    size = block_size * most
    parts: list[np.ndarray] = []
    held = 0
    for part in _ring(chunks, shift, eos_id):
        parts.append(part)
        held += len(part)
        if held > size:  # a token more than labels: the input of the first one
            tokens = np.concatenate(parts)
            start = 0
            while len(tokens) - start > size:
                yield _cut(tokens[start : start + size + 1], block_size)
                start += size
            parts, held = [tokens[start:]], len(tokens) - start
    if held > 1:
        yield _cut(np.concatenate(parts), block_size)


def _ring(chunks: Iterable[np.ndarray], shift: int, eos_id: int) -> Iterator[np.ndarray]:
    """The tokens from `shift` on and then those before, all after the one before `shift`."""
    chunks = iter(chunks)
    head = next(chunks, np.empty(0, np.int32))
    while len(head) < shift:
        head = np.concatenate([head, next(chunks)])
    yield head[shift - 1 : shift] if shift else np.array([eos_id], head.dtype)
    yield head[shift:]
    yield from chunks
    yield head[:shift]


def _cut(tokens: np.ndarray, block_size: int) -> Blocks:
    """Blocks of all labels `tokens[1:]`; inputs and labels share their memory."""
    count = len(tokens) - 1
    blocks = -(-count // block_size)
    tokens = np.pad(tokens, (0, blocks * block_size - count))
    lengths = np.full(blocks, block_size)
    lengths[-1] = count - (blocks - 1) * block_size
    shape = (blocks, block_size)
    inputs = tokens[:-1].reshape(shape)  # [blocks, block_size]
    labels = tokens[1:].reshape(shape)  # [blocks, block_size]
    return Blocks(inputs, labels, None, lengths)


def document_blocks(
    chunks: Iterable[np.ndarray], block_size: int, most: int, eos_id: int, start_id: int
) -> Iterator[Blocks]:
    """Packs whole documents into blocks; every token is a label exactly once.

    The input before a document's first token is `start_id`; its last label is the end marker.
    A document with more labels than a block is cut into pieces, each but the last a block of its
    own; the first input of a piece is the last label of the one before. A piece goes into the
    block with the least room that is enough, of up to 256 that are not full (best fit: Johnson et
    al. 1974, "Worst-case performance bounds for simple one-dimensional packing algorithms").

    Args:
        chunks: the tokens, each document followed by the end marker.
        block_size: tokens of a block.
        most: blocks to give at a time.
        eos_id: the end marker.
        start_id: stands before the first token of a document.

    Example:
        >>> chunks = [np.array([5, 6, 2, 7]), np.array([2])]
        >>> blocks = next(document_blocks(chunks, block_size=6, most=9, eos_id=2, start_id=1))
        >>> blocks.inputs.tolist(), blocks.labels.tolist(), blocks.segments.tolist()
        ([[1, 5, 6, 1, 7, 0]], [[5, 6, 2, 7, 2, 0]], [[1, 1, 1, 2, 2, 0]])
    """
    rows: list[list[np.ndarray]] = []
    for row in _rows(_pieces(chunks, block_size, eos_id, start_id), block_size):
        rows.append(row)
        if len(rows) == most:
            yield _packed(rows, block_size)
            rows = []
    if rows:
        yield _packed(rows, block_size)


def _pieces(
    chunks: Iterable[np.ndarray], block_size: int, eos_id: int, start_id: int
) -> Iterator[np.ndarray]:
    """At most `block_size` labels of one document each, after the token before them."""
    rest: np.ndarray | None = None  # the unfinished document, after the token before it
    for chunk in chunks:
        start = np.array([start_id], chunk.dtype)
        ends = np.flatnonzero(chunk == eos_id) + 1
        for begin, end in pairwise([0, *ends.tolist(), len(chunk)]):
            rest = np.concatenate([start if rest is None else rest, chunk[begin:end]])
            is_whole = end > begin and chunk[end - 1] == eos_id
            while len(rest) - 1 > block_size or (is_whole and len(rest) > 1):
                yield rest[: block_size + 1].copy()  # so that it does not keep a whole chunk
                rest = rest[block_size:]
            if is_whole or len(rest) == 1:
                rest = None
    if rest is not None:
        yield rest


def _rows(pieces: Iterable[np.ndarray], block_size: int) -> Iterator[list[np.ndarray]]:
    """Rows of pieces with at most `block_size` labels together."""
    rows: defaultdict[int, list[np.ndarray]] = defaultdict(list)
    open_rows: list[tuple[int, int]] = []  # (room, number), sorted
    count = 0
    for piece in pieces:
        size = len(piece) - 1
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


def _packed(rows: list[list[np.ndarray]], block_size: int) -> Blocks:
    shape = (len(rows), block_size)
    inputs, labels = (np.zeros(shape, rows[0][0].dtype) for _ in range(2))
    segments = np.zeros(shape, np.min_scalar_type(block_size))
    lengths = np.zeros(len(rows), np.int64)
    for row, pieces in enumerate(rows):
        start = 0
        for number, piece in enumerate(pieces, start=1):
            end = start + len(piece) - 1
            inputs[row, start:end] = piece[:-1]
            labels[row, start:end] = piece[1:]
            segments[row, start:end] = number
            start = end
        lengths[row] = start
    return Blocks(inputs, labels, segments, lengths)
