"""A training that goes astray ends at once, and nothing of it takes the place of what was good."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

import keras
import numpy as np

from keras_transformer.training.checkpoint_files import Named, named_arrays
from keras_transformer.training.optimizers import updates_made

_REMEDIES = "A lower learning rate, a longer warm-up or a smaller bound on the gradient may help."


class TrainingDiverged(ValueError):
    """Loss or weights are no finite numbers any more, or the loss has exploded."""


class Checkpoints(Protocol):
    """The part of a `TrainingCheckpoint` that says where a training is, and what is kept of it."""

    skipped: int
    """Batches of this epoch that an earlier run has seen."""

    def paths(self) -> list[Path]:
        """The checkpoint files, oldest first."""


class StopOnDivergence(keras.callbacks.Callback):
    """Ends a training by `TrainingDiverged` when its loss is no finite number, or explodes.

    The message has the update, the batch that the loss is of (the same numbers bring it back from
    a data set whose order follows from its clock) and the last checkpoint. Put it before the
    `TrainingCheckpoint` in the list, which by itself refuses weights that are not finite: then
    neither what led astray nor what it led to is kept.

    A loss has exploded when that of `in_a_row` batches one after the other is more than `factor`
    times that of the first batch of the run (or more than `factor`, where that was less than 1).
    One bad batch does not end a training.

    Args:
        checkpoint: the `TrainingCheckpoint` of this training, for the message and to count batches
            of a resumed epoch; None without one.
        factor: growth of the loss that is an explosion; `math.inf` for none.
        in_a_row: batches that must show it.

    Raises:
        ValueError: for a factor of at most 1, or less than one batch.

    >>> guard = StopOnDivergence(factor=100)
    """

    def __init__(
        self, checkpoint: Checkpoints | None = None, factor: float = 100.0, in_a_row: int = 3
    ):
        super().__init__()
        if not factor > 1:
            raise ValueError(f"factor must be more than 1, got {factor}.")
        if in_a_row < 1:
            raise ValueError(f"in_a_row must be at least 1, got {in_a_row}.")
        self.checkpoint = checkpoint
        self.factor = float(factor)
        self.in_a_row = in_a_row

    def on_train_begin(self, logs=None) -> None:
        """Forget an earlier training."""
        self._first: float | None = None  # loss of the run's first batch
        self._over = 0  # batches in a row whose loss has exploded

    def on_epoch_begin(self, epoch: int, logs=None) -> None:
        """Begin a new mean of the loss."""
        self._epoch = epoch
        self._mean: float | None = None

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        """Look at the loss, of which `fit` tells the mean over the epoch so far."""
        if "loss" not in (logs or {}):
            return
        mean, before = float(logs["loss"]), self._mean
        skipped = 0 if self.checkpoint is None else self.checkpoint.skipped
        if not math.isfinite(mean):
            raise TrainingDiverged(f"The loss is {mean} after {self._place(skipped + batch)}")
        # What the batch adds to the mean, as if all batches had as many rows: good enough, since
        # it is the order of magnitude that counts. A resumed epoch begins with the mean it had.
        loss = mean if before is None else before + (mean - before) * (skipped + batch + 1)
        self._mean = mean
        if self._first is None:
            self._first = loss
        limit = self.factor * max(self._first, 1.0)
        self._over = self._over + 1 if loss > limit else 0
        if self._over >= self.in_a_row:
            raise TrainingDiverged(
                f"The loss has exploded: {self._over} batches in a row have one of more than "
                f"{limit:.4g}, {self.factor:g} times that at the beginning, up to "
                f"{self._place(skipped + batch)}"
            )

    def _place(self, batch: int) -> str:
        """Where the training is, and what to do; ends the sentence."""
        place = describe_place(self.model, self._epoch, batch, self.params.get("steps"))
        return f"{place}. {last_checkpoint(self.checkpoint)} {_REMEDIES}"


def check_finite(arrays: Iterable[Named], when: str) -> None:
    """Refuses weights, and what an optimizer keeps beside them, that are no finite numbers.

    Args:
        arrays: names and values.
        when: where the training is; ends the sentence.

    Raises:
        TrainingDiverged: with the name of the first that is not finite.

    >>> check_finite([("dense/kernel", np.array([1.0, np.nan]))], "after update 7.")
    Traceback (most recent call last):
    keras_transformer.training.divergence.TrainingDiverged: dense/kernel is not finite after ...
    """
    for name, value in arrays:
        # NumPy does not know bfloat16, which is of kind "V".
        floats = value.astype(np.float32) if value.dtype.kind == "V" else value
        if floats.dtype.kind == "f" and not np.isfinite(floats).all():
            raise TrainingDiverged(f"{name} is not finite {when} {_REMEDIES}")


def check_finite_weights(model: keras.Model) -> None:
    """Refuses a model whose weights are no finite numbers, before it is scored or kept.

    Raises:
        TrainingDiverged: with the name of the first that is not finite.
    """
    update = updates_made(model)
    check_finite(named_arrays(model.weights), f"after update {update:,}.")


def describe_place(model: keras.Model, epoch: int, batch: int, batches: int | None) -> str:
    """Update, epoch and batch, all counted from 1.

    Args:
        model: compiled.
        epoch: counted from 0.
        batch: of the epoch, counted from 0.
        batches: of an epoch, if known.
    """
    of_all = f" of {batches:,}" if batches else ""
    update = updates_made(model)
    return f"update {update:,}, which is batch {batch + 1:,}{of_all} of epoch {epoch + 1:,}"


def last_checkpoint(checkpoint: Checkpoints | None) -> str:
    """A sentence on what can be gone on with."""
    paths = [] if checkpoint is None else checkpoint.paths()
    return f"The last good checkpoint is {paths[-1]}." if paths else "There is no checkpoint yet."
