"""The small tasks of `tests/tasks`, exported: each of them once in a process."""

from __future__ import annotations

import shutil
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import small_berts
import small_generators
import small_translators

from benchmarks.export_runner import ExportRunner
from keras_transformer.tasks import Task

# The others take a minute more.
QUICK = ["translator"]
OTHERS = [
    "characters",
    "tagger",
    "answerer",
    "fill_mask",
    "classifier",
    "regression",
    "embedder",
    "tagger of subwords",
    "answerer of characters",
    "embedder of subwords",
    "subwords",
    "byte_pairs",
]
# What the page about serving calls its models.
DOCUMENTED = {
    "translate": "translator",
    "classify": "classifier",
    "tag": "tagger",
    "qa": "answerer",
    "bert": "fill_mask",
    "embed": "embedder",
    "gpt": "characters",
}
KINDS = [*QUICK, *(pytest.param(kind, marks=pytest.mark.slow) for kind in OTHERS)]


@cache
def task(kind: str) -> Task:
    """A task of a kind, with random weights."""
    if kind == "translator":
        return small_translators.make_translator(small_translators.subwords())
    if kind in small_generators.KINDS:
        return small_generators.generator(kind)
    name, _, tokenizer = kind.partition(" of ")
    return small_berts.make(name, getattr(small_berts, tokenizer)() if tokenizer else None)


@cache
def _folder() -> TemporaryDirectory:
    return TemporaryDirectory(prefix="exports-")  # goes when the process ends


@cache
def export(kind: str) -> Path:
    """The folder of its export."""
    return task(kind).export(Path(_folder().name) / kind)


@cache
def export_of_all(kind: str) -> Path:
    """The folder of an export with the signatures that are served only where they are asked for."""
    return task(kind).export(
        Path(_folder().name) / f"{kind} with all", signatures=signatures_of(kind)
    )


def signatures_of(kind: str) -> dict[str, Any]:
    """All that a task can serve."""
    return task(kind).signatures() | task(kind).optional_signatures()


def inputs_of(function: Any) -> list[str]:
    """The names of a signature's inputs."""
    return [spec.name for spec in function.input_signature]


@cache
def _built(python: str) -> ExportRunner:
    folder = Path(_folder().name) / f"program {python.replace('/', '_')}"
    folder.mkdir()
    return ExportRunner.build(folder, python)


def runner(python: str = sys.executable) -> ExportRunner:
    """The program that runs exports without Python; skips the test where it cannot be built."""
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler (cc), to build the program of serving/c")
    return _built(python)
