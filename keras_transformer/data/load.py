"""One door to every source of text pairs."""

from __future__ import annotations

import os

from .json_lines import json_lines_pairs
from .line_files import line_file_pairs
from .pairs import TextPairs
from .tfds_pairs import tfds_pairs
from .tsv import Column, tsv_pairs

_SPLITS = ("train", "valid", "test")


def load_pairs(
    dataset: str | None = None,
    source: str | os.PathLike[str] | None = None,
    target: str | os.PathLike[str] | None = None,
    *,
    split: str | None = None,
    source_field: Column | None = None,
    target_field: Column | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    reverse: bool = False,
) -> TextPairs:
    """Opens a source of (source, target) texts by its name.

    Args:
        dataset: `builtin` (the Chinese-English sentences that come with the package),
            `tsv:PATH`, `jsonl:PATH` or `tfds:NAME`; None for a pair of files.
        source: file of source texts, one a line; only with `dataset=None`.
        target: file of target texts, aligned with `source`.
        split: "train", "valid" or "test" (for TFDS any split or slice); "train" by default. A
            `{split}` in a PATH is replaced by it; a PATH without one holds a single split.
        source_field: column or field of the source texts (see `tsv_pairs`, `json_lines_pairs`,
            `tfds_pairs`).
        target_field: the same for the target texts.
        data_dir: TFDS' folder.
        reverse: swap source and target.

    Returns:
        `TextPairs`; `check()` it to meet every fault of the data before the work begins.

    Raises:
        ValueError: the arguments do not name one source.
        FileNotFoundError: a TFDS dataset is not there.

    Example:
        >>> load_pairs("tsv:corpus/{split}.tsv", split="test").name
        'tsv:corpus/test.tsv'
    """
    pairs = _open(dataset, source, target, split, source_field, target_field, data_dir)
    return pairs.reversed() if reverse else pairs


def _open(dataset, source, target, split, source_field, target_field, data_dir) -> TextPairs:
    if dataset is None:
        if source is None or target is None:
            raise ValueError(
                "give a dataset (builtin, tsv:PATH, jsonl:PATH, tfds:NAME), or both a source and "
                f"a target file (source is {source}, target is {target})."
            )
        # Files given by name are what they are said to be, so any split will do.
        return line_file_pairs(_fill_in(source, split), _fill_in(target, split))
    if source is not None or target is not None:
        raise ValueError(
            f"give either a dataset ({dataset}) or source and target files ({source}, {target}), "
            "not both."
        )
    kind, _, rest = dataset.partition(":")
    if dataset == "builtin":
        return _builtin(split or "train")
    if kind == "tsv" and rest:
        return tsv_pairs(_split_path(rest, split), source_field, target_field)
    if kind == "jsonl" and rest:
        return json_lines_pairs(
            _split_path(rest, split),
            "source" if source_field is None else source_field,
            "target" if target_field is None else target_field,
        )
    if kind == "tfds" and rest:
        return tfds_pairs(rest, split or "train", source_field, target_field, data_dir=data_dir)
    raise ValueError(
        f"dataset {dataset!r} is unknown; right are: builtin, tsv:PATH, jsonl:PATH, tfds:NAME."
    )


def _builtin(split: str) -> TextPairs:
    from .grammar import grammar_pairs

    if split not in _SPLITS:
        raise ValueError(f"builtin has no split {split!r}; it has: {', '.join(_SPLITS)}.")
    return TextPairs(f"builtin:{split}", lambda: iter(grammar_pairs(split)))


def _split_path(path: str, split: str | None) -> str:
    if "{split}" not in path and split not in (None, "train"):
        # Taking the training file for a test set would go unnoticed.
        raise ValueError(f"{path} holds one split; to read {split!r} put {{split}} in its path.")
    return _fill_in(path, split)


def _fill_in(path: str | os.PathLike[str], split: str | None) -> str:
    return os.fspath(path).replace("{split}", split or "train")
