"""Pairs from a prepared TensorFlow Datasets (TFDS) folder, without any network."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf

from .pairs import TextPairs

_VALIDATION_NAMES = ("validation", "valid", "val", "dev")


def tfds_pairs(
    name: str,
    split: str = "train",
    source: str | None = None,
    target: str | None = None,
    *,
    data_dir: str | os.PathLike[str] | None = None,
) -> TextPairs:
    """Pairs of two text features of a dataset that TFDS has prepared on disk.

    The folder is read as it lies: nothing is downloaded and the code that once built the dataset
    is not needed. Examples come in the same order every time.

    Args:
        name: `dataset`, `dataset/config`, or either with `:version`; for instance
            `ted_hrlr_translate/pt_to_en`. Without a version the newest one is taken.
        split: a split or a TFDS slice of one (`train[:90%]`). "valid" also finds "validation".
        source: feature with the source text; by default the dataset's supervised input.
        target: feature with the target text; by default the dataset's supervised target.
        data_dir: TFDS' folder; by default `$TFDS_DATA_DIR` or `~/tensorflow_datasets`.

    Returns:
        `TextPairs`.

    Raises:
        FileNotFoundError: the dataset is not there; the message names the folder.
        ImportError: `tensorflow-datasets` is not installed.
        ValueError: no such split or feature, or one that is not a text.

    Example:
        >>> tfds_pairs("no_such_set", data_dir="/tmp")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        FileNotFoundError: no prepared TFDS dataset 'no_such_set' in /tmp ...
    """
    folder = _find_folder(name, data_dir)
    try:
        import tensorflow_datasets as tfds
    except ImportError as error:
        raise ImportError(
            f"tfds:{name} needs the package tensorflow-datasets: pip install tensorflow-datasets."
        ) from error
    builder = tfds.builder_from_directory(folder)
    split = _find_split(name, split, builder)
    features = _find_features(name, source, target, builder)

    def read() -> Iterator[tuple[str, str]]:
        # No caching: memory must not grow with the dataset.
        dataset = builder.as_dataset(
            split=split, shuffle_files=False, read_config=tfds.ReadConfig(try_autocache=False)
        )
        dataset = dataset.map(lambda example: tuple(_feature(example, f) for f in features))
        number = 0
        for sources, targets in dataset.batch(512).prefetch(2).as_numpy_iterator():
            for pair in zip(sources, targets, strict=True):
                number += 1
                try:
                    yield pair[0].decode("utf-8"), pair[1].decode("utf-8")
                except UnicodeDecodeError:
                    raise ValueError(
                        f"{folder}, split {split}, example {number}: not valid UTF-8."
                    ) from None

    return TextPairs(f"tfds:{name}:{split}", read)


def _find_folder(name: str, data_dir) -> Path:
    root = Path(data_dir or os.environ.get("TFDS_DATA_DIR") or "~/tensorflow_datasets").expanduser()
    base, _, version = name.partition(":")
    folder = root / base
    found = [
        path
        for path in (folder.glob("*/") if folder.is_dir() else ())
        if re.fullmatch(r"\d+\.\d+\.\d+", path.name) and (not version or path.name == version)
        if (path / "dataset_info.json").is_file()
    ]
    if found:
        return max(found, key=lambda path: [int(part) for part in path.name.split(".")])
    raise FileNotFoundError(
        f"no prepared TFDS dataset {name!r} in {root} (looked for "
        f"{folder / (version or '<version>')}/dataset_info.json); nothing is downloaded: prepare "
        f"it once where there is a network (tfds.builder({name!r}).download_and_prepare()) and "
        "give its folder as the data dir, or give two line-aligned files as source and target."
    )


def _find_split(name: str, split: str, builder) -> str:
    available = list(builder.info.splits)
    if split in _VALIDATION_NAMES and split not in available:
        split = next((other for other in _VALIDATION_NAMES if other in available), split)
    if re.split(r"[\[+]", split)[0] not in available:
        raise ValueError(f"tfds:{name} has no split {split!r}; it has: {', '.join(available)}.")
    return split


def _find_features(name: str, source, target, builder) -> tuple[str, str]:
    texts = sorted(_text_features(builder.info.features))  # in an order that stays
    if (source is None) != (target is None):
        raise ValueError(f"tfds:{name}: give both fields or neither; texts: {', '.join(texts)}.")
    if source is None:
        supervised = builder.info.supervised_keys
        if supervised and len(supervised) == 2 and set(supervised) <= set(texts):
            return tuple(supervised)
        if len(texts) != 2:
            raise ValueError(
                f"tfds:{name}: say which fields to take; its texts are: {', '.join(texts)}."
            )
        return texts[0], texts[1]
    for feature in (source, target):
        if feature not in texts:
            raise ValueError(
                f"tfds:{name} has no text field {feature!r}; its texts are: {', '.join(texts)}."
            )
    return source, target


def _text_features(features, prefix: str = "") -> Iterator[str]:
    """Dotted names of the features that are one string."""
    for key, feature in features.items():
        if hasattr(feature, "items"):
            yield from _text_features(feature, f"{prefix}{key}.")
        elif feature.shape == () and feature.tf_dtype == tf.string:
            yield prefix + key


def _feature(example, dotted_name: str):
    for key in dotted_name.split("."):
        example = example[key]
    return example
