"""What became of the data of a training, in plain values: read, kept, dropped and why, lengths."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

from keras_transformer.data.example_batches import BatchReport
from keras_transformer.data.length_report import LengthReport
from keras_transformer.data.pairs import ReadReport


def data_counts(report: ReadReport | BatchReport | LengthReport) -> dict[str, Any]:
    """The counts of a source of texts, or of the batches made of it, as JSON has them.

    Args:
        report: what the source's `check()`, or the `report` of the batches, gives.

    Returns:
        `name`, `read`, `kept`, `dropped` and `repaired` (reason -> number) of a source; `batches`,
        `mean_length`, `longest` (of an example, or by side) and `padding_share` of batches; and
        whatever else the report counts.

    >>> from keras_transformer.data import TextPairs
    >>> data_counts(TextPairs("two", lambda: iter([("a", "b"), ("c", " ")])).check())
    {'name': 'two', 'read': 2, 'kept': 1, 'dropped': {'blank target': 1}}
    """
    if isinstance(report, LengthReport):
        return _of_pairs(report)
    counts = (
        {} if isinstance(report, ReadReport) or report.texts is None else data_counts(report.texts)
    )
    for field in dataclasses.fields(report):
        value = getattr(report, field.name)
        if isinstance(value, Counter):
            value = _reasons(value)
        if field.name not in ("texts", "padded") and value not in ({}, False):
            counts[field.name] = value
    if isinstance(report, BatchReport):
        counts["mean_length"] = report.tokens / report.examples
        counts["padding_share"] = report.padding_share
    return counts


def _of_pairs(report: LengthReport) -> dict[str, Any]:
    counts = data_counts(report.texts)
    counts["kept"] = report.kept
    dropped = Counter(report.texts.dropped) + Counter(report.dropped)
    if dropped:
        counts["dropped"] = _reasons(dropped)
    if report.truncated:
        counts["truncated"] = report.truncated
    counts |= {"batches": report.batches, "padding_share": report.padding_share}
    sides = {"source": report.source, "target": report.target}
    counts["mean_length"] = {name: side.total / report.kept for name, side in sides.items()}
    counts["longest"] = {name: side.longest for name, side in sides.items()}
    counts["tokens"] = {name: side.total for name, side in sides.items()}
    return counts


def _reasons(counts: Counter[str]) -> dict[str, int]:
    return {reason: count for reason, count in sorted(counts.items()) if count}
