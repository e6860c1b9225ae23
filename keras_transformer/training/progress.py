"""How fast a training runs, how well, and how long it will take."""

import math
import time

import keras
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from keras_transformer.training.distribution import count_workers
from keras_transformer.training.limits import StepLimit, TimeLimit
from keras_transformer.training.metrics import TokenMean
from keras_transformer.training.optimizers import updates_made
from keras_transformer.training.terminal import Terminal, progress_bar


class Throughput(keras.callbacks.Callback):
    """Writes `tokens_per_second` and `learning_rate` into each epoch's logs.

    Put it before `keras.callbacks.TensorBoard` or `CSVLogger`, which then show them. Tokens are
    counted by one of this package's metrics in `compile(metrics=[TokenLoss()])`: real target
    tokens, padding not included. Validation time does not count.

    >>> callbacks = [Throughput(), keras.callbacks.TensorBoard("logs")]  # doctest: +SKIP
    """

    def on_epoch_begin(self, epoch: int, logs=None) -> None:
        """Start the watch."""
        self._begin = time.monotonic()
        self._tokens_at_begin = estimate_tokens(self.model) or 0.0  # not 0 in a resumed epoch
        self._rate: float | None = None

    def on_test_begin(self, logs=None) -> None:
        """Count before validation resets the metrics."""
        self._measure()

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        """Write the logs."""
        self._measure()
        if logs is not None:
            if self._rate is not None:
                logs["tokens_per_second"] = self._rate
            rate = self.model.optimizer.learning_rate
            logs["learning_rate"] = float(keras.ops.convert_to_numpy(rate))

    def _measure(self) -> None:
        if getattr(self, "_rate", 0.0) is not None:
            return  # measured already, or a validation outside of fit
        tokens = estimate_tokens(self.model)
        if tokens is not None:
            seconds = max(time.monotonic() - self._begin, 1e-9)
            self._rate = max(tokens - self._tokens_at_begin, 0.0) / seconds


class TrainingProgress(keras.callbacks.Callback):
    """Shows epoch, batch, loss, tokens per second and the time left; use with `fit(verbose=0)`.

    A bar in a terminal, else a plain line every `interval` seconds; and a line at each epoch's end.
    The length of an epoch is the data set's if it tells it, else that of the epoch before.

    Args:
        interval: seconds between two plain lines.
        limits: the `TimeLimit` and `StepLimit` of this training, which may end it sooner.
        console: a rich console; None for standard output.

    >>> progress = TrainingProgress(interval=30)
    """

    def __init__(
        self,
        interval: float = 10.0,
        limits: tuple[TimeLimit | StepLimit, ...] = (),
        console: Console | None = None,
    ):
        super().__init__()
        self.interval = float(interval)
        self.limits = tuple(limits)
        self.console = console or Terminal()
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._epoch_length: int | None = None

    def on_train_begin(self, logs=None) -> None:
        """Set up the bar."""
        self._batches = 0  # in all epochs of this run
        self._warm: tuple[float, int] | None = None  # when the first call was done; its batches
        self._epoch_length = self.params.get("steps")
        if self.console.is_terminal:
            text = TextColumn("{task.fields[text]}")
            self._bar = progress_bar(
                self.console, TextColumn("{task.description}"), BarColumn(), text
            )
            self._task = self._bar.add_task("", text="")
            self._bar.start()

    def on_epoch_begin(self, epoch: int, logs=None) -> None:
        """Begin the bar anew."""
        self._epoch = epoch
        self._in_epoch = 0
        self._shown = self._measured = time.monotonic()
        self._tokens = estimate_tokens(self.model)
        if self._bar is not None:
            self._bar.reset(self._task, description=self._name(), total=self._total(), text="")

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        """Show the state now and then."""
        self._batches += batch + 1 - self._in_epoch
        self._in_epoch = batch + 1
        now = time.monotonic()
        self._warm = self._warm or (now, self._batches)
        if now - self._shown >= (self.interval if self._bar is None else 0.5):
            self._show(now, logs or {})

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        """Show the epoch's numbers, those of validation among them."""
        self._epoch_length = self.params.get("steps") or self._in_epoch
        numbers = " ".join(f"{name} {value:.4g}" for name, value in (logs or {}).items())
        self._print(f"{self._name()} done: {self._in_epoch} batches {numbers}")

    def on_train_end(self, logs=None) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _show(self, now: float, logs: dict[str, float]) -> None:
        tokens = estimate_tokens(self.model)
        parts = [f"loss {logs['loss']:.4f}"] if "loss" in logs else []
        if tokens is not None and self._tokens is not None and tokens >= self._tokens:
            rate = (tokens - self._tokens) / max(now - self._measured, 1e-9)
            parts.append(f"{rate:,.0f} tokens/s")
        left = self._seconds_left(now)
        if left is not None:
            parts.append(f"{_clock(left)} left")
        self._shown = self._measured = now
        self._tokens = tokens
        if self._bar is not None:
            self._bar.update(self._task, completed=self._in_epoch, text="  ".join(parts))
            return
        total = self._total()
        of_total = f"/{total}" if total else ""
        self._print(f"{self._name()} batch {self._in_epoch}{of_total} " + " ".join(parts))

    def _print(self, line: str) -> None:
        self.console.print(line, soft_wrap=True, highlight=False)  # above the bar

    def _total(self) -> int | None:
        """Batches of this epoch, as far as a limit on the updates leaves them."""
        if not self._epoch_length:
            return None
        to_limits = [self._in_epoch + batches for batches in self._batches_to_limits()]
        return min([self._epoch_length, *to_limits])

    def _name(self) -> str:
        """Which epoch of how many, as far as a limit on the updates leaves them."""
        last = self.params["epochs"]
        if self._epoch_length:
            for batches in self._batches_to_limits():
                more = math.ceil((self._in_epoch + batches) / self._epoch_length)
                last = min(last, self._epoch + max(more, 1))
        return f"epoch {self._epoch + 1}/{last}"

    def _seconds_left(self, now: float) -> float | None:
        """The time to the end of the last epoch or the first limit, as far as they can be known."""
        ends = [limit.seconds_left for limit in self.limits if isinstance(limit, TimeLimit)]
        ends = [seconds for seconds in ends if seconds < math.inf]
        # The first call is left out: it takes the time of building the graph.
        begin, batches = self._warm or (now, self._batches)
        if self._batches > batches:
            per_batch = (now - begin) / (self._batches - batches)
            ends += [per_batch * left for left in self._batches_left()]
        return min(ends, default=None)

    def _batches_left(self) -> list[int]:
        """Batches to the step limit, and to the end of the last epoch."""
        left = self._batches_to_limits()
        if self._epoch_length:
            epochs = self.params["epochs"] - self._epoch
            left.append(max(epochs * self._epoch_length - self._in_epoch, 0))
        return left

    def _batches_to_limits(self) -> list[int]:
        """Batches to each limit on the updates."""
        optimizer = getattr(self.model.optimizer, "inner_optimizer", self.model.optimizer)
        every = getattr(optimizer, "gradient_accumulation_steps", None) or 1
        done = updates_made(self.model)
        return [
            (limit.steps - done) * every for limit in self.limits if isinstance(limit, StepLimit)
        ]


def count_tokens(model: keras.Model) -> float | None:
    """Real tokens that the model's token metrics have seen since their reset; None without one.

    All workers must ask.
    """
    metric = _token_metric(model)
    return None if metric is None else float(keras.ops.convert_to_numpy(metric.count))


def estimate_tokens(model: keras.Model) -> float | None:
    """The same from this worker's tokens, for when the others do not ask."""
    metric, strategy = _token_metric(model), model.distribute_strategy
    if metric is None:
        return None
    counts = strategy.experimental_local_results(metric.count.value)
    return float(sum(counts)) * count_workers(strategy)


def _token_metric(model: keras.Model) -> TokenMean | None:
    for metric in model.metrics:
        for part in (metric, *getattr(metric, "metrics", ())):
            if isinstance(part, TokenMean):
                return part
    return None


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}"
