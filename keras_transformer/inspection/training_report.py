"""What a training did, as JSON and as a page in its folder, written while it goes on."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self

import keras
import tensorflow as tf

from keras_transformer.inspection.data_counts import data_counts
from keras_transformer.inspection.report_callback import ReportCallback
from keras_transformer.inspection.report_page import report_page
from keras_transformer.serving.provenance import REPORT_FILE
from keras_transformer.text.files import write_atomically
from keras_transformer.training import updates_made
from keras_transformer.training.distribution import is_chief
from keras_transformer.versions import commit_of_this_code, versions_in_use

JSON_FILE, PAGE_FILE = REPORT_FILE, "report.html"
FORMAT = 1
OBJECTS, LISTS = ("model", "versions", "options", "data", "scores"), ("epochs", "within", "samples")
TEXTS, OTHERS = ("title", "state"), ("devices", "score", "updated", "commit")
MOST_SAMPLES = 400  # made during a training: of more, every other one goes

State = Literal["running", "done", "stopped", "failed"]


class TrainingReport:
    """Keeps `report.json` and `report.html` in a run's folder; `fit` takes its `callback`.

    The page needs no other file. Both are written when the training begins, after epochs and every
    15 seconds, each under a temporary name that is then renamed: a run that is killed has them,
    too. A run that is resumed goes on with them, without what was done after its checkpoint. Of
    several workers only the chief writes.

    Args:
        folder: of the run.
        title: what the page calls it; the folder by default.
        command: what trains.

    Example:
        >>> report = TrainingReport("runs/mine")
        >>> report.add_data("train", pairs.check())  # doctest: +SKIP
        >>> with report:  # doctest: +SKIP
        ...     report.begin(model)
        ...     model.fit(dataset, callbacks=[Throughput(), report.callback()])
        ...     report.finish({"accuracy": 0.9})
    """

    def __init__(
        self, folder: str | os.PathLike[str], title: str | None = None, command: str | None = None
    ):
        self.folder = Path(folder)
        self.facts: dict[str, Any] = {
            "format": FORMAT,
            "title": title or str(folder),
            "command": command,
            "state": "running",
            "message": "",
            "started": None,
            "resumed": [],
            "updated": None,
            "model": {},
            "devices": [],
            "versions": versions_in_use(),
            "commit": commit_of_this_code(),
            "options": {},
            "data": {},
            "score": None,
            "epochs": [],
            "within": [],
            "scores": {},
            "samples": [],
        }
        """What `report.json` holds."""
        self._writes = False  # not before the training begins

    def add_data(self, split: str, counts: Any) -> None:
        """Adds what became of the data of a split (train, valid, test).

        Args:
            split: its name.
            counts: a source's `check()`, or the `report` of batches; see `data_counts`.
        """
        self.facts["data"].setdefault(split, {}).update(data_counts(counts))

    def add_sample(self, texts: Mapping[str, str], updates: int | None = None) -> None:
        """Adds what the model makes of a text.

        Args:
            texts: name -> text, as in {"source": "...", "model": "...", "reference": "..."}.
            updates: those that the model had had; None for the finished one.
        """
        self.facts["samples"].append({"updates": updates, "texts": dict(texts)})
        during = [sample for sample in self.facts["samples"] if sample["updates"] is not None]
        if len(during) > MOST_SAMPLES:
            others = [sample for sample in self.facts["samples"] if sample["updates"] is None]
            self.facts["samples"] = [*during[::2], *others]

    def begin(
        self,
        model: keras.Model,
        options: Mapping[str, Any] | None = None,
        score: tuple[str, str] | None = None,
        resume: bool = False,
    ) -> None:
        """Writes the report for the first time, just before `fit`.

        Args:
            model: built and compiled.
            options: of the training, by name, as JSON has them.
            score: name in the epochs' logs that picks the best weights, and "max" or "min".
            resume: go on with the report in the folder, as far as the model's updates go.
        """
        facts, now = self.facts, _now()
        facts["started"] = now
        facts["model"] = describe_model(model)
        facts["devices"] = describe_devices(model)
        facts["options"] = dict(options or {})
        facts["score"] = dict(zip(("name", "mode"), score, strict=True)) if score else None
        if resume and (self.folder / JSON_FILE).is_file():
            earlier = read_report(self.folder)
            updates = updates_made(model)
            facts["started"] = earlier["started"]
            facts["resumed"] = [*earlier["resumed"], now]
            for name in ("epochs", "within"):
                facts[name] = [row for row in earlier[name] if row["updates"] <= updates]
            facts["samples"] = [
                sample
                for sample in earlier["samples"]
                if sample["updates"] is not None and sample["updates"] <= updates
            ]
        self._writes = is_chief(model.distribute_strategy)
        self.write()

    def callback(self, interval: float = 2.0) -> keras.callbacks.Callback:
        """What tells the report of `fit`; put it behind `Throughput` and `ScoreCallback`.

        Args:
            interval: seconds between two points within an epoch; doubled where they become many.
        """
        return ReportCallback(self, interval)

    def finish(self, scores: Mapping[str, Any], samples: Iterable[Mapping[str, str]] = ()) -> None:
        """Writes what came out: the training is done.

        Args:
            scores: numbers and texts by name; those in mappings have their names before them.
            samples: what the model makes of some texts, as `add_sample` takes them.
        """
        self.facts["scores"] = dict(scores)
        for sample in samples:
            self.add_sample(sample)
        self.end("done")

    def end(self, state: State, message: str = "") -> None:
        """Notes how a training ended; one that never began leaves no report."""
        self.facts["state"], self.facts["message"] = state, message
        self.write()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: Any) -> None:
        """Notes what ended a training that did not finish."""
        if kind is None or self.facts["state"] != "running":
            return
        stopped = issubclass(kind, SystemExit | KeyboardInterrupt)
        with suppress(OSError):  # a full disk may be what ended it
            self.end("stopped" if stopped else "failed", str(error) or kind.__name__)

    def write(self) -> None:
        """Writes both files, if the training has begun and this worker is the one to write."""
        if not self._writes:
            return
        self.facts["updated"] = _now()
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(_plain(self.facts), indent=1, ensure_ascii=False)
        write_atomically(self.folder / JSON_FILE, text.encode() + b"\n")
        write_atomically(self.folder / PAGE_FILE, report_page(self.facts).encode())


def read_report(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """What the report of a run says, as `TrainingReport.facts` has it.

    Args:
        folder: of the run.

    Raises:
        ValueError: when there is no report, or its file cannot be read or lacks a part.

    >>> read_report("runs/none")
    Traceback (most recent call last):
    ValueError: runs/none has no report.json: give the folder of a run that wrote one.
    """
    file = Path(folder, JSON_FILE)
    if not file.is_file():
        raise ValueError(f"{folder} has no {JSON_FILE}: give the folder of a run that wrote one.")
    try:
        facts = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{file} cannot be read: {error}.") from None
    found = facts.get("format") if isinstance(facts, dict) else None
    if found != FORMAT:
        raise ValueError(f"{file} has the format {found!r}; this version reads {FORMAT}.")
    for name in TEXTS:
        if not isinstance(facts.get(name), str):
            raise ValueError(f"{file} is damaged: {name} is {str(facts.get(name))[:60]!r}.")
    if lost := [name for name in OTHERS if name not in facts]:
        raise ValueError(f"{file} is damaged: it has no {lost[0]}.")
    for name in (*OBJECTS, *LISTS):
        part = facts.get(name)
        rows = part if isinstance(part, list) and name in LISTS else [part]
        if not all(isinstance(row, dict) for row in rows):
            raise ValueError(f"{file} is damaged: {name} is {str(part)[:60]!r}.")
    return facts


def describe_model(model: keras.Model) -> dict[str, Any]:
    """Class, number of weights, precision and configuration of a model.

    >>> describe_model(keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]))["parameters"]
    3
    """
    about = {
        "class": type(model).__name__,
        "parameters": model.count_params(),
        "precision": model.dtype_policy.name,
    }
    encoder = getattr(model, "bert", model)  # which the models of BERT's tasks hold
    if hasattr(config := getattr(encoder, "config", None), "to_dict"):
        about["config"] = config.to_dict()
    return about


def describe_devices(model: keras.Model) -> list[str]:
    """What a model is trained on, as in "2 x NVIDIA H200"."""
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        name = tf.config.experimental.get_device_details(gpus[0]).get("device_name", "GPU")
        devices = [f"{len(gpus)} x {name}"]
    else:
        has_affinity = hasattr(os, "sched_getaffinity")
        cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count()
        devices = [f"CPU, {cores} core{'' if cores == 1 else 's'}"]
    replicas = model.distribute_strategy.num_replicas_in_sync
    return devices if replicas == 1 else [*devices, f"{replicas} replicas"]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _plain(value: Any) -> Any:
    """The same as JSON has it: numbers that are infinite, or none, become null."""
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
