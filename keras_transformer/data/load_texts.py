"""One door to every source of texts for a language model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Literal

from .documents import TextDocuments, builtin_documents
from .json_lines import JSON_LINES_ENDINGS
from .json_texts import json_lines_texts
from .raw_texts import raw_text_files
from .tfds_texts import tfds_texts


def load_texts(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = "builtin",
    split: str = "train",
    *,
    field: str | None = None,
    document: Literal["file", "paragraph"] = "file",
    data_dir: str | os.PathLike[str] | None = None,
) -> TextDocuments:
    """Documents whose line ends are kept, from one source or several, one after the other.

    Args:
        source: `builtin` (prose of Python's help, in sentences), `tfds:NAME`, `jsonl:PATH` (a file
            or a folder of `*.jsonl` and `*.jsonl.gz`; a file of such a name needs no `jsonl:`), or
            a file of text or a folder of `*.txt` and `*.txt.gz`; or a list of these.
        split: "train", "valid" or "test" (for TFDS any split or slice); a `{split}` in a path is
            replaced by it. A path without one holds texts of no split: `hold_out` or
            `hold_out_end` part them.
        field: of JSON lines or TFDS: the one with the text; "text" by default.
        document: of text files: whether a file is a document, or a paragraph between blank lines.
        data_dir: TFDS' folder.

    Raises:
        ValueError: there is no source, or what is there is not what it should be.
        FileNotFoundError: there is no such file, folder or data set.

    Example:
        >>> load_texts().name
        'builtin:train'
        >>> load_texts("plays/{split}.txt", "valid")
        Traceback (most recent call last):
        FileNotFoundError: plays/valid.txt: there is no such file or folder.
    """
    sources = [source] if isinstance(source, str | os.PathLike) else list(source)
    if not sources:
        raise ValueError("give at least one source: builtin, tfds:NAME, jsonl:PATH or a path.")
    return reduce(add, [_open(os.fspath(s), split, field, document, data_dir) for s in sources])


def _open(source: str, split: str, field: str | None, document, data_dir) -> TextDocuments:
    if source == "builtin":
        return builtin_documents(split)
    if source.startswith("tfds:"):
        return tfds_texts(source.removeprefix("tfds:"), split, field, data_dir=data_dir)
    path = source.replace("{split}", split)
    if path.startswith("jsonl:") or path.removesuffix(".gz").endswith(JSON_LINES_ENDINGS):
        return json_lines_texts(path.removeprefix("jsonl:"), field=field or "text")
    return raw_text_files(path, document=document)
