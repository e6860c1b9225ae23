"""The texts a tokenizer learns from, read once and one at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from keras_transformer.text.lines import read_lines

TrainingTexts = Iterable["str | os.PathLike[str]"]


def iterate_texts(texts: TrainingTexts | os.PathLike[str]) -> Iterator[str]:
    """Yields every text of `texts`, in order, holding one at a time.

    Args:
        texts: strings, or paths (`pathlib.Path`) of UTF-8 files, plain or gzip, of which every
            line is a text (see `read_lines`; a NUL in it becomes a space, as in pairs of texts);
            the two may be mixed. One path alone is accepted too.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: if an item is neither, is not valid Unicode, or is a damaged gzip file; names
            the item, or the file and the line.
    """
    if isinstance(texts, str | bytes):
        raise ValueError(
            f"texts must be a list (or any iterable) of strings or paths, got one "
            f"{type(texts).__name__}; pass [text], or pathlib.Path(...) for a file."
        )
    for index, item in enumerate([texts] if isinstance(texts, os.PathLike) else texts):
        if isinstance(item, os.PathLike):
            for line in read_lines(item):
                yield line.replace("\0", " ")  # as in pairs, which the tokenizer will meet
        elif isinstance(item, str):
            _refuse_surrogates(item, index)
            yield item
        else:
            raise ValueError(
                f"texts[{index}] must be a string or a path, "
                f"got {type(item).__name__}: {item!r:.80}"
            )


def _refuse_surrogates(text: str, index: int) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"texts[{index}] holds a lone surrogate ({text[error.start]!r} at character "
            f"{error.start}), which is no Unicode text; replace or remove it."
        ) from None
