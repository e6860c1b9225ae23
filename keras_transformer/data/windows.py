"""Long sequences cut into overlapping windows, so that all of them are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class WordWindow(NamedTuple):
    """Consecutive words that are read together, and which of them the window answers for.

    Attributes:
        start, end: the words `[start, end)` that are read.
        first, last: the words `[first, last)` that this window answers for: every word is
            answered for by one window, where it has the most words around it.
    """

    start: int
    end: int
    first: int
    last: int


def word_windows(sizes: Sequence[int], room: int, overlap: int) -> list[WordWindow]:
    """Windows over words of several pieces each.

    Args:
        sizes: pieces of each word, at least one; more than `room` count as `room`.
        room: most pieces of a window.
        overlap: pieces that a window shares with the one before it, at least in part; fewer
            where whole words do not fit.

    Raises:
        ValueError: there is no room, or the overlap leaves nothing new.

    Example:
        >>> word_windows([1] * 7, room=4, overlap=2)
        [WordWindow(start=0, end=4, first=0, last=3), WordWindow(start=2, end=6, first=3, last=5),
         WordWindow(start=4, end=7, first=5, last=7)]
    """
    if room < 1 or not 0 <= overlap < room:
        raise ValueError(
            f"windows of {room} pieces that share {overlap}: the overlap must be 0 or more, and "
            "less than the window."
        )
    sizes = [min(size, room) for size in sizes]
    spans: list[tuple[int, int]] = []
    start = end = 0
    while end < len(sizes):
        pieces = sum(sizes[start:end])
        while end < len(sizes) and pieces + sizes[end] <= room:
            pieces += sizes[end]
            end += 1
        spans.append((start, end))
        # Back from the end as far as the overlap allows and the next word still fits.
        start, shared = end, 0
        most = min(overlap, room - sizes[end]) if end < len(sizes) else 0
        while start > spans[-1][0] + 1 and shared + sizes[start - 1] <= most:
            start -= 1
            shared += sizes[start]
    # Two windows part in the middle of what they share.
    borders = [(second[0] + first[1]) // 2 for first, second in zip(spans, spans[1:], strict=False)]
    return [
        WordWindow(*span, first, last)
        for span, first, last in zip(spans, [0, *borders], [*borders, len(sizes)], strict=True)
    ]


def stride_windows(length: int, room: int, stride: int) -> list[tuple[int, int]]:
    """Windows `[start, end)` over `length` tokens: each begins `stride` tokens after the one before
    it, until one reaches the end.

    Where the stride is longer than the room the windows lie end to end: no token is left out.

    Args:
        length: number of tokens.
        room: tokens of a window, at least one.
        stride: at least one.

    Example:
        >>> stride_windows(10, room=5, stride=3), stride_windows(4, 5, 3), stride_windows(6, 3, 9)
        ([(0, 5), (3, 8), (6, 10)], [(0, 4)], [(0, 3), (3, 6)])
    """
    if room < 1 or stride < 1:
        raise ValueError(f"room ({room}) and stride ({stride}) must be at least 1.")
    step = min(stride, room)
    starts = range(0, max(1, length - room + step), step)
    return [(start, min(start + room, length)) for start in starts]
