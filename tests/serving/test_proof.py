"""What Python says, the exports say without Python and without XLA, to texts of every kind."""

from __future__ import annotations

import os
from typing import Any

import many_texts
import numpy as np
import pytest
import small_exports
import tensorflow as tf
from small_exports import OTHERS, QUICK, inputs_of

from benchmarks.same_everywhere import compare, without_padding

TOGETHER = 65  # each row among 64 others


def batches(columns: dict[str, list], size: int) -> list[dict[str, list]]:
    count = len(next(iter(columns.values())))
    return [
        {name: rows[start : start + size] for name, rows in columns.items()}
        for start in range(0, count, size)
    ]


def plain(value: Any) -> Any:
    """Nested lists of numbers and strings, which must be UTF-8."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.decode("utf-8") if isinstance(value, bytes) else value


def in_python(function: Any, columns: dict[str, list]) -> list[dict[str, Any]]:
    """A signature's answers, a dictionary for each row; all of it can be written as JSON."""
    specs = {spec.name: spec for spec in function.input_signature}
    inputs = {name: tf.constant(rows, specs[name].dtype) for name, rows in columns.items()}
    outputs = {name: value.numpy() for name, value in function(**inputs).items()}
    for name, value in outputs.items():
        assert value.dtype != np.float32 or np.all(np.isfinite(value)), name
    return without_padding({name: plain(value.tolist()) for name, value in outputs.items()})


def rows_of(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of the program's answers, in which no error may be."""
    assert not [answer for answer in answers if "outputs" not in answer]
    return [row for answer in answers for row in without_padding(answer["outputs"])]


def assert_same(expected: list[dict[str, Any]], found: list[dict[str, Any]], what: str) -> None:
    """All rows are the same; in few a choice between equals may have turned with the rounding."""
    different = compare(expected, found)
    ties = [difference for difference in different if difference.is_tie]
    print(f"{what}: {len(ties)} ties among {len(expected)} rows: {ties}")
    assert len(different) == len(ties) <= len(expected) // 50, (what, different[:2])


def assert_it_says_what_python_says(kind: str, runner: Any, texts: list[bytes], alone: int) -> None:
    """In batches of 65 rows, and as many of the rows as said in calls of their own."""
    with runner.load(small_exports.export_of_all(kind)) as served:
        for name, function in small_exports.signatures_of(kind).items():
            columns = many_texts.columns(inputs_of(function), texts)
            together = batches(columns, TOGETHER)
            expected = [row for batch in together for row in in_python(function, batch)]
            for size, asked in ((TOGETHER, together), (1, batches(columns, 1)[:alone])):
                found = rows_of(served.ask_all([(name, request) for request in asked], 900))
                what = f"{kind}, {name}, {size} at a time"
                assert_same(expected[: len(found)], found, what)


@pytest.mark.parametrize("kind", QUICK)
def test_a_process_without_python_says_the_same(kind):
    texts = many_texts.texts(TOGETHER)
    assert_it_says_what_python_says(kind, small_exports.runner(), texts, alone=20)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*QUICK, *OTHERS])
def test_it_says_the_same_to_two_hundred_texts_each(kind):
    texts = many_texts.texts(200, long=len(many_texts.LONG))
    assert_it_says_what_python_says(kind, small_exports.runner(), texts, alone=len(texts))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*QUICK, *OTHERS])
def test_an_older_tensorflow_says_the_same(kind):
    python = os.environ.get("KERAS_TRANSFORMER_OLD_PYTHON")
    if not python:
        pytest.skip("needs an older TensorFlow; set KERAS_TRANSFORMER_OLD_PYTHON to its Python")
    texts = many_texts.texts(200, long=len(many_texts.LONG))
    assert_it_says_what_python_says(kind, small_exports.runner(python), texts, alone=len(texts))
