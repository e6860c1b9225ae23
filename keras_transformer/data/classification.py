"""Labelled texts -> batches for a classifier, or for a model that guesses a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from keras_transformer.checks import check_at_least

from .example_batches import Example, ExampleBatches
from .labelled_texts import LabelledTexts
from .pairs import ReadReport
from .text_segments import fit_lengths, join_segments
from .token_arrays import check_special_ids, token_arrays

NO_LABEL = -1  # of rows that only fill a batch up


def classification_examples(
    texts: LabelledTexts,
    tokenizer: Any,
    label_names: Sequence[str] | None,
    max_length: int = 128,
) -> tuple[list[Example], ReadReport]:
    """Texts as `Bert` reads them, in the order of the texts.

    Args:
        texts: the labelled texts.
        tokenizer: has [CLS] and [SEP].
        label_names: the labels in the order of their ids; None for regression.
        max_length: most ids of an example, special ones included. A longer text is cut at its
            end (of two texts the longer one) and counted in the report.

    Returns:
        Examples with `token_ids` and `segment_ids` `[length]`, `label` (an id or a number) and
        `weight` 1; and the report of the texts.

    Raises:
        ValueError: what the texts raise; a label that is not among `label_names`.
    """
    check_at_least(5, max_length=max_length)
    if (label_names is None) != texts.regression:
        raise ValueError(
            f"{texts.name}: give label_names for labels that are names, and None for regression."
        )
    check_special_ids(tokenizer, "cls_id", "sep_id")
    texts.check()
    rows = list(texts)
    ids_of = {name: index for index, name in enumerate(label_names or ())}
    firsts = token_arrays((row.text for row in rows), tokenizer)
    seconds = token_arrays((row.text_pair or "" for row in rows), tokenizer)
    examples, truncated = [], 0
    for row, first, second in zip(rows, firsts, seconds, strict=True):
        if not texts.regression and row.label not in ids_of:
            raise ValueError(
                f"{texts.name}: the label {row.label!r} is not among the labels known from "
                f"training: {', '.join(ids_of)}."
            )
        is_pair = row.text_pair is not None
        lengths = fit_lengths(len(first), len(second), max_length - 2 - is_pair)
        truncated += lengths != (len(first), len(second))
        first, second = first[: lengths[0]], second[: lengths[1]]
        example = join_segments(first, second if is_pair else None, tokenizer)
        example["label"] = row.label if texts.regression else ids_of[row.label]
        examples.append(example | {"weight": 1.0})
    report = replace(texts.report, repaired=texts.report.repaired.copy())
    if truncated:
        report.repaired[f"cut to {max_length} tokens"] = truncated
    return examples, report


def classification_batches(
    texts: LabelledTexts,
    tokenizer: Any,
    label_names: Sequence[str] | None,
    *,
    max_length: int = 128,
    class_weights: Sequence[float] | None = None,
    **options: Any,
) -> ExampleBatches:
    """Batches for `BertClassifier`.

    A batch is `({"token_ids", "segment_ids": int32 [batch, length]}, labels [batch], weights
    float32 [batch])`. Labels are int32 ids, or float32 numbers for regression. Rows that only
    fill a batch up have the weight 0 and the label -1 (0.0 for regression).

    Args:
        texts: the labelled texts.
        tokenizer: has [CLS] and [SEP].
        label_names: the labels in the order of their ids (`texts.label_names()`); None for
            regression.
        max_length: most ids of an example, special ones included.
        class_weights: weight of the rows of each label; 1 by default.
        **options: of `ExampleBatches`.

    Raises:
        ValueError: what `classification_examples` raises; not one weight for each label.

    Example:
        >>> batches = classification_batches(texts, tokenizer, names)  # doctest: +SKIP
        >>> model.fit(batches.dataset, epochs=3)  # doctest: +SKIP
    """
    examples, report = classification_examples(texts, tokenizer, label_names, max_length)
    if class_weights is not None:
        if len(class_weights) != len(label_names or ()):
            raise ValueError(
                f"class_weights has {len(class_weights)} weights for {len(label_names or ())} "
                "labels; give one for each."
            )
        for example in examples:
            example["weight"] = float(class_weights[example["label"]])
    return ExampleBatches(
        examples,
        "label",
        weights="weight",
        fillers=None if texts.regression else {"label": NO_LABEL},
        texts=report,
        **options,
    )


def balanced_weights(texts: LabelledTexts, label_names: Sequence[str]) -> list[float]:
    """Weights that give all labels the same say, however many rows each has; 1 on average.

    Example:
        >>> rows = [("", "a", None, "x")] * 3 + [("", "b", None, "y")]
        >>> balanced_weights(LabelledTexts("four", lambda: iter(rows)), ["x", "y"])
        [0.6666666666666666, 2.0]
    """
    counts = dict.fromkeys(label_names, 0)
    for row in texts:
        counts[row.label] += 1
    return [sum(counts.values()) / (len(counts) * max(1, count)) for count in counts.values()]
