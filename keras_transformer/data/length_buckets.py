"""Groups rows of similar lengths into batches, with a bounded shuffle buffer.

A row has two sides, each padded to the next rung of a short ladder of lengths; rows with the same
two rungs share a bucket and thereby one shape of batch. The pool of all buckets is the shuffle
buffer: it takes rows in until it is full, then gives a batch of random rows from a random bucket.
The order is a function of the row stream and the random generator alone, and how many batches of
which shape there are depends on the rows' lengths only, not on the order.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

Shape = tuple[int, int]  # (source_length, target_length)
Rows = tuple[np.ndarray, np.ndarray]  # ids [rows, source_length], ids [rows, target_length]


def length_ladder(maximum: int, multiple: int) -> np.ndarray:
    """Padded lengths up to `maximum`: multiples of `multiple` whose steps grow with the length.

    A step is at most a quarter of the length it starts from (or one multiple), which keeps
    the number of shapes small without much padding. The last rung is `maximum` itself, multiple
    or not, so that no batch is longer than a model's positions.

    Example:
        >>> length_ladder(100, 8).tolist()
        [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 100]
    """
    rungs = [min(multiple, maximum)]
    while rungs[-1] < maximum:
        step = max(1, rungs[-1] // (4 * multiple)) * multiple
        rungs.append(min(rungs[-1] + step, maximum))
    return np.array(rungs)


def check_rows(batch_size: int, replicas: int) -> None:
    """Refuses a number of rows that replicas cannot share evenly."""
    if batch_size < 1 or batch_size % replicas:
        raise ValueError(
            f"batch_size={batch_size} must be a positive multiple of the {replicas} replicas."
        )


class BatchSize:
    """Rows a batch of a given shape has: a fixed number, or as many as a token budget allows.

    Args:
        batch_tokens: most padded tokens a side has; or
        batch_size: the number of rows.
        multiple_of: rows are a multiple of this (the number of replicas).
    """

    def __init__(
        self, batch_tokens: int | None = None, batch_size: int | None = None, multiple_of: int = 1
    ):
        self.batch_tokens = batch_tokens
        self.batch_size = batch_size
        self.multiple_of = multiple_of

    def rows(self, shape: Shape) -> int:
        rows = self.batch_size or self.batch_tokens // max(shape)
        return rows // self.multiple_of * self.multiple_of


class _Bucket:
    """Rows of one shape: two arrays that grow as needed and have no order of their own."""

    def __init__(self, shape: Shape):
        self.shape = shape
        self.size = 0
        self._sides = [np.zeros((16, length), np.int32) for length in shape]

    def add(self, rows: Rows) -> None:
        end = self.size + len(rows[0])
        for i, new in enumerate(rows):
            if end > len(self._sides[i]):
                grown = np.zeros((2 * end, self.shape[i]), np.int32)
                grown[: self.size] = self._sides[i][: self.size]
                self._sides[i] = grown
            self._sides[i][self.size : end] = new
        self.size = end

    def take(self, count: int, rng: np.random.Generator | None) -> Rows:
        """Removes `count` rows: random ones, or without `rng` those that came first."""
        size = self.size
        chosen = np.arange(count) if rng is None else rng.choice(size, count, replace=False)
        rows = tuple(side[chosen] for side in self._sides)
        remaining = np.ones(self.size, bool)
        remaining[chosen] = False
        rest = self.size - count
        if rng is None:
            for side in self._sides:  # keep the order
                side[:rest] = side[: self.size][remaining]
        else:
            holes = np.flatnonzero(~remaining[:rest])
            fillers = rest + np.flatnonzero(remaining[rest:])
            for side in self._sides:
                side[holes] = side[fillers]
        self.size = rest
        return rows


class BucketPool:
    """The shuffle buffer that gives batches.

    Args:
        batch_size: rows for each shape.
        capacity: rows held before batches are given. A bucket that cannot fill a batch may hold
            its few rows beyond that.
        rng: random generator; None keeps the order of arrival within each bucket and gives a
            batch as soon as a bucket can fill one.
    """

    def __init__(self, batch_size: BatchSize, capacity: int, rng: np.random.Generator | None):
        self._batch_size = batch_size
        self._capacity = capacity if rng is not None else 0
        self._rng = rng
        self._buckets: dict[Shape, _Bucket] = {}
        self._held = 0

    def add(self, shape: Shape, rows: Rows) -> None:
        """Takes in rows already padded to `shape`."""
        if shape not in self._buckets:
            self._buckets[shape] = _Bucket(shape)
        self._buckets[shape].add(rows)
        self._held += len(rows[0])

    def full_batches(self) -> Iterator[Rows]:
        """Batches until the pool has room again (or no bucket can fill one)."""
        while self._held >= self._capacity:
            ready = [b for b in self._buckets.values() if b.size >= self._rows(b)]
            if not ready:
                return
            yield self._take_batch(self._choose(ready))

    def last_batches(self) -> Iterator[Rows]:
        """Every row that is left, once no more will come; the pool is empty afterwards."""
        batches = []
        for shape in sorted(self._buckets):
            bucket = self._buckets[shape]
            while bucket.size >= self._rows(bucket):
                batches.append(self._take_batch(bucket))
        batches.extend(self._merge_leftovers())
        if self._rng is not None:
            self._rng.shuffle(batches)
        yield from batches

    def _rows(self, bucket: _Bucket) -> int:
        return self._batch_size.rows(bucket.shape)

    def _choose(self, ready: list[_Bucket]) -> _Bucket:
        """A bucket, as probable as its share of the rows."""
        if self._rng is None:
            return ready[0]
        ends = np.cumsum([bucket.size for bucket in ready])
        return ready[int(np.searchsorted(ends, self._rng.integers(ends[-1]), side="right"))]

    def _take_batch(self, bucket: _Bucket, count: int | None = None) -> Rows:
        count = count or self._rows(bucket)
        self._held -= count
        return bucket.take(count, self._rng)

    def _merge_leftovers(self) -> Iterator[Rows]:
        """Batches of rows from several buckets, padded to the longest, from short to long."""
        parts: list[Rows] = []
        shape, rows = (0, 0), 0
        for key in sorted(self._buckets, key=lambda shape: (max(shape), shape)):
            bucket = self._buckets[key]
            while bucket.size:
                wider = (max(shape[0], key[0]), max(shape[1], key[1]))
                room = self._batch_size.rows(wider) - rows
                if room <= 0:
                    yield _join(parts, shape)
                    parts, shape, rows = [], (0, 0), 0
                    continue
                count = min(room, bucket.size)
                parts.append(self._take_batch(bucket, count))
                shape, rows = wider, rows + count
        if parts:
            yield _join(parts, shape)


def _join(parts: list[Rows], shape: Shape) -> Rows:
    """One batch of rows of several shapes, padded to `shape`."""
    sides = []
    for i, length in enumerate(shape):
        padded = [np.pad(part[i], ((0, 0), (0, length - part[i].shape[1]))) for part in parts]
        sides.append(np.concatenate(padded))
    return tuple(sides)
