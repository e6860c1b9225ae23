"""Labelled texts, tagged sentences and questions from a prepared TFDS folder, without a network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .conll import TaggedSentence, TaggedSentences
from .labelled_texts import LABEL_NAMES, LabelledTexts
from .squad import Answer, Question, Questions
from .tfds_folders import DataDir, open_tfds, text_features, tfds_dataset

# Pairs of texts whose order counts; other sets have to say which text is which.
TEXT_PAIRS = (
    ("sentence1", "sentence2"),
    ("question1", "question2"),
    ("premise", "hypothesis"),
    ("question", "sentence"),
)


def labelled_tfds(
    name: str,
    split: str = "train",
    text: str | None = None,
    label: str | None = None,
    text_pair: str | None = None,
    *,
    data_dir: DataDir = None,
) -> LabelledTexts:
    """Labelled texts of a data set that TFDS has prepared on disk, such as `glue/sst2`.

    The folder is read as it lies, see `tfds_pairs`. Labels have the names that the data set gives
    them; a label that is a floating-point number makes it regression. Examples with the label -1,
    which stands for none, are left out and counted.

    Args:
        name: `dataset`, `dataset/config`, or either with `:version`.
        split: a split or a TFDS slice of one. "valid" also finds "validation".
        text: feature with the text; by default the only one, or the first of a usual pair
            ("sentence1" and "sentence2", "premise" and "hypothesis", ...).
        label: feature with the label; "label" or "score" by default.
        text_pair: feature with the second text.
        data_dir: TFDS' folder; by default `$TFDS_DATA_DIR` or `~/tensorflow_datasets`.

    Raises:
        FileNotFoundError: the data set is not there; the message names the folder.
        ImportError: `tensorflow-datasets` is not installed.
        ValueError: no such split or feature, or one that does not fit.

    Example:
        >>> labelled_tfds("no_such_set", data_dir="/tmp")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        FileNotFoundError: no prepared TFDS dataset 'no_such_set' in /tmp ...
    """
    folder, builder, split = open_tfds(name, split, data_dir)
    features = builder.info.features
    if label is None:
        label = next((usual for usual in LABEL_NAMES if usual in features), None)
    if label is None or label not in features:
        raise ValueError(f"tfds:{name} has no label {label!r}; it has: {', '.join(features)}.")
    if text is None:
        text, text_pair = _usual_texts(name, sorted(text_features(features)))
    for feature in filter(None, (text, text_pair)):
        _check_feature(name, features, feature)
    regression = np.dtype(features[label].np_dtype).kind == "f"

    def read() -> Iterator[tuple[str, str, str | None, str | float | None]]:
        for number, example in enumerate(_examples(builder, split), start=1):
            where = f"{folder}, split {split}, example {number}"
            second = None if text_pair is None else utf8_text(example[text_pair], where)
            value = _label(features[label], example[label], where)
            yield where, utf8_text(example[text], where), second, value

    return LabelledTexts(f"tfds:{name}:{split}", read, regression)


def tagged_tfds(
    name: str,
    split: str = "train",
    words: str = "tokens",
    tags: str = "ner",
    *,
    data_dir: DataDir = None,
) -> TaggedSentences:
    """Tagged sentences of a data set that TFDS has prepared on disk, such as `conll2003`.

    Args:
        name: `dataset`, `dataset/config`, or either with `:version`.
        split: a split or a TFDS slice of one. "valid" also finds "validation".
        words: feature with the words of a sentence.
        tags: feature with their tags, texts or labels with names.
        data_dir: as in `labelled_tfds`.

    Raises:
        FileNotFoundError, ImportError, ValueError: as `labelled_tfds`.
    """
    folder, builder, split = open_tfds(name, split, data_dir)
    features = builder.info.features
    for feature in (words, tags):
        if feature not in features or len(features[feature].shape) != 1:
            raise ValueError(
                f"tfds:{name} has no sequence {feature!r}; it has: {', '.join(features)}."
            )

    def read() -> Iterator[TaggedSentence]:
        for number, example in enumerate(_examples(builder, split), start=1):
            where = f"{folder}, split {split}, example {number}"
            found = tuple(utf8_text(word, where) for word in example[words])
            named = tuple(_label(features[tags].feature, tag, where) for tag in example[tags])
            if len(found) != len(named) or None in named:
                raise ValueError(f"{where}: {len(found)} words but {len(named)} tags.")
            yield TaggedSentence(found, named, number - 1)

    return TaggedSentences(f"tfds:{name}:{split}", read)


def squad_tfds(
    name: str = "squad",
    split: str = "train",
    *,
    data_dir: DataDir = None,
    keep_misplaced: bool = False,
) -> Questions:
    """Questions of a data set in SQuAD's format that TFDS has prepared on disk.

    Args:
        name: `squad`, `squad/v2.0`, or another one with the features of these.
        split: a split or a TFDS slice of one. "valid" also finds "validation".
        data_dir: as in `labelled_tfds`.
        keep_misplaced: as in `Questions`.

    Raises:
        FileNotFoundError, ImportError, ValueError: as `labelled_tfds`.
    """
    folder, builder, split = open_tfds(name, split, data_dir)
    wanted = {"id", "question", "context", "answers"}
    if missing := wanted - set(builder.info.features):
        raise ValueError(f"tfds:{name} is not like SQuAD: it lacks {', '.join(sorted(missing))}.")

    def read() -> Iterator[Question]:
        for number, example in enumerate(_examples(builder, split), start=1):
            where = f"{folder}, split {split}, example {number}"
            given = example["answers"]
            answers = [
                Answer(utf8_text(text, where), int(start))
                for text, start in zip(given["text"], given["answer_start"], strict=True)
            ]
            if example.get("is_impossible", False):
                answers = []
            yield Question(
                *(utf8_text(example[field], where) for field in ("id", "question", "context")),
                tuple(dict.fromkeys(answers)),
            )

    return Questions(f"tfds:{name}:{split}", read, keep_misplaced)


def _examples(builder: Any, split: str) -> Iterator[dict[str, Any]]:
    return tfds_dataset(builder, split).as_numpy_iterator()


def _usual_texts(name: str, texts: list[str]) -> tuple[str, str | None]:
    if len(texts) == 1:
        return texts[0], None
    for pair in TEXT_PAIRS:
        if set(pair) == set(texts):
            return pair
    raise ValueError(f"tfds:{name}: say which fields to take; its texts are: {', '.join(texts)}.")


def _check_feature(name: str, features: Any, feature: str) -> None:
    texts = sorted(text_features(features))
    if feature not in texts or feature not in features:
        raise ValueError(
            f"tfds:{name} has no text field {feature!r}; its texts are: {', '.join(texts)}."
        )


def utf8_text(value: bytes, where: str) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{where}: not valid UTF-8.") from None


def _label(feature: Any, value: Any, where: str) -> str | float | None:
    """A label by its name; None for the -1 that stands for no label."""
    if isinstance(value, bytes):
        return utf8_text(value, where)
    if hasattr(feature, "int2str"):
        return None if value < 0 else feature.int2str(int(value))
    return value.item()
