"""What training commands do around `fit`: schedule, limits, checkpoints, progress, results."""

import json
import math
import os
from pathlib import Path
from typing import Any

import command_line
import keras

from keras_transformer.tasks.task import check_export_folder
from keras_transformer.training import (
    CosineSchedule,
    InverseSquareRootSchedule,
    LinearSchedule,
    ScoreCallback,
    StepLimit,
    StopOnSignal,
    Throughput,
    TimeLimit,
    TrainingCheckpoint,
    TrainingInterrupted,
    TrainingProgress,
)


def check_folders(options: Any) -> None:
    """Refuses to write over a run, or to train what could not be exported in the end."""
    check_export_folder(options.export)
    if Path(options.output, "checkpoints").is_dir() and not options.resume:
        raise ValueError(
            f"{options.output} holds a run already: give --resume to go on with it, or another "
            "--output."
        )


def schedule(
    name: str, peak: float, warmup_steps: int, total_steps: int | None
) -> keras.optimizers.schedules.LearningRateSchedule:
    """The course of the learning rate by its name in the options."""
    if name == "inverse_sqrt":
        return InverseSquareRootSchedule(peak, warmup_steps)
    kind = {"linear": LinearSchedule, "cosine": CosineSchedule}[name]
    return kind(peak, warmup_steps, total_steps)


def fit(
    model: keras.Model,
    batches: Any,
    valid_batches: Any,
    options: Any,
    scoring: ScoreCallback | None = None,
) -> None:
    """Trains, or goes on training, and leaves the best weights in the model.

    Args:
        model: built and compiled.
        batches: has the `dataset` to train on and its `clock`.
        valid_batches: has the `dataset` to validate on.
        options: of the command: limits, `epochs`, `resume` and `output`.
        scoring: picks the best weights; without it the last ones stay.
    """
    run = Path(options.output)
    time_limit = TimeLimit(options.max_minutes or math.inf)
    limits = [time_limit, *([StepLimit(options.max_steps)] if options.max_steps else [])]
    scorers = [] if scoring is None else [scoring]
    checkpoint = TrainingCheckpoint(
        run / "checkpoints",
        clock=batches.clock,
        track=[*scorers, time_limit],
        every_steps=500,
        keep=2,
    )
    first_epoch = checkpoint.restore(model) if options.resume else 0
    # Only now is it sure that a resumed run goes with these options.
    command_line.write_options(options, run)
    over = any(callback.is_over(model) for callback in (*limits, *scorers))
    stop = StopOnSignal()
    try:
        model.fit(
            batches.dataset,
            validation_data=valid_batches.dataset,
            initial_epoch=first_epoch,
            epochs=first_epoch if over else options.epochs,
            verbose=0,
            shuffle=False,  # the batches are shuffled already
            callbacks=[
                stop,
                *limits,
                Throughput(),
                *scorers,
                keras.callbacks.TensorBoard(str(run / "tensorboard")),
                TrainingProgress(limits=tuple(limits)),
                checkpoint,
            ],
        )
    except TrainingInterrupted as interruption:
        raise SystemExit(f"{interruption} Nothing is lost: go on with --resume.") from None
    if stop.received is not None:  # in the last scores, with which training was over
        raise SystemExit(f"Stopped by {stop.received.name} after training: go on with --resume.")


def scores_by_epoch(scoring: ScoreCallback) -> list[tuple[int, float]]:
    """The validation scores, epochs counted from 1."""
    return [(epoch + 1, value) for epoch, value in scoring.history]


def write_json(value: object, path: Path) -> None:
    """A JSON file, written under a temporary name and renamed."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(temporary, path)
