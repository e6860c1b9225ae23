"""Folders that TensorFlow Datasets (TFDS) has prepared on disk, opened without any network."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf

DataDir = str | os.PathLike[str] | None

_VALIDATION_NAMES = ("validation", "valid", "val", "dev")


def open_tfds(name: str, split: str, data_dir: DataDir) -> tuple[Path, Any, str]:
    """The folder of a data set, its builder, and the name that it has for the split.

    Args:
        name: `dataset`, `dataset/config`, or either with `:version`.
        split: a split or a TFDS slice of one. "valid" also finds "validation".
        data_dir: TFDS' folder; by default `$TFDS_DATA_DIR` or `~/tensorflow_datasets`.

    Raises:
        FileNotFoundError: the data set is not there; the message names the folder.
        ImportError: `tensorflow-datasets` is not installed.
        ValueError: no such split.
    """
    folder = _find_folder(name, data_dir)
    try:
        import tensorflow_datasets as tfds
    except ImportError as error:
        raise ImportError(
            f"tfds:{name} needs the package tensorflow-datasets: pip install tensorflow-datasets."
        ) from error
    builder = tfds.builder_from_directory(folder)
    return folder, builder, _find_split(name, split, builder)


def tfds_dataset(builder: Any, split: str) -> tf.data.Dataset:
    """The examples of a split in the order of its files."""
    import tensorflow_datasets as tfds

    # No caching: memory must not grow with the dataset.
    config = tfds.ReadConfig(try_autocache=False)
    return builder.as_dataset(split=split, shuffle_files=False, read_config=config)


def text_features(features: Any, prefix: str = "") -> Iterator[str]:
    """Dotted names of the features that are one string."""
    for key, feature in features.items():
        if hasattr(feature, "items"):
            yield from text_features(feature, f"{prefix}{key}.")
        elif feature.shape == () and feature.tf_dtype == tf.string:
            yield prefix + key


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
