"""Options that all training commands have."""

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from command_parser import flag

from keras_transformer.models.config import ModelConfig


@dataclass
class DeviceOptions:
    """What computes a training, how precisely, and how much of it is in memory at once."""

    precision: Literal["float32", "mixed_bfloat16", "mixed_float16"] | None = None
    """What layers compute in; weights, softmax and loss are float32 in any case. By default
    float32 for new models, and that of a pretrained one."""
    recompute: bool = False
    """Compute each layer twice in a training step instead of keeping what it made: less memory,
    more time, the same numbers."""
    checkpoint_every: int = 500
    """Batches between two checkpoints within a pass over the data; there is one after each pass,
    too."""
    strategy: Literal["auto", "one", "mirrored", "multiworker"] = "auto"
    """One device, all GPUs of this machine (mirrored), or those of all machines that TF_CONFIG
    names (multiworker). By default as many as there are."""
    virtual_devices: int | None = None
    """Makes so many devices of the CPU, to try --strategy mirrored without GPUs."""
    accumulate: int = 1
    """Parts that each batch is computed in, one after the other, which takes a part of the
    memory."""


@dataclass
class TrainingOptions:
    """How long and how fast to train, and where the run goes."""

    batch_size: int = 32
    """Rows of a batch."""
    schedule: Literal["inverse_sqrt", "linear", "cosine"] = "linear"
    """Course of the learning rate after the warm-up; linear and cosine end at 0 with the last
    update."""
    learning_rate: float = 1e-4
    """Peak rate, reached after the warm-up."""
    warmup_share: float = 0.1
    """Share of the updates until the peak rate."""
    weight_decay: float = 0.01
    """AdamW's weight decay, not applied to biases, norms and positions."""
    clip_norm: float = 1.0
    """Longest gradient over all variables."""
    epochs: int = 3
    """Passes over the data."""
    max_minutes: float | None = None
    """Training ends after so many minutes, over all resumed runs, wherever its schedule is."""
    max_steps: int | None = None
    """Training ends after so many updates, and the schedule with them."""
    seed: int = 1
    """Seed of the weights, the order of the data and dropout."""
    resume: bool = False
    """Go on with the run in --output, exactly where it stopped, with its options where none are
    given now."""
    output: str = "runs/model"
    """Folder for everything of the run."""
    export: str | None = None
    """Folder of the SavedModel, a sub-folder a version; by default one in saved_models/ with the
    name of --output."""


def check_limits(options: Any) -> None:
    """Refuses limits of a training that leave nothing to train."""
    for name in (
        "epochs",
        "max_steps",
        "max_minutes",
        "checkpoint_every",
        "accumulate",
        "virtual_devices",
    ):
        value = getattr(options, name)
        if value is not None and not value > 0:
            raise ValueError(f"--{name.replace('_', '-')} is {value:g}; it must be more than 0.")
    share = getattr(options, "warmup_share", 0.0)
    if not 0 <= share < 1:
        raise ValueError(f"--warmup-share is {share:g}; it must be from 0 to less than 1.")


def check_amounts(options: Any, most: Mapping[str, int]) -> None:
    """Refuses numbers, where they are given, that are less than 1 or more than can be.

    Args:
        options: of the command.
        most: name of an option -> the largest value that it can have.
    """
    for name, largest in most.items():
        value = getattr(options, name)
        if value is not None and value < 1:
            raise ValueError(f"{flag(name)} is {value}; it must be at least 1.")
        if value is not None and value > largest:
            raise ValueError(f"{flag(name)} is {value}; it must be at most {largest}.")


def check_finite(options: Any, names: Iterable[str]) -> None:
    """Refuses numbers that are infinite, or none."""
    for name in names:
        value = getattr(options, name)
        if not math.isfinite(value):
            raise ValueError(f"{flag(name)} is {value:g}; it must be finite.")


def export_folder(output: str) -> str:
    """Where a run's SavedModel goes by default.

    >>> export_folder("runs/sea"), export_folder("runs/sea/../hills")
    ('saved_models/sea', 'saved_models/hills')
    """
    return str(Path("saved_models", os.path.basename(os.path.abspath(output))))


def check_model_fields(config: type[ModelConfig], names: Iterable[str]) -> None:
    """Refuses a name in --model that the model's configuration does not have."""
    known = [field.name for field in fields(config)]
    for name in names:
        if name not in known:
            raise ValueError(f"--model has no field {name!r}; right are: {', '.join(known)}.")
