"""Early stopping and the best weights by a score that only the finished model can give."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import keras

from keras_transformer.training.averaging import averaged_weights
from keras_transformer.training.distribution import of_chief
from keras_transformer.training.divergence import check_finite_weights


class ScoreCallback(keras.callbacks.Callback):
    """Scores the model (BLEU of translations, say) and keeps the weights that were best.

    The score goes into the epoch's logs under `name`, where callbacks later in the list, the
    history and TensorBoard find it; a `TrainingCheckpoint` that tracks this callback restores its
    memory. An epoch cut short by a limit is scored too.

    Args:
        score: called with the model, gives a finite number.
        every: epochs between two scores.
        name: name in the logs.
        mode: "max" or "min": which score is best.
        patience: scores in a row without a new best after which training stops; None for never.
        restore_best: give the model the best weights when training ends.
        average: score (and keep) the running mean of the weights; needs `adamw(ema=...)`.

    Raises:
        ValueError: for arguments out of range, or when a score, the loss or a weight is not finite.

    >>> bleu = ScoreCallback(lambda model: 12.5, name="bleu", patience=3)
    """

    def __init__(
        self,
        score: Callable[[keras.Model], float],
        every: int = 1,
        name: str = "bleu",
        mode: str = "max",
        patience: int | None = None,
        restore_best: bool = True,
        average: bool = False,
    ):
        super().__init__()
        if every < 1:
            raise ValueError(f"every must be at least 1, got {every}.")
        if patience is not None and patience < 1:
            raise ValueError(f"patience must be at least 1 or None, got {patience}.")
        if mode not in ("min", "max"):
            raise ValueError(f'mode must be "min" or "max", got {mode!r}.')
        self.score = score
        self.every = every
        self.name = name
        self.mode = mode
        self.patience = patience
        self.restore_best = restore_best
        self.average = average
        self._forget()

    def _forget(self) -> None:
        self.history: list[tuple[int, float]] = []  # (epoch, score)
        self.best: float | None = None
        self.best_epoch: int | None = None
        self.best_weights: list | None = None
        self.stopped_early = False
        self._since_best = 0

    def is_over(self, model: keras.Model) -> bool:
        """Whether patience is at an end."""
        return self.patience is not None and self._since_best >= self.patience

    def on_train_begin(self, logs=None) -> None:
        """Begin anew."""
        self._forget()

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        """Score, compare, and stop when patience is over."""
        if not math.isfinite(loss := (logs or {}).get("loss", 0.0)):
            raise ValueError(
                f"The loss of epoch {epoch + 1} is {loss}: training went astray. A lower learning "
                "rate, a longer warm-up or a smaller bound on the gradient may help."
            )
        if (epoch + 1) % self.every and not self.model.stop_training and not self._is_last(epoch):
            return
        with averaged_weights(self.model) if self.average else nullcontext():
            check_finite_weights(self.model)  # they could have a score, and be the best ones
            # Workers that computed it differently in the last bit would part ways.
            score = of_chief(float(self.score(self.model)), self.model.distribute_strategy)
            if not math.isfinite(score):
                raise ValueError(f"The score {self.name} of epoch {epoch + 1} is {score}.")
            self.history.append((epoch, score))
            sign = 1 if self.mode == "max" else -1
            if self.best is None or sign * score > sign * self.best:
                self.best, self.best_epoch, self._since_best = score, epoch, 0
                if self.restore_best:
                    self.best_weights = self.model.get_weights()
            else:
                self._since_best += 1
        if logs is not None:
            logs[self.name] = score
        if self.is_over(self.model):
            self.stopped_early = self.model.stop_training = True

    def on_train_end(self, logs=None) -> None:
        """Put the best weights into the model."""
        if self.restore_best and self.best_weights is not None:
            self.model.set_weights(self.best_weights)

    def _is_last(self, epoch: int) -> bool:
        return epoch + 1 == (self.params or {}).get("epochs")

    def training_state(self) -> dict[str, Any]:
        """The scores, and the best weights."""
        return {
            "history": list(self.history),
            "best": self.best,
            "best_epoch": self.best_epoch,
            "best_weights": self.best_weights,
            "since_best": self._since_best,
        }

    def set_training_state(self, state: dict[str, Any]) -> None:
        """Go on with the scores of earlier runs."""
        self.history = [(epoch, score) for epoch, score in state["history"]]
        self.best, self.best_epoch = state["best"], state["best_epoch"]
        self.best_weights, self._since_best = state["best_weights"], state["since_best"]
