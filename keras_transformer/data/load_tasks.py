"""One door each to documents, labelled texts, tagged sentences and questions."""

from __future__ import annotations

import os
from typing import Any

from .conll import TaggedSentences, conll_file
from .documents import TextDocuments, builtin_documents, document_files
from .labelled_texts import LabelledTexts, labelled_tsv
from .small_tasks import builtin_questions, builtin_reviews, builtin_tagged
from .squad import Questions, squad_file
from .tfds_tasks import labelled_tfds, squad_tfds, tagged_tfds


def load_documents(source: str = "builtin", split: str = "train") -> TextDocuments:
    """Documents for pretraining.

    Args:
        source: `builtin`, or a file or folder of texts (see `document_files`).
        split: "train", "valid" or "test"; a `{split}` in the path is replaced by it.

    Example:
        >>> load_documents().name
        'builtin:train'
    """
    if source == "builtin":
        return builtin_documents(split)
    return document_files(_path(source, split))


def load_labelled(
    source: str = "builtin",
    split: str = "train",
    *,
    data_dir: str | os.PathLike[str] | None = None,
    **options: Any,
) -> LabelledTexts:
    """Labelled texts for a classifier, or with numbers for regression.

    Args:
        source: `builtin`, `tfds:NAME`, or a TSV file or a folder of them.
        split: "train", "valid" or "test" (for TFDS any split or slice); a `{split}` in the path
            is replaced by it.
        data_dir: TFDS' folder.
        **options: of `labelled_tsv` or `labelled_tfds`, for instance `text` and `label`.

    Example:
        >>> load_labelled("reviews/{split}.tsv", "test", text=1, label=2)
        Traceback (most recent call last):
        FileNotFoundError: reviews/test.tsv: there is no such file or folder.
    """
    if source == "builtin":
        return builtin_reviews(split)
    if source.startswith("tfds:"):
        return labelled_tfds(source.removeprefix("tfds:"), split, data_dir=data_dir, **options)
    return labelled_tsv(_path(source, split), **options)


def load_tagged(
    source: str = "builtin",
    split: str = "train",
    *,
    data_dir: str | os.PathLike[str] | None = None,
    **options: Any,
) -> TaggedSentences:
    """Tagged sentences.

    Args:
        source: `builtin`, `tfds:NAME`, or a file in the manner of CoNLL or a folder of them.
        split: as in `load_labelled`.
        data_dir: TFDS' folder.
        **options: of `conll_file` or `tagged_tfds`.

    Example:
        >>> load_tagged("ner/{split}.conll", "valid")
        Traceback (most recent call last):
        FileNotFoundError: ner/valid.conll: there is no such file or folder.
    """
    if source == "builtin":
        return builtin_tagged(split)
    if source.startswith("tfds:"):
        return tagged_tfds(source.removeprefix("tfds:"), split, data_dir=data_dir, **options)
    return conll_file(_path(source, split), **options)


def load_questions(
    source: str = "builtin",
    split: str = "train",
    *,
    data_dir: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Questions:
    """Questions and their contexts.

    Args:
        source: `builtin`, `tfds:NAME`, or a JSON file in the format of SQuAD or a folder of them.
        split: as in `load_labelled`.
        data_dir: TFDS' folder.
        **options: of `squad_file` or `squad_tfds`.

    Example:
        >>> load_questions("squad/{split}.json", "valid")
        Traceback (most recent call last):
        FileNotFoundError: squad/valid.json: there is no such file or folder.
    """
    if source == "builtin":
        return builtin_questions(split)
    if source.startswith("tfds:"):
        return squad_tfds(source.removeprefix("tfds:"), split, data_dir=data_dir, **options)
    return squad_file(_path(source, split), **options)


def _path(source: str, split: str) -> str:
    return source.replace("{split}", split)
