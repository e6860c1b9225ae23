"""Texts from a prepared TensorFlow Datasets (TFDS) folder, without any network."""

from __future__ import annotations

from collections.abc import Iterator

from .documents import TextDocuments
from .tfds_folders import DataDir, open_tfds, text_features, tfds_dataset
from .tfds_pairs import feature_at
from .tfds_tasks import utf8_text

USUAL_FIELD = "text"


def tfds_texts(
    name: str, split: str = "train", field: str | None = None, *, data_dir: DataDir = None
) -> TextDocuments:
    """Documents of a data set that TFDS has prepared on disk, such as `wiki40b/en`.

    The folder is read as it lies, see `tfds_pairs`. Every example is a document, one text with its
    line ends.

    Args:
        name: `dataset`, `dataset/config`, or either with `:version`.
        split: a split or a TFDS slice of one. "valid" also finds "validation".
        field: feature with the text; by default "text", or the only text that there is.
        data_dir: TFDS' folder; by default `$TFDS_DATA_DIR` or `~/tensorflow_datasets`.

    Raises:
        FileNotFoundError: the data set is not there; the message names the folder.
        ImportError: `tensorflow-datasets` is not installed.
        ValueError: no such split or feature, or one that is not a text.

    Example:
        >>> tfds_texts("no_such_set", data_dir="/tmp")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        FileNotFoundError: no prepared TFDS dataset 'no_such_set' in /tmp ...
    """
    folder, builder, split = open_tfds(name, split, data_dir)
    texts = sorted(text_features(builder.info.features))
    if field is None:
        field = USUAL_FIELD if USUAL_FIELD in texts else texts[0] if len(texts) == 1 else None
        if field is None:
            raise ValueError(
                f"tfds:{name}: say which field to take; its texts are: {', '.join(texts)}."
            )
    if field not in texts:
        raise ValueError(
            f"tfds:{name} has no text field {field!r}; its texts are: {', '.join(texts)}."
        )

    def read() -> Iterator[list[str]]:
        dataset = tfds_dataset(builder, split).map(lambda example: feature_at(example, field))
        for number, text in enumerate(dataset.prefetch(2).as_numpy_iterator(), start=1):
            yield [utf8_text(text, f"{folder}, split {split}, example {number}")]

    return TextDocuments(f"tfds:{name}:{split}", read, "examples")
