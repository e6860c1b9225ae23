"""Pairs from two line-aligned files: line i of one is the translation of line i of the other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain, zip_longest

from .lines import read_lines_again
from .pairs import TextPairs


def line_file_pairs(
    source: str | os.PathLike[str], target: str | os.PathLike[str], name: str | None = None
) -> TextPairs:
    """Pairs of the lines of two UTF-8 files, plain or gzip.

    Args:
        source: file of source texts, one a line.
        target: file of target texts, one a line, in the same order.
        name: what reports call the pairs; by default both file names.

    Returns:
        `TextPairs`. Reading them raises a ValueError with both counts if one file has more lines
        than the other; use `TextPairs.check()` to know it beforehand.

    Example:
        >>> pairs = line_file_pairs("train.en.gz", "train.de.gz")
        >>> pairs.name
        'train.en.gz + train.de.gz'
    """
    return TextPairs(name or f"{source} + {target}", lambda: _aligned(source, target))


def _aligned(source, target) -> Iterator[tuple[str, str]]:
    source_lines, target_lines = read_lines_again(source), read_lines_again(target)
    lines = zip_longest(source_lines, target_lines)
    for read, (source_line, target_line) in enumerate(lines):
        if source_line is None or target_line is None:
            longer = read + 1 + sum(1 for _ in chain(source_lines, target_lines))
            counts = (read, longer) if source_line is None else (longer, read)
            raise ValueError(
                f"{source} has {counts[0]:,} lines but {target} has {counts[1]:,}: line-aligned "
                "files need one target line for each source line."
            )
        yield source_line, target_line
