"""What the benchmark commands share: flags, the run over the presets, and the printed end."""

import argparse
import dataclasses
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.peers.jobs import PRESETS
from benchmarks.timing import (
    Contestant,
    Timings,
    Worker,
    check_threads,
    choose,
    interleave,
    workers,
)

OURS = "ours"  # the names of our contestants begin so


@dataclasses.dataclass(frozen=True)
class Measurement:
    """One setting of a benchmark: every contestant does `work`, which handles `tokens` tokens."""

    setting: str
    work: dict[str, Any]
    tokens: float


def training_steps(job: Any, steps: int) -> Iterator[Measurement]:
    """The one setting of a training job: `steps` steps a turn."""
    yield Measurement(
        setting=f"{job.preset}, {job.batch_size} x {job.length}",
        work={"steps": steps},
        tokens=job.tokens() * steps,
    )


def check_loss(name: str, loss: float) -> None:
    """Refuses a loss that shows that no training took place."""
    if not math.isfinite(loss):
        raise RuntimeError(f"The loss of {name} is {loss}: its time would say nothing.")


def parser(
    description: str,
    contestants: Sequence[Contestant],
    presets: Sequence[str] = tuple(PRESETS),
    default: Sequence[str] = ("tiny", "small"),
) -> argparse.ArgumentParser:
    """A parser with the flags that all commands have."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    names = [contestant.name for contestant in contestants]
    made.add_argument(
        "--presets", nargs="+", choices=list(presets), default=list(default), help="sizes"
    )
    made.add_argument(
        "--libraries",
        nargs="+",
        metavar="NAME",
        help=f"which take part: {', '.join(names)} (all that are installed when not given)",
    )
    made.add_argument("--rounds", type=positive, default=5, help="counted turns of each library")
    made.add_argument("--threads", type=positive, default=2, help="threads and cores of each")
    made.add_argument("--json", type=Path, metavar="FILE", help="write all numbers here, too")
    made.add_argument(
        "--quick", action="store_true", help="see in half a minute that everything runs; no result"
    )
    return made


def positive(text: str) -> int:
    """An argparse type: an integer of at least 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return value


def run(
    arguments: argparse.Namespace,
    contestants: Sequence[Contestant],
    make_job: Callable[[str], Any],
    measurements: Callable[[Any], Iterable[Measurement]],
    check_result: Callable[[str, float], None] = lambda name, result: None,
    with_memory: bool = False,
) -> list[report.Row]:
    """Measures all settings of all presets, prints the table and writes the JSON file.

    Args:
        arguments: Parsed flags of `parser`.
        contestants: All that could take part.
        make_job: The job of a preset.
        measurements: The settings of a job.
        check_result: Called with each contestant's name and what its last turn returned.
        with_memory: Whether the memory that each setting takes is reported, too.
    """
    start, load = time.perf_counter(), report.load_average()
    try:
        check_threads(arguments.threads)
        chosen, left_out = choose(contestants, arguments.libraries)
        jobs = [make_job(preset) for preset in arguments.presets]
    except ValueError as error:
        sys.exit(str(error))
    if left_out:
        print(left_out, file=sys.stderr)
    names = [contestant.name for contestant in chosen]
    ours = [name for name in names if name.startswith(OURS)] or names[:1]
    rows: list[report.Row] = []
    for job in jobs:
        say(f"{job.preset}: building {', '.join(contestant.name for contestant in chosen)}")
        with workers(chosen, job) as running:
            parameters = _wait(running)
            for measurement in measurements(job):
                say(f"{measurement.setting}: {arguments.rounds} rounds")
                for worker in running.values() if with_memory else ():
                    worker.watch_memory()
                timings: Timings = interleave(running, measurement.work, rounds=arguments.rounds)
                for name, result in timings.results.items():
                    check_result(name, result)
                memory = {name: w.memory() for name, w in running.items()} if with_memory else {}
                rows += report.rows(
                    measurement.setting, timings, measurement.tokens, parameters, ours, memory
                )
    conclude(arguments, report.table(rows), rows, left_out, start, load)
    return rows


def conclude(
    arguments: argparse.Namespace,
    table: str,
    rows: Sequence[Any],
    left_out: str,
    start: float,
    load: float | None,
) -> None:
    """Prints the table and the machine, and writes the JSON file if one is asked for.

    Args:
        arguments: Parsed flags of `parser`.
        table: The rows in Markdown.
        rows: Dataclasses.
        left_out: What `choose` says of contestants that are not installed.
        start: `time.perf_counter()` when the benchmark began.
        load: `report.load_average()` then.
    """
    about = report.machine(arguments.threads, load)
    print(table)
    print(f"\n{report.describe(about)}")
    if arguments.json:
        content = {
            "machine": about,
            "arguments": {name: _plain(value) for name, value in vars(arguments).items()},
            "left_out": left_out,
            "minutes": (time.perf_counter() - start) / 60,
            "rows": [dataclasses.asdict(row) for row in rows],
        }
        report.write_json(arguments.json, content)
        say(f"wrote {arguments.json}")


def _wait(running: dict[str, Worker]) -> dict[str, int]:
    return {name: worker.wait_until_ready() for name, worker in running.items()}


def say(line: str) -> None:
    """Tells what is going on, beside the table."""
    print(line, file=sys.stderr, flush=True)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value
