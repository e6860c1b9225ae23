"""What training commands do around `fit`: schedule, limits, checkpoints, progress, report."""

import atexit
import dataclasses
import math
import os
import shutil
import signal
import sys
import tempfile
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import command_line
import keras
import tensorflow as tf
from run_folder import only_training_in, write_json
from waiting import CONSOLE, waiting

from keras_transformer.inspection.training_report import TrainingReport
from keras_transformer.models import recompute_layers
from keras_transformer.serving import export_for_serving
from keras_transformer.tasks import Task
from keras_transformer.training import (
    AccumulatedGradients,
    CosineSchedule,
    InverseSquareRootSchedule,
    LinearSchedule,
    ScoreCallback,
    StepLimit,
    StopOnDivergence,
    StopOnSignal,
    Throughput,
    TimeLimit,
    TrainingCheckpoint,
    TrainingInterrupted,
    TrainingProgress,
    set_seed,
)
from keras_transformer.training.distribution import (
    any_worker,
    count_workers,
    is_chief,
    lost_workers_explained,
    make_strategy,
    of_chief,
    wait_for_workers,
)


@contextmanager
def begin(options: Any) -> Iterator[TrainingReport]:
    """The scope of a training's devices, chance and precision; all of the command goes on in it.

    It gives the report of the run, which the command tells of its data and results.

    Of several workers only the chief reports and keeps what it writes. What the others print goes
    nowhere, and what they write to a temporary folder; a run that is resumed they copy there.
    """
    strategy = make_strategy(options.strategy, options.virtual_devices)
    if strategy.num_replicas_in_sync > 1:
        devices, workers = strategy.num_replicas_in_sync, count_workers(strategy)
        on = f" of {workers} workers" if workers > 1 else ""
        print(f"Training on {devices} devices{on}", flush=True)
    check_same_options(options, strategy)
    if not is_chief(strategy):
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (until the end of the process)
        own = Path(tempfile.mkdtemp(prefix="keras_transformer_worker_"))
        atexit.register(shutil.rmtree, own, ignore_errors=True)
        if options.resume:
            shutil.copytree(options.output, own / "run")
        options.output, options.export = str(own / "run"), str(own / "export")
    wait_for_workers(strategy)
    set_seed(options.seed)
    if options.precision is not None:
        keras.config.set_dtype_policy(options.precision)
    with only_training_in(options.output), strategy.scope(), lost_workers_explained(strategy):
        command = Path(sys.argv[0]).name
        with TrainingReport(options.output, command=command) as report:
            yield report
        wait_for_workers(strategy)  # one that leaves early looks to the others like a failure


def check_same_options(options: Any, strategy: tf.distribute.Strategy) -> None:
    """Refuses, on all workers, to train with workers that were given other options."""
    if count_workers(strategy) == 1:
        return
    given = {
        option.name: getattr(options, option.name)
        for option in dataclasses.fields(options)
        if option.name not in ("output", "export")  # which only the chief's are written to
    }

    def differs(value: Any) -> bool:
        number = float(zlib.crc32(repr(value).encode()))
        return any_worker(number != of_chief(number, strategy), strategy)

    if differs(given):
        flags = [f"--{name.replace('_', '-')}" for name, value in given.items() if differs(value)]
        raise ValueError(
            f"The workers were given different {' and '.join(flags)}; all need the same, or they "
            "would not train one model."
        )


def train_step(options: Any) -> AccumulatedGradients | None:
    """What `compile` is to train with."""
    return AccumulatedGradients(options.accumulate) if options.accumulate > 1 else None


def schedule(
    name: str, peak: float, warmup_steps: int, total_steps: int | None, end_share: float = 0.0
) -> keras.optimizers.schedules.LearningRateSchedule:
    """The course of the learning rate by its name in the options.

    Args:
        name: "inverse_sqrt", "linear" or "cosine".
        peak: the highest rate.
        warmup_steps: updates until the peak.
        total_steps: updates in all; inverse_sqrt has no use for it.
        end_share: share of the peak that linear and cosine end at.
    """
    if name == "inverse_sqrt":
        return InverseSquareRootSchedule(peak, warmup_steps)
    kind = {"linear": LinearSchedule, "cosine": CosineSchedule}[name]
    return kind(peak, warmup_steps, total_steps, end_share * peak)


def fit(
    model: keras.Model,
    batches: Any,
    valid_batches: Any,
    options: Any,
    report: TrainingReport,
    scoring: ScoreCallback | None = None,
    *,
    epochs: int | None = None,
    max_steps: int | None = None,
) -> None:
    """Trains, or goes on training, and leaves the best weights in the model.

    Args:
        model: built and compiled.
        batches: has the `dataset` to train on and its `clock`.
        valid_batches: has the `dataset` to validate on; None where `scoring` does.
        options: of the command: limits, `epochs`, `resume` and `output`.
        report: of the run.
        scoring: picks the best weights; without it the last ones stay.
        epochs: passes over the `dataset`, if not those of the options.
        max_steps: most updates, if not those of the options.
    """
    run = Path(options.output)
    if options.recompute:
        recompute_layers(model)
    epochs, max_steps = epochs or options.epochs, max_steps or options.max_steps
    time_limit = TimeLimit(options.max_minutes or math.inf)
    limits = [time_limit, *([StepLimit(max_steps)] if max_steps else [])]
    scorers = [] if scoring is None else [scoring]
    history = keras.callbacks.History()
    checkpoint = TrainingCheckpoint(
        run / "checkpoints",
        clock=batches.clock,
        track=[*scorers, time_limit, history],
        every_steps=options.checkpoint_every,
        keep=2,
    )
    first_epoch = checkpoint.restore(model) if options.resume else 0
    check_same_weights(model)
    # Only now is it sure that a resumed run goes with these options.
    command_line.write_options(options, run)
    score = None if scoring is None else (scoring.name, scoring.mode)
    report.begin(model, dataclasses.asdict(options), score, options.resume)
    over = any(callback.is_over(model) for callback in (*limits, *scorers))
    stop = StopOnSignal()
    # Keras warns of the part of an epoch with which a run goes on: it is shorter than the next.
    warnings.filterwarnings("ignore", "Your input ran out of data")
    try:
        model.fit(
            batches.dataset,
            validation_data=None if valid_batches is None else valid_batches.dataset,
            initial_epoch=first_epoch,
            epochs=first_epoch if over else epochs,
            verbose=0,
            shuffle=False,  # the batches are shuffled already
            callbacks=[
                stop,
                *limits,
                Throughput(),
                *scorers,
                keras.callbacks.TensorBoard(str(run / "tensorboard")),
                TrainingProgress(limits=tuple(limits), console=CONSOLE),
                history,
                report.callback(),
                StopOnDivergence(checkpoint),
                checkpoint,
            ],
        )
    except TrainingInterrupted as interruption:
        _leave(stop, f"{interruption} Nothing is lost: go on with --resume.", report)
    if stop.received is not None:  # in the last scores, with which training was over
        _leave(
            stop, f"Stopped by {stop.received.name} after training: go on with --resume.", report
        )
    epochs_done = [epoch + 1 for epoch in history.epoch]
    write_json({"epoch": epochs_done} | history.history, run / "history.json")


def check_same_weights(model: keras.Model) -> None:
    """Refuses workers that do not begin with the same weights.

    They build their models each for itself, from the same data and options. Where these differ,
    so do the vocabularies or the weights.
    """
    strategy = model.distribute_strategy
    if count_workers(strategy) == 1:
        return
    own = float(sum(zlib.crc32(keras.ops.convert_to_numpy(w).tobytes()) for w in model.weights))
    if any_worker(own != of_chief(own, strategy), strategy):
        raise ValueError(
            "The workers do not begin with the same weights: give all of them the same options and "
            "the same files."
        )


def _leave(stop: StopOnSignal, sentence: str, report: TrainingReport) -> NoReturn:
    """Ends the command: without an error where the system wants the machine back (SIGTERM)."""
    report.end("stopped", sentence)
    if stop.received != signal.SIGTERM:
        raise SystemExit(sentence)
    print(sentence, file=sys.stderr)
    raise SystemExit(0)


def export(task: Task, options: Any) -> Path:
    """Exports what was trained, with its page of signatures."""
    with waiting("Exporting"):
        return export_for_serving(task, options.export, run=options.output)


def scores_by_epoch(scoring: ScoreCallback) -> list[tuple[int, float]]:
    """The validation scores, epochs counted from 1."""
    return [(epoch + 1, value) for epoch, value in scoring.history]
