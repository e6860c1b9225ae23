"""Learning-rate schedules with a linear warm-up.

All count updates from one: the first update (Keras' step 0) already has a positive rate, update
number `warmup_steps` (step `warmup_steps - 1`) has the peak, and the decay follows from there.
Steps may be ints or tensors of any integer or float dtype; the rate is a float32 tensor.
"""

import math
from typing import Any

import keras
from keras import ops


class _WarmupSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Linear from `peak / warmup_steps` to `peak`, then `peak * decay(updates)`."""

    def __init__(self, peak: float, warmup_steps: int):
        if not (math.isfinite(peak) and peak > 0):
            raise ValueError(f"peak must be a positive learning rate, got {peak}.")
        if warmup_steps < 0:
            raise ValueError(f"warmup_steps must be at least 0, got {warmup_steps}.")
        self.peak = float(peak)
        self.warmup_steps = int(warmup_steps)

    def __call__(self, step) -> Any:
        """The rate of the update that follows `step` finished updates, float32."""
        updates = ops.cast(step, "float32") + 1.0
        warmup = ops.minimum(1.0, updates / max(self.warmup_steps, 1))
        return self.peak * ops.where(updates < self.warmup_steps, warmup, self.decay(updates))

    def decay(self, updates) -> Any:
        """The share of the peak at update number `updates` >= `warmup_steps`, at most 1."""
        raise NotImplementedError

    def get_config(self) -> dict:
        """The constructor's arguments."""
        return {"peak": self.peak, "warmup_steps": self.warmup_steps}


class _DecayToEnd(_WarmupSchedule):
    """A warm-up and a decay that ends at update number `total_steps`."""

    def __init__(self, peak: float, warmup_steps: int, total_steps: int, end: float = 0.0):
        super().__init__(peak, warmup_steps)
        if total_steps <= warmup_steps:
            raise ValueError(
                f"total_steps must be more than warmup_steps ({warmup_steps}), got {total_steps}."
            )
        if not 0 <= end <= peak:
            raise ValueError(f"end must be between 0 and peak ({peak}), got {end}.")
        self.total_steps = int(total_steps)
        self.end = float(end)

    def decay(self, updates):
        """From 1 at the peak to `end / peak` one update after the last, and there it stays."""
        # The last update, number total_steps, still learns: zero is reached just after it.
        start = max(self.warmup_steps, 1)
        done = ops.clip((updates - start) / (self.total_steps + 1 - start), 0.0, 1.0)
        end = self.end / self.peak
        return end + (1.0 - end) * self.shape(done)

    def shape(self, done) -> Any:
        """The curve, from 1 at `done` = 0 to 0 at `done` = 1."""
        raise NotImplementedError

    def get_config(self) -> dict:
        """The constructor's arguments."""
        return {**super().get_config(), "total_steps": self.total_steps, "end": self.end}


@keras.saving.register_keras_serializable(package="keras_transformer")
class InverseSquareRootSchedule(_WarmupSchedule):
    """Linear warm-up, then proportional to `1 / sqrt(updates)`.

    The schedule of "Attention Is All You Need" (Vaswani et al. 2017, section 5.3), whose formula
    `hidden_size ** -0.5 * min(n ** -0.5, n * warmup_steps ** -1.5)` has the peak
    `(hidden_size * warmup_steps) ** -0.5`; see `from_hidden_size`.

    Args:
        peak: the highest rate, that of update number `warmup_steps`.
        warmup_steps: updates until the peak; 0 starts at the peak.

    Raises:
        ValueError: for a peak that is not positive, or negative warm-up.

    >>> schedule = InverseSquareRootSchedule(peak=1e-3, warmup_steps=4)
    >>> [round(float(schedule(step)), 6) for step in (0, 3, 15)]
    [0.00025, 0.001, 0.0005]
    """

    @classmethod
    def from_hidden_size(
        cls, hidden_size: int, warmup_steps: int = 4000, factor: float = 1.0
    ) -> "InverseSquareRootSchedule":
        """The paper's own formula, times `factor`."""
        return cls(factor * (hidden_size * max(warmup_steps, 1)) ** -0.5, warmup_steps)

    def decay(self, updates):
        """sqrt(warm-up / updates)."""
        return ops.sqrt(max(self.warmup_steps, 1) / updates)


@keras.saving.register_keras_serializable(package="keras_transformer")
class LinearSchedule(_DecayToEnd):
    """Linear warm-up, then linear to `end` (BERT: Devlin et al. 2019, appendix A.2).

    Args:
        peak: the highest rate, that of update number `warmup_steps`.
        warmup_steps: updates until the peak; 0 starts at the peak.
        total_steps: updates of the whole training; the last one still has a positive rate.
        end: the rate after it.

    Raises:
        ValueError: for a peak that is not positive, a warm-up that is negative or leaves no
            update for the decay, or an end outside [0, peak].

    >>> schedule = LinearSchedule(peak=1.0, warmup_steps=2, total_steps=5)
    >>> [float(schedule(step)) for step in range(6)]
    [0.5, 1.0, 0.75, 0.5, 0.25, 0.0]
    """

    def shape(self, done):
        """A line."""
        return 1.0 - done


@keras.saving.register_keras_serializable(package="keras_transformer")
class CosineSchedule(_DecayToEnd):
    """Linear warm-up, then half a cosine to `end` (SGDR: Loshchilov and Hutter 2017, section 3).

    Args:
        peak: the highest rate, that of update number `warmup_steps`.
        warmup_steps: updates until the peak; 0 starts at the peak.
        total_steps: updates of the whole training; the last one still has a positive rate.
        end: the rate after it.

    Raises:
        ValueError: as `LinearSchedule`.

    >>> schedule = CosineSchedule(peak=1.0, warmup_steps=1, total_steps=2)
    >>> [round(float(schedule(step)), 4) for step in range(3)]
    [1.0, 0.5, 0.0]
    """

    def shape(self, done):
        """Half a cosine."""
        return 0.5 * (1.0 + ops.cos(math.pi * done))
