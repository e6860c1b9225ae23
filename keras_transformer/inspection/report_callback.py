"""What `fit` tells the report of a training."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Protocol

import keras

from keras_transformer.training import updates_made
from keras_transformer.training.progress import estimate_tokens

MOST_WITHIN = 400  # points within epochs: of more, every other one goes


class Report(Protocol):
    """The part of a `TrainingReport` that the callback fills."""

    facts: dict[str, Any]

    def write(self) -> None:
        """Writes the files."""


class ReportCallback(keras.callbacks.Callback):
    """Notes each epoch's logs, and loss, learning rate and speed at points within epochs.

    Args:
        report: is given the numbers, and told to write them.
        interval: seconds between two points within an epoch, to begin with.
    """

    least = 5.0  # seconds between two writes after short epochs
    most = 15.0  # and within long ones

    def __init__(self, report: Report, interval: float):
        super().__init__()
        self._report, self._interval = report, interval

    def on_train_begin(self, logs=None) -> None:
        """Start the watch, with the time of earlier runs."""
        epochs = self._report.facts["epochs"]
        earlier = epochs[-1]["seconds"] if epochs else 0.0
        self._begin = time.monotonic() - earlier
        self._written = time.monotonic()

    def on_epoch_begin(self, epoch: int, logs=None) -> None:
        """Know the epoch."""
        self._epoch = epoch
        self._last: _Sums | None = None

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        """Note what it is like now, when it is time."""
        if not batch:  # in a resumed epoch its earlier batches are added to the sums after this one
            return
        now = time.monotonic()
        if self._last is None:
            self._last = _Sums(self.model, now)
        elif now - self._last.time >= self._interval:
            self._note(_Sums(self.model, now))
            if now - self._written >= self.most:
                self._write(now)

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        """Note the epoch's numbers."""
        epochs = self._report.facts["epochs"]
        # An earlier run may have reached its limit within this epoch.
        epochs[:] = [row for row in epochs if row["epoch"] <= epoch]
        epochs.append(self._row(logs or {}))
        now = time.monotonic()
        if now - self._written >= self.least or len(epochs) == 1:
            self._write(now)

    def on_train_end(self, logs=None) -> None:
        """Write what was noted."""
        self._report.write()

    def _note(self, sums: _Sums) -> None:
        within = self._report.facts["within"]
        within.append(self._row(sums.since(self._last)))
        if len(within) > MOST_WITHIN:
            del within[::2]
            self._interval *= 2
        self._last = sums

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


class _Sums:
    """What a model's metrics have added up in an epoch, on this worker.

    Two of them give the means between: Keras' loss of batches, each weighed by its rows, and tokens
    per second.
    """

    def __init__(self, model: keras.Model, now: float):
        self.time = now
        self._rate = float(keras.ops.convert_to_numpy(model.optimizer.learning_rate))
        self._tokens = estimate_tokens(model)
        self._loss = self._rows = 0.0
        for metric in model.metrics:
            if metric.name == "loss" and isinstance(metric, keras.metrics.Mean):
                local = model.distribute_strategy.experimental_local_results
                # The others do not ask now: what all workers have is not to be had.
                self._loss = float(sum(local(metric.total.value)))
                self._rows = float(sum(local(metric.count.value)))

    def since(self, last: _Sums) -> dict[str, float]:
        """The numbers of the time between."""
        numbers = {"learning_rate": self._rate}
        if self._rows > last._rows:
            numbers["loss"] = (self._loss - last._loss) / (self._rows - last._rows)
        if self._tokens is not None and last._tokens is not None:
            speed = (self._tokens - last._tokens) / (self.time - last.time)
            numbers["tokens_per_second"] = max(speed, 0.0)
        return numbers
