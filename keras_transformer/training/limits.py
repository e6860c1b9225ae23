"""Callbacks that end a training in good order: after so many minutes, updates, or a signal."""

import signal
import sys
import threading
import time
from typing import Any

import keras

from keras_transformer.training.distribution import any_worker
from keras_transformer.training.optimizers import updates_made


class TimeLimit(keras.callbacks.Callback):
    """Stops at the end of the batch in which the time is up.

    Tracked by a `TrainingCheckpoint`, the time of earlier runs counts too.

    Args:
        minutes: time in `fit`, validation included; `math.inf` only measures it.

    Raises:
        ValueError: when not positive.

    >>> limit = TimeLimit(minutes=10)
    """

    def __init__(self, minutes: float):
        super().__init__()
        if not minutes > 0:
            raise ValueError(f"minutes must be positive, got {minutes}.")
        self.minutes = float(minutes)
        self.reached = False
        self._earlier = 0.0
        self._begin: float | None = None

    @property
    def seconds_used(self) -> float:
        """Seconds of training so far, over all runs."""
        running = 0.0 if self._begin is None else time.monotonic() - self._begin
        return self._earlier + running

    @property
    def seconds_left(self) -> float:
        """Seconds until the limit, at least 0."""
        return max(0.0, 60 * self.minutes - self.seconds_used)

    def is_over(self, model: keras.Model) -> bool:
        """Whether there is no time left to train the model."""
        return self.seconds_left == 0

    def on_train_begin(self, logs=None) -> None:
        """Start the watch."""
        self._begin = time.monotonic()

    def on_train_batch_end(self, batch: int, logs=None) -> None:
        """Stop when the time is up, on whichever worker."""
        if any_worker(self.is_over(self.model), self.model.distribute_strategy):
            self.reached = self.model.stop_training = True

    def on_train_end(self, logs=None) -> None:
        """Stop the watch."""
        self._earlier, self._begin = self.seconds_used, None

    def training_state(self) -> dict[str, Any]:
        """The time used."""
        return {"seconds": self.seconds_used}

    def set_training_state(self, state: dict[str, Any]) -> None:
        """Count the time of earlier runs."""
        self._earlier = state["seconds"]


class StepLimit(keras.callbacks.Callback):
    """Stops after a number of updates, those of earlier runs included.

    Args:
        steps: the optimizer's step to stop at.

    Raises:
        ValueError: when less than 1.

    >>> limit = StepLimit(100_000)
    """

    def __init__(self, steps: int):
        super().__init__()
        if steps < 1:
            raise ValueError(f"steps must be at least 1, got {steps}.")
        self.steps = int(steps)
        self.reached = False
        self._batches_left = 0

    def is_over(self, model: keras.Model) -> bool:
        """Whether the model has had all its updates."""
        return updates_made(model) >= self.steps

    def on_epoch_begin(self, epoch: int, logs=None) -> None:
        """Count from the optimizer's step."""
        self._batches_left = self.steps - updates_made(self.model)

    def on_train_batch_end(self, batch: int, logs=None) -> None:
        """Stop at the limit."""
        # A batch makes at most one update: only near the end is the device asked for its count.
        if batch + 1 >= self._batches_left and self.is_over(self.model):
            self.reached = self.model.stop_training = True


class TrainingInterrupted(SystemExit):
    """`StopOnSignal` ended a training; uncaught, it ends the process with its one sentence."""


class StopOnSignal(keras.callbacks.Callback):
    """Stops at the end of the batch after Ctrl-C or SIGTERM; a second signal acts at once.

    `fit` is left by `TrainingInterrupted`, without validation and scores, which take time and are
    no part of the training. A signal that comes within these waits for their end. With a
    `TrainingCheckpoint` later in the list, nothing is lost. A signal to one of several workers
    stops all of them. Outside the main thread, where Python has no signal handlers, it does
    nothing. An error in `fit`, which no callback is told of, leaves it listening: until a signal
    comes, or the next `fit`.

    Args:
        signals: the signals to act on.

    >>> stop = StopOnSignal()
    """

    def __init__(self, signals: tuple[signal.Signals, ...] = (signal.SIGINT, signal.SIGTERM)):
        super().__init__()
        self.signals = signals
        self.received: signal.Signals | None = None
        self._stopped = False
        self._previous: dict[signal.Signals, Any] = {}

    def on_train_begin(self, logs=None) -> None:
        """Listen."""
        self.received, self._stopped = None, False
        self._restore_handlers()  # of a `fit` that ended with an error
        if threading.current_thread() is threading.main_thread():
            self._previous = {
                number: signal.signal(number, self._receive) for number in self.signals
            }

    def _receive(self, number: int, frame) -> None:
        # An update may be half done here: only a note is made.
        self.received = signal.Signals(number)
        print(
            f"{self.received.name}: stopping after this batch (or validation); the next one acts "
            "at once.",
            file=sys.stderr,
            flush=True,
        )
        self._restore_handlers()

    def on_epoch_begin(self, epoch: int, logs=None) -> None:
        """Leave before the next epoch, if there was a signal in the validation or the scores."""
        self._stopped = self._was_received()
        self._leave()

    def on_train_batch_end(self, batch: int, logs=None) -> None:
        """Stop if there was a signal; callbacks later in the list still see the batch."""
        if self._was_received():
            self._stopped = self.model.stop_training = True

    def on_test_begin(self, logs=None) -> None:
        """Leave before validation."""
        self._leave()

    def on_epoch_end(self, epoch: int, logs=None) -> None:
        """Leave where there is no validation."""
        self._leave()

    def _was_received(self) -> bool:
        """Whether there was a signal; all workers are told which."""
        strategy = self.model.distribute_strategy
        if not any_worker(self.received is not None, strategy):
            return False
        told = [number for number in self.signals if any_worker(self.received == number, strategy)]
        self.received = told[-1]
        return True

    def _leave(self) -> None:
        if self._stopped:
            raise TrainingInterrupted(f"Training was stopped by {self.received.name}.")

    def on_train_end(self, logs=None) -> None:
        """Listen no more."""
        self._restore_handlers()

    def _restore_handlers(self) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous = {}
