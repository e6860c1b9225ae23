"""Checkpoints from which a training goes on as if it had never stopped."""

import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.training.callback_state import check_resumable, get_state, set_state
from keras_transformer.training.checkpoint_files import (
    Checkpoint,
    Named,
    named_arrays,
    read_checkpoint,
)
from keras_transformer.training.checkpoint_folder import CheckpointFolder, file_name
from keras_transformer.training.checkpoint_variables import restore_variables
from keras_transformer.training.distribution import any_worker, is_chief, of_chief
from keras_transformer.training.divergence import (
    check_finite,
    describe_place,
    last_checkpoint,
)


class Clock(Protocol):
    """The part of a data set that says which batches its next iteration gives."""

    epoch: int
    """Number of the epoch, from which the order follows."""
    skip_batches: int
    """Batches at the beginning of that epoch to leave out."""


class TrainingCheckpoint(keras.callbacks.Callback):
    """Saves everything a training needs to go on exactly, and restores it.

    A file holds the weights, the optimizer's slots and step (its running mean of the weights
    included), the states of all dropout generators, the running metrics, the epoch and the batch
    in it, the best score and the memory of the tracked callbacks. A run that was killed and resumed
    ends with the weights of one that was not, to the last bit, provided that an epoch of `fit` is
    one pass over a data set that tells its length and whose order follows from its clock, and that
    all randomness in the model comes from Keras' seed generators.

    Files are written at the end of each epoch, every `every_steps` batches, and when another
    callback stops the training within an epoch (again after the scores of such an epoch, so that
    nothing of a run that reached its limit is lost); they appear whole or not at all. Weights that
    are not finite are never written. Put this callback last in the list, so that it sees what the
    others did. Of several workers only the chief writes; to go on, all of them read its folder, or
    a copy of it.

    Args:
        directory: where the files go; made when missing.
        clock: the data set's clock (`epoch`, `skip_batches`), set before each epoch. Without one,
            a run stopped within an epoch goes on with that epoch's first batch, and warns.
        track: callbacks whose memory is kept (early stopping, time limit): the same in each run.
        every_steps: batches between two files within an epoch; None for none.
        keep: number of latest files that stay.
        monitor: name in the epoch's logs whose best value's file stays too; None for none.
        mode: "min" or "max": which value of `monitor` is best.

    Raises:
        ValueError: for arguments out of range, or a callback that cannot be tracked.

    >>> checkpoint = TrainingCheckpoint("run/checkpoints", clock=data.clock)  # doctest: +SKIP
    >>> first = checkpoint.restore(model)  # 0 when there is nothing to resume  # doctest: +SKIP
    >>> model.fit(data, initial_epoch=first, epochs=9, callbacks=[checkpoint])  # doctest: +SKIP
    """

    def __init__(
        self,
        directory: str | PathLike,
        clock: Clock | None = None,
        track: Sequence[keras.callbacks.Callback] = (),
        every_steps: int | None = None,
        keep: int = 3,
        monitor: str | None = None,
        mode: str = "min",
    ):
        super().__init__()
        if every_steps is not None and every_steps < 1:
            raise ValueError(f"every_steps must be at least 1 or None, got {every_steps}.")
        if keep < 1:
            raise ValueError(f"keep must be at least 1, got {keep}.")
        if mode not in ("min", "max"):
            raise ValueError(f'mode must be "min" or "max", got {mode!r}.')
        for callback in track:
            check_resumable(callback)
        self.directory = Path(directory)
        self.clock = clock
        self.track = tuple(track)
        self.every_steps = every_steps
        self.monitor = monitor
        self.mode = mode
        self.best_score: float | None = None
        self.best_file: str | None = None
        self.skipped = 0  # batches of this epoch that an earlier run has seen
        self._folder = CheckpointFolder(self.directory, keep)
        self._restored: Checkpoint | None = None
        self._metrics_to_add: list[np.ndarray] = []
        self._epoch = 0
        self._batch = 0
        self._saved_at = 0  # batches of this epoch in the latest file
        self._stopped_within = False
        self._when_stopped: tuple[list[Named], list[dict]] = ([], [])  # metrics, callbacks

    # Restoring.

    def paths(self) -> list[Path]:
        """The checkpoint files, oldest first."""
        return self._folder.paths()

    def best_path(self) -> Path | None:
        """The file with the best value of `monitor`, or None."""
        return self.directory / self.best_file if self.best_file else None

    def restore(self, model: keras.Model, path: str | PathLike | None = None) -> int:
        """Bring a compiled, built model to the latest whole checkpoint, or to that in `path`.

        The tracked callbacks get their memory back too, so that they can be asked whether the
        training is over. The optimizer may have another learning rate or schedule than the saved
        one: then its own rate goes on from the saved step. The model may compute in another
        precision.

        Returns:
            The epoch to pass to `fit` as `initial_epoch`; 0 when there is no checkpoint.

        Raises:
            ValueError: when the model is not ready, or the file does not fit it or `track`, or
                when workers do not find the same.
        """
        saved = self._folder.newest() if path is None else read_checkpoint(path)
        self._check_same(saved, model.distribute_strategy)
        if saved is None:
            return 0
        path = saved.path
        if not (model.built and model.compiled):
            raise ValueError("restore needs a model that is built and compiled.")
        epoch, batch = saved.state["epoch"], saved.state["batch"]
        if len(saved.state["callbacks"]) != len(self.track):
            raise ValueError(
                f"{path}: holds the memory of {len(saved.state['callbacks'])} callbacks, but "
                f"`track` has {len(self.track)}; track those of the saved training."
            )
        if not model.optimizer.built:
            with model.distribute_strategy.scope():
                model.optimizer.build(model.trainable_variables)
        restore_variables(saved, model)
        if batch and self.clock is None:
            warnings.warn(
                f"{path}: was saved after batch {batch} of epoch {epoch}, but TrainingCheckpoint "
                "has no clock of the data set: the epoch begins again.",
                stacklevel=2,
            )
        self.best_score, self.best_file = saved.state["best_score"], saved.state["best_file"]
        if self.clock is not None:
            self.clock.epoch, self.clock.skip_batches = epoch, batch
        self._restored = saved
        self._remind(saved, at_end=True)
        return epoch

    def _check_same(self, saved: Checkpoint | None, strategy: tf.distribute.Strategy) -> None:
        """Refuses to go on where each worker would be at another place."""
        state = {"epoch": -1, "batch": -1} if saved is None else saved.state
        differs = [state[part] != of_chief(state[part], strategy) for part in ("epoch", "batch")]
        if any_worker(any(differs), strategy):
            raise ValueError(
                f"{self.directory}: the workers do not find the same checkpoint there; all must "
                "see the folder that the chief writes, or a copy of it."
            )

    def _remind(self, saved: Checkpoint, at_end: bool) -> None:
        """Gives the tracked callbacks their memory.

        `at_end`: also of what they did after the last batch of a run that reached its limit within
        an epoch. A run that goes on forgets that, as one without the limit would not have done it.
        """
        states = saved.state["callbacks"]
        if at_end and saved.state.get("callbacks_at_end"):
            states = saved.state["callbacks_at_end"]
        for callback, state in zip(self.track, states, strict=True):
            set_state(callback, state)

    def on_epoch_begin(self, epoch: int, logs=None) -> None:
        """Set the clock; take up the metrics that `fit` resets before its first epoch."""
        self._epoch, self.skipped = epoch, 0
        self._stopped_within = False
        saved, self._restored = self._restored, None
        if saved is not None:
            self._resume(saved, epoch)
        self._saved_at = self.skipped
        if self.clock is not None:
            # Keras makes the epoch's iterator just after this.
            self.clock.epoch, self.clock.skip_batches = epoch, self.skipped

    def on_train_begin(self, logs=None) -> None:
        """Give the others their memory, which they lose when `fit` begins; refuse some data."""
        self._folder.clean()
        if self._restored is not None:
            goes_on = self.params["epochs"] > self._restored.state["epoch"]
            self._remind(self._restored, at_end=not goes_on)
        # At the end of such data `fit` runs a step without a batch, which may or may not count as
        # one before it fails; and it takes the first epoch's number of batches for that of all.
        if self.clock is not None and self.params.get("steps") is None:
            raise ValueError(
                "A training that can be resumed exactly needs a data set that tells its length: "
                "apply tf.data.experimental.assert_cardinality(batches) to it."
            )

    def on_train_batch_begin(self, batch: int, logs=None) -> None:
        """End a resumed epoch after its last batch."""
        if self.skipped and self.skipped + batch >= self.params["steps"]:
            raise StopIteration  # what `fit` takes for the end of the data

    def _resume(self, saved: Checkpoint, epoch: int) -> None:
        if epoch != saved.state["epoch"]:
            raise ValueError(
                f"{saved.path}: goes on with epoch {saved.state['epoch']}, but fit begins with "
                f"{epoch}; pass what restore() returned as initial_epoch."
            )
        if self.clock is None or not saved.state["batch"]:
            return
        self.skipped = saved.state["batch"]
        # Compiled metrics come into being with the first batch: theirs are added after it.
        values = [np.asarray(value) for value in saved.arrays["metrics"]]
        variables = self.model.metrics_variables
        for variable, value in zip(variables, values, strict=False):
            variable.assign(value)
        self._metrics_to_add = values[len(variables) :]

    # Saving.

    def on_train_batch_end(self, batch: int, logs=None) -> None:
        """Save when it is time, or when another callback stops the training here."""
        if self._metrics_to_add:
            self._add_metrics()
        done = self.skipped + batch + 1
        self._batch = done - 1
        if done == self.params.get("steps"):
            return  # The epoch is over: saved at its end, after validation and scores.
        self._stopped_within = self.model.stop_training
        due = self.every_steps and done - self._saved_at >= self.every_steps
        if self._stopped_within or due:
            # Validation and scores will change these.
            self._when_stopped = (named_arrays(self.model.metrics_variables), self._states())
            self._save(self._epoch, done, *self._when_stopped)

    def on_epoch_end(self, epoch: int, logs=None) -> None:
        """Save the state after the epoch; after a part of one, add what the scores were."""
        if self._stopped_within:
            self._save(self._epoch, self._saved_at, *self._when_stopped, at_end=self._states())
            return
        if self.monitor is not None:
            self._judge(epoch, logs or {})
        self._save(epoch + 1, 0, [], self._states())

    def _states(self) -> list[dict[str, Any]]:
        return [get_state(callback) for callback in self.track]

    def _judge(self, epoch: int, logs: dict[str, float]) -> None:
        if self.monitor not in logs:
            return  # not every epoch is validated or scored
        score = float(logs[self.monitor])
        sign = 1 if self.mode == "max" else -1
        if self.best_score is None or sign * score > sign * self.best_score:
            self.best_score, self.best_file = score, file_name(epoch + 1, 0)

    def _save(
        self,
        epoch: int,
        batch: int,
        metrics: list[Named],
        callbacks: list[dict[str, Any]],
        at_end: list[dict[str, Any]] | None = None,
    ) -> None:
        state: dict[str, Any] = {
            "epoch": epoch,
            "batch": batch,
            "best_score": self.best_score,
            "best_file": self.best_file,
            "callbacks": callbacks,
            "callbacks_at_end": at_end,
        }
        groups = {
            "model": named_arrays(self.model.variables),
            "optimizer": named_arrays(self.model.optimizer.variables),
            "metrics": metrics,
        }
        self._check(groups)
        if is_chief(self.model.distribute_strategy):
            self._folder.write(epoch, batch, groups, state)
        self._saved_at = batch

    def _check(self, groups: dict[str, list[Named]]) -> None:
        """Refuses weights that are no numbers, before they take the place of good ones."""
        place = describe_place(self.model, self._epoch, self._batch, self.params.get("steps"))
        when = f"after {place}. {last_checkpoint(self)}"
        for group in ("model", "optimizer"):
            check_finite(groups[group], when)

    def _add_metrics(self) -> None:
        """Add the earlier batches of this epoch to metrics that now exist.

        Metric variables are sums (Keras adds them up over replicas): so they add up over runs.
        """
        variables = self.model.metrics_variables[-len(self._metrics_to_add) :]
        for variable, value in zip(variables, self._metrics_to_add, strict=True):
            variable.assign(keras.ops.convert_to_numpy(variable) + value)
        self._metrics_to_add = []


def load_weights(model: keras.Model, path: str | PathLike) -> None:
    """Give a built model the weights of a checkpoint file, for scoring or export.

    Raises:
        ValueError: when the file does not fit the model.

    >>> load_weights(model, checkpoint.best_path())  # doctest: +SKIP
    """
    values = read_checkpoint(path).variables("model", model.variables)
    for variable, value in zip(model.variables, values, strict=True):
        variable.assign(value)
