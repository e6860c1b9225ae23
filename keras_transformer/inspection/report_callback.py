"""What `fit` tells the report of a training."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Protocol

import keras

from keras_transformer.training import updates_made

MOST_WITHIN = 400  # points within epochs: of more, every other one goes


class Report(Protocol):
    """The part of a `TrainingReport` that the callback fills."""

    facts: dict[str, Any]

    def write(self) -> None:
        """Writes the files."""


class ReportCallback(keras.callbacks.Callback):
    """Notes each epoch's logs, and now and then the loss within one."""

    least = 5.0  # seconds between two writes, where epochs are short

    def __init__(self, report: Report, interval: float):
        super().__init__()
        self._report, self._interval = report, interval

    def on_train_begin(self, logs=None) -> None:
        """Start the watch, with the time of earlier runs."""
        epochs = self._report.facts["epochs"]
        earlier = epochs[-1]["seconds"] if epochs else 0.0
        self._begin = time.monotonic() - earlier
        self._noted = self._written = time.monotonic()

    def on_epoch_begin(self, epoch: int, logs=None) -> None:
        """Know the epoch."""
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        """Note the loss, the mean of the epoch so far, when it is time."""
        now = time.monotonic()
        if now - self._noted < self._interval:
            return
        self._noted = now
        within = self._report.facts["within"]
        within.append(self._row({"loss": (logs or {}).get("loss")}))
        if len(within) > MOST_WITHIN:
            del within[::2]
            self._interval *= 2
        self._write(now)

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        """Note the epoch's numbers."""
        epochs = self._report.facts["epochs"]
        # An earlier run may have reached its limit within this epoch.
        epochs[:] = [row for row in epochs if row["epoch"] <= epoch]
        epochs.append(self._row(logs or {}))
        self._noted = now = time.monotonic()
        if now - self._written >= self.least or len(epochs) == 1:
            self._write(now)

    def on_train_end(self, logs=None) -> None:
        """Write what was noted."""
        self._report.write()

    def _row(self, logs: Mapping[str, Any]) -> dict[str, Any]:
        numbers = {name: float(value) for name, value in logs.items() if value is not None}
        return {
            "epoch": self._epoch + 1,
            "updates": updates_made(self.model),
            "seconds": round(time.monotonic() - self._begin, 2),
            **numbers,
        }

    def _write(self, now: float) -> None:
        self._written = now
        self._report.write()
