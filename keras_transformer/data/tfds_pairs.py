"""Pairs from a prepared TensorFlow Datasets (TFDS) folder, without any network."""

from __future__ import annotations

import os
from collections.abc import Iterator

from .pairs import TextPairs
from .tfds_folders import open_tfds, text_features, tfds_dataset


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
    folder, builder, split = open_tfds(name, split, data_dir)
    features = _find_features(name, source, target, builder)

    def read() -> Iterator[tuple[str, str]]:
        dataset = tfds_dataset(builder, split)
        dataset = dataset.map(lambda example: tuple(feature_at(example, f) for f in features))
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


def _find_features(name: str, source, target, builder) -> tuple[str, str]:
    texts = sorted(text_features(builder.info.features))  # in an order that stays
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


def feature_at(example, dotted_name: str):
    for key in dotted_name.split("."):
        example = example[key]
    return example
