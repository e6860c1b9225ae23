"""The texts a tokenizer learns from, read once and one at a time."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable, Iterator

TrainingTexts = Iterable["str | os.PathLike[str]"]


def iterate_texts(texts: TrainingTexts | os.PathLike[str]) -> Iterator[str]:
    """Yields every text of `texts`, in order, holding one at a time.

    Args:
        texts: strings, or paths (`pathlib.Path`) of UTF-8 files, plain or `.gz`, of which every
            line is a text; the two may be mixed. One path alone is accepted too.

    Raises:
        ValueError: if an item is neither, or is not valid Unicode; names the item, or the file
            and the line.
    """
    if isinstance(texts, str | bytes):
        raise ValueError(
            f"texts must be a list (or any iterable) of strings or paths, got one "
            f"{type(texts).__name__}; pass [text], or pathlib.Path(...) for a file."
        )
    for index, item in enumerate([texts] if isinstance(texts, os.PathLike) else texts):
        if isinstance(item, os.PathLike):
            yield from _lines(item)
        elif isinstance(item, str):
            _refuse_surrogates(item, index)
            yield item
        else:
            raise ValueError(
                f"texts[{index}] must be a string or a path, "
                f"got {type(item).__name__}: {item!r:.80}"
            )


def _lines(path: os.PathLike[str]) -> Iterator[str]:
    opened = gzip.open if os.fspath(path).endswith(".gz") else open
    with opened(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield line.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{os.fspath(path)}, line {number}: not valid UTF-8 ({error.reason} at byte "
                    f"{error.start}); convert the file to UTF-8."
                ) from None


def _refuse_surrogates(text: str, index: int) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"texts[{index}] holds a lone surrogate ({text[error.start]!r} at character "
            f"{error.start}), which is no Unicode text; replace or remove it."
        ) from None
