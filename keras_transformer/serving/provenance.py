"""Where a model comes from: its run, its scores, and the software that exported it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from keras_transformer.tasks import Task
from keras_transformer.tasks.task import CONFIG_FILE, WEIGHTS_FILE
from keras_transformer.versions import commit_of_this_code, versions_in_use

# What the commands that train call their data, and what they begin with.
DATA_OPTIONS = (
    *("dataset", "source", "target", "valid_dataset", "valid_source", "valid_target"),
    *("test_dataset", "test_source", "test_target", "reverse"),
    *("train", "valid", "test", "text", "valid_text", "test_text"),
    *("prompts", "valid_prompts", "held_out", "data_dir", "init"),
)


REPORT_FILE = "report.json"
"""What a training command writes beside its model."""


@dataclass(frozen=True)
class Provenance:
    """Where a model comes from; what its folder does not say is empty."""

    task: str
    """Name of the task's class."""
    precision: str
    """Keras dtype policy that the model computes in."""
    parameters: int
    """Numbers of the model's weights."""
    versions: dict[str, str]
    """Of the packages that exported it."""
    commit: str | None = None
    """Of the code that exported it, where that is a git repository; "-dirty" marks changes."""
    trained_commit: str | None = None
    """Of the code that trained it, by the report of its run."""
    trained_versions: dict[str, str] = field(default_factory=dict)
    """Of the packages that trained it."""
    run: str | None = None
    """Its folder."""
    weights_sha256: str | None = None
    """Of the weights' file."""
    data: dict[str, Any] = field(default_factory=dict)
    """The options that say what it was trained on, and what it began with."""
    options: dict[str, Any] = field(default_factory=dict)
    """All options of its training."""
    scores: dict[str, Any] = field(default_factory=dict)
    """What its training found out in the end, by names such as ``test.bleu.value``."""
    config: dict[str, Any] = field(default_factory=dict)
    """What its `config.json` says of model and task."""


def provenance(task: Task, run: str | os.PathLike[str] | None = None) -> Provenance:
    """Where a task comes from.

    Args:
        task: the task.
        run: the folder that it was loaded from: of a training command's run, or of `save`.

    Raises:
        ValueError: when a file of the run cannot be read.

    >>> translator = Translator.load("runs/translate")  # doctest: +SKIP
    >>> provenance(translator, "runs/translate").scores["test.bleu.value"]  # doctest: +SKIP
    98.7
    """
    found = {
        "task": type(task).__name__,
        "precision": task.model.dtype_policy.name,
        "parameters": task.model.count_params(),
        "versions": versions_in_use(),
        "commit": commit_of_this_code(),
    }
    if run is None:
        return Provenance(**found)
    run = Path(run)
    options = _mapping(run / "options.yaml")
    report = _mapping(run / REPORT_FILE)
    return Provenance(
        **found,
        trained_commit=report.get("commit"),
        trained_versions=report.get("versions") or {},
        run=str(run),
        weights_sha256=_sha256(run / WEIGHTS_FILE),
        data={name: options[name] for name in DATA_OPTIONS if _says_something(options.get(name))},
        options=options,
        scores=dict(_flat(_mapping(run / "results.json"))),
        config={k: v for k, v in _mapping(run / CONFIG_FILE).items() if k != "task"},
    )


def _mapping(file: Path) -> dict[str, Any]:
    """What a JSON or YAML file of a run says; nothing where there is none."""
    if not file.is_file():
        return {}
    try:
        text = file.read_text(encoding="utf-8")
        found = yaml.safe_load(text) if file.suffix == ".yaml" else json.loads(text)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        reason = str(error).split("\n")[0]
        raise ValueError(f"{file} cannot be read: {reason}.") from None
    if not isinstance(found, dict):
        raise ValueError(f"{file} must hold named values, not a {type(found).__name__}.")
    return found


def _says_something(value: Any) -> bool:
    return value not in (None, False, [], {})


def _flat(values: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Numbers and texts by the way to them; the course of a training (lists) is left out."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        elif isinstance(value, str | int | float):
            yield f"{before}{name}", value


def _sha256(file: Path) -> str | None:
    if not file.is_file():
        return None
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
