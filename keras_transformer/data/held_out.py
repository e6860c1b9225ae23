"""What is held out of a corpus for validation and for test: whole documents, or its end."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor

from .documents import TextDocuments


class TooFewDocuments(ValueError):
    """A corpus is too small for what is to be held out of it."""


def hold_out(
    documents: TextDocuments,
    share: float = 0.02,
    splits: Sequence[str] = ("valid", "test"),
    least: int = 1,
) -> dict[str, TextDocuments]:
    """Parts documents into those to train on and those held out of them, whole documents each.

    The position of a document decides where it goes, and what is held out lies evenly over the
    corpus, the splits by turns. So every pass and every run parts alike, nothing is held in
    memory, and a corpus that grows at its end keeps its splits. A text that the corpus has twice
    is two documents.

    Args:
        documents: the corpus; it is read once to be counted, if it has not been before.
        share: share of the documents for each split, give or take less than one document.
        splits: names of the splits to hold out.
        least: fewest documents of each split.

    Returns:
        "train" and each of the splits -> its documents; their reports add up to that of the
        whole corpus.

    Raises:
        TooFewDocuments: some split would have fewer than `least`; it is a ValueError.
        ValueError: the documents cannot be read; impossible arguments.

    Example:
        >>> ten = TextDocuments("ten", lambda: ([f"{number}."] for number in range(10)))
        >>> for split, part in hold_out(ten, share=0.2).items():
        ...     print(split, *part.sentences())
        train 0. 2. 4. 5. 7. 9.
        valid 1. 6.
        test 3. 8.
    """
    _check(share, splits, least)
    # Of all that is held out, as whole numbers: a float would shift positions of a long corpus.
    rate = Fraction(str(share)) * len(splits)
    _check_count(documents, rate, splits, least)
    part, whole = rate.as_integer_ratio()

    def held_before(position: int) -> int:
        return (2 * part * position + whole) // (2 * whole)  # position * rate, rounded

    def split_of(position: int) -> str:
        number = held_before(position)
        held = held_before(position + 1) > number
        return splits[number % len(splits)] if held else "train"

    return {
        split: documents.part(
            f"{documents.name}:{split}", lambda position, split=split: split_of(position) == split
        )
        for split in ("train", *splits)
    }


def hold_out_end(
    documents: TextDocuments, share: float = 0.1, split: str = "valid"
) -> dict[str, TextDocuments]:
    """Parts a corpus by its characters: the beginning to train on, the end held out of it.

    It needs no more than one document, which is cut where the border lies: so the play or novel
    that is all there is has a split, too. Nothing is held in memory.

    Args:
        documents: the corpus; it is read once to be counted, if it has not been before.
        share: share of the characters to hold out.
        split: name of what is held out.

    Returns:
        "train" and the split -> their texts.

    Raises:
        ValueError: the documents cannot be read, or one of the parts would be blank; impossible
            arguments.

    Example:
        >>> text = TextDocuments("one", lambda: iter([["To be or not to be"]]))
        >>> for split, part in hold_out_end(text, share=0.25).items():
        ...     print(split, list(part))
        train [['To be or not ']]
        valid [['to be']]
    """
    _check(share, [split], least=1)
    total = documents.report.characters
    border = floor(total * (1 - Fraction(str(share))))
    parts = {
        name: documents.characters(f"{documents.name}:{name}", first, last)
        for name, first, last in (("train", 0, border), (split, border, total))
    }
    for name, part in parts.items():
        if next(iter(part), None) is None:
            raise TooFewDocuments(
                f"{documents.name}: a share of {share:g} of {total:,} characters leaves no text "
                f"for {name}; give more text, or another share."
            )
    return parts


def _check(share: float, splits: Sequence[str], least: int) -> None:
    names = ", ".join(map(repr, splits))
    if not splits or "train" in splits or len(set(splits)) < len(splits):
        raise ValueError(f"splits are {names or 'none'}; give different names, not 'train'.")
    if not 0 < share * len(splits) < 1:
        raise ValueError(
            f"a share of {share} cannot be held out for {names}: it must be more than 0, and less "
            f"than {1 / len(splits):.3g}, so that something is left to train on."
        )
    if least < 1:
        raise ValueError(f"least is {least}; a split needs at least 1 document.")


def _check_count(
    documents: TextDocuments, rate: Fraction, splits: Sequence[str], least: int
) -> None:
    count = documents.report.documents
    by_splits = ceil((len(splits) * least - Fraction(1, 2)) / rate)  # by the last one of them
    by_training = ceil((least + Fraction(1, 2)) / (1 - rate))
    needed = max(by_splits, by_training)
    if count < needed:
        share, each = float(rate / len(splits)), " each" if len(splits) > 1 else ""
        names, other = " and ".join(splits), "larger" if by_splits > by_training else "smaller"
        raise TooFewDocuments(
            f"{documents.name}: {count:,} documents ({documents.parted_by} part them) are "
            f"too few to hold out a share of {share:g}{each} for {names}; it takes {needed:,}, "
            f"or a {other} share, or other texts for {names}."
        )
