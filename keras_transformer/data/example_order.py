"""Which examples share a batch and in what order batches come, by lengths and a seed alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

# Batches whose rows are sorted by length together: enough to find rows of similar lengths, few
# enough to mix well.
BATCHES_SORTED = 32


def example_order(
    lengths: Iterable[int],
    batch_size: int,
    rng: np.random.Generator | None,
    hold: int | None = None,
) -> Iterator[np.ndarray]:
    """Yields the numbers of the examples of batch after batch: int64 `[rows]`.

    Rows of similar lengths share a batch. Every example comes once, and all batches but one have
    `batch_size` rows, so that their number depends on that of the examples alone.

    Args:
        lengths: of the examples, taken as they are needed.
        batch_size: rows of a batch.
        rng: shuffles; None sorts by length.
        hold: examples that wait for their batch at a time, rounded up to 32 batches; None for all.
            They are a pool to draw from, into which those that come move up; without `rng` so many
            are sorted together.

    Example:
        >>> [rows.tolist() for rows in example_order([7, 5, 6, 1, 2], 2, rng=None)]
        [[3, 4], [1, 2], [0]]
        >>> [rows.tolist() for rows in example_order([7, 5, 6], 2, np.random.default_rng(1))]
        [[1, 2], [0]]
    """
    group = BATCHES_SORTED * batch_size
    lengths = iter(lengths)
    most = None if hold is None else -(-hold // group) * group
    numbers = np.empty(0, np.int64)  # of the pool
    sizes = np.empty(0, np.int64)  # and the lengths of its examples
    count = 0

    def fill(room: int | None) -> bool:
        """Lets up to so many more into the pool, all of them for None; says whether any came."""
        nonlocal numbers, sizes, count
        more = np.fromiter(islice(lengths, room), np.int64)
        numbers = np.concatenate([numbers, np.arange(count, count + len(more))])
        sizes = np.concatenate([sizes, more])
        count += len(more)
        return len(more) > 0

    if rng is None:
        while fill(most):
            yield from _sorted_batches(numbers, sizes, batch_size)
            numbers, sizes = numbers[:0], sizes[:0]
        return
    fill(most)
    while most is not None and fill(group):
        if len(numbers) < most + group:
            break
        chosen = rng.choice(len(numbers), group, replace=False)
        yield from _mixed(_sorted_batches(numbers[chosen], sizes[chosen], batch_size), rng)
        numbers, sizes = np.delete(numbers, chosen), np.delete(sizes, chosen)
    order = rng.permutation(len(numbers))
    batches = []
    for start in range(0, len(order), group):
        some = order[start : start + group]
        batches += _sorted_batches(numbers[some], sizes[some], batch_size)
    yield from _mixed(batches, rng)


def _sorted_batches(numbers: np.ndarray, sizes: np.ndarray, batch_size: int) -> list[np.ndarray]:
    return _cut(numbers[np.argsort(sizes, kind="stable")], batch_size)


def _cut(numbers: np.ndarray, batch_size: int) -> list[np.ndarray]:
    return [numbers[i : i + batch_size] for i in range(0, len(numbers), batch_size)]


def _mixed(batches: list[np.ndarray], rng: np.random.Generator) -> Iterator[np.ndarray]:
    return (batches[i] for i in rng.permutation(len(batches)))
