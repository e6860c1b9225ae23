"""Latency and rows per second of every signature, beside Hugging Face and CTranslate2.

    python benchmarks/serving.py [--signatures NAME ...] [--quick] [--json FILE]

Ours are the exported SavedModels, loaded again and asked from Python: texts in, texts out. The
others get ids and give ids. See benchmarks/README.md.
"""

import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # run from a checkout

from benchmarks import command, report
from benchmarks.peers.serving_jobs import SEARCHING, SERVING_PRESETS, SIGNATURES, ServingJob
from benchmarks.timing import Contestant, check_threads, choose, interleave, workers

OURS = ("keras_transformer", "tensorflow")
CTRANSLATE2 = ("ctranslate2", "torch", "transformers")
CONTESTANTS = (
    Contestant("ours", "benchmarks.peers.served_ours:Served", OURS),
    Contestant("ours_xla", "benchmarks.peers.served_ours:CompiledServed", OURS),
    Contestant(
        "hugging_face", "benchmarks.peers.served_hugging_face:Served", ("torch", "transformers")
    ),
    Contestant("ctranslate2", "benchmarks.peers.served_ctranslate2:Served", CTRANSLATE2),
    Contestant("ctranslate2_int8", "benchmarks.peers.served_ctranslate2:Int8Served", CTRANSLATE2),
)
TRANSLATE = {task: SIGNATURES[task] for task in ("translate", "translate_beam")}
# What a contestant has no way to do is not asked of it.
CAN = {"ours_xla": SEARCHING, "ctranslate2": TRANSLATE, "ctranslate2_int8": TRANSLATE}

NAMES = [f"{task}.{signature}" for task, names in SIGNATURES.items() for signature in names]


@dataclass(frozen=True)
class Row:
    """One contestant, asked for one signature in requests of one size.

    Attributes:
        signature: task and signature, such as "translate.serving_default".
        batch_size: Rows of a request.
        name: The contestant.
        parameters: Number of trainable parameters of its model.
        requests: How many were counted, in all rounds.
        p50: Seconds of a request, the median of them.
        p99: Seconds that one request in a hundred exceeds.
        rows_per_second: Median over the rounds.
        faster: By how much each contestant of ours is faster than this one.
    """

    signature: str
    batch_size: int
    name: str
    parameters: int
    requests: int
    p50: float
    p99: float
    rows_per_second: float
    faster: dict[str, report.Ratio]


class Recorder:
    """A worker whose turns take as long as a request does on average; it keeps all of them."""

    def __init__(self, worker: Any):
        self._worker = worker
        self.turns: list[list[float]] = []

    def run(self, **work: Any) -> tuple[float, float]:
        """Gives the worker its turn; seconds of a request, and how many there were."""
        _, latencies = self._worker.run(**work)
        self.turns.append(latencies)
        return statistics.fmean(latencies), float(len(latencies))


def measure(
    signature: str,
    batch_size: int,
    running: Mapping[str, Any],
    parameters: Mapping[str, int],
    *,
    rounds: int,
    seconds: float,
    pause: float = 0.25,
) -> list[Row]:
    """A row for each contestant, which take turns of so many seconds.

    Args:
        signature: Task and signature.
        batch_size: Rows of a request.
        running: Workers by name, all of which can do it.
        parameters: Of their models, by name.
        rounds: Turns of each that are counted, after one that is not.
        seconds: Of a turn; a request that has begun is waited for.
        pause: Seconds before each turn.
    """
    recorders = {name: Recorder(worker) for name, worker in running.items()}
    work = {
        "signature": signature.partition(".")[2],
        "batch_size": batch_size,
        "seconds": seconds,
    }
    timings = interleave(recorders, work, rounds=rounds, pause=pause)
    ours = [name for name in running if name.startswith(command.OURS)] or [next(iter(running))]
    rows = []
    for name, recorder in recorders.items():
        latencies = np.concatenate(recorder.turns[-rounds:])  # without the warm-up
        rows.append(
            Row(
                signature,
                batch_size,
                name,
                parameters[name],
                len(latencies),
                float(np.median(latencies)),
                float(np.percentile(latencies, 99, method="higher")),
                batch_size / timings.median(name),
                {one: report.ratio(timings.ratios(one, name)) for one in ours},
            )
        )
    return rows


def table(rows: Sequence[Row]) -> str:
    """A Markdown table of the rows; what was not asked of a contestant of ours is blank."""
    ours = list(dict.fromkeys(one for row in rows for one in row.faster))
    head = ["signature", "library", "batch", "parameters", "requests", "p50 ms", "p99 ms"]
    head += ["rows/s", *(f"{name} is faster by" for name in ours)]
    cells = [
        (
            row.signature,
            row.name,
            str(row.batch_size),
            f"{row.parameters:,}",
            f"{row.requests:,}",
            f"{1e3 * row.p50:.1f}",
            f"{1e3 * row.p99:.1f}",
            f"{row.rows_per_second:,.1f}",
            *("1" if one == row.name else str(row.faster.get(one, "")) for one in ours),
        )
        for row in rows
    ]
    return report.markdown(head, cells)


class Budget:
    """The time for all settings: none is begun when it is over.

    Args:
        minutes: from now on.
    """

    def __init__(self, minutes: float):
        self._end = time.perf_counter() + 60 * minutes
        self.left_out: list[str] = []

    def allows(self, setting: str) -> bool:
        """Whether there is time; if not, the setting is noted as left out."""
        if time.perf_counter() < self._end:
            return True
        self.left_out.append(setting)
        return False

    def __str__(self) -> str:
        if not self.left_out:
            return ""
        return f"The time was over before {', '.join(self.left_out)}: give more --minutes."


def chosen_signatures(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Signatures by task, in the order of `SIGNATURES`."""
    found = {
        task: tuple(name for name in offered if f"{task}.{name}" in names)
        for task, offered in SIGNATURES.items()
    }
    return {task: signatures for task, signatures in found.items() if signatures}


def can(name: str, task: str) -> tuple[str, ...]:
    """The signatures of a task that a contestant can be asked for."""
    return CAN.get(name, SIGNATURES).get(task, ())


def rows_of(
    job: ServingJob,
    contestants: Sequence[Contestant],
    batch_sizes: Sequence[int],
    budget: Budget,
    **turns: Any,
) -> Iterator[Row]:
    """The rows of a job; `turns` are the rounds and seconds of `measure`."""
    if not budget.allows(job.task):
        return
    able = [c for c in contestants if set(job.signatures) & set(can(c.name, job.task))]
    command.say(f"{job.preset} {job.task}: building {', '.join(c.name for c in able)}")
    with workers(able, job) as running:
        parameters = {name: worker.wait_until_ready() for name, worker in running.items()}
        for signature in job.signatures:
            asked = {n: w for n, w in running.items() if signature in can(n, job.task)}
            name = f"{job.task}.{signature}"
            for batch_size in batch_sizes if asked else ():
                setting = f"{name}, batch {batch_size}"
                if budget.allows(setting):
                    command.say(f"{setting}: {turns['rounds']} rounds")
                    yield from measure(name, batch_size, asked, parameters, **turns)


def main(arguments: Sequence[str] | None = None) -> list[Row]:
    """Runs the benchmark and returns its rows."""
    parser = command.parser(
        __doc__.splitlines()[0], CONTESTANTS, presets=list(SERVING_PRESETS), default=["small"]
    )
    positive = command.positive
    parser.set_defaults(rounds=3)
    parser.add_argument(
        "--signatures", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help="which"
    )
    parser.add_argument("--batch-sizes", nargs="+", type=positive, default=[1, 8, 32], help="rows")
    parser.add_argument("--seconds", type=float, default=0.4, help="of a turn, at least 2 requests")
    parser.add_argument(
        "--minutes", type=float, default=11.0, help="after these nothing more is begun"
    )
    parser.add_argument("--length", type=positive, default=32, help="tokens of a text")
    parser.add_argument(
        "--context-length", type=positive, default=128, help="tokens of question and context"
    )
    parser.add_argument("--new-tokens", type=positive, default=32, help="tokens made of a text")
    flags = parser.parse_args(arguments)
    if flags.quick:
        flags.presets, flags.rounds, flags.new_tokens, flags.seconds = ["quick"], 2, 4, 0.0
    start, load = time.perf_counter(), report.load_average()
    try:
        check_threads(flags.threads)
        contestants, left_out = choose(CONTESTANTS, flags.libraries)
        jobs = [
            ServingJob(
                task,
                preset,
                signatures,
                flags.length,
                flags.context_length,
                flags.new_tokens,
                flags.threads,
            )
            for preset in flags.presets
            for task, signatures in chosen_signatures(flags.signatures).items()
        ]
    except ValueError as error:
        sys.exit(str(error))
    if left_out:
        print(left_out, file=sys.stderr)
    budget, turns = Budget(flags.minutes), {"rounds": flags.rounds, "seconds": flags.seconds}
    rows = [
        row for job in jobs for row in rows_of(job, contestants, flags.batch_sizes, budget, **turns)
    ]
    if budget.left_out:
        print(budget, file=sys.stderr)
        left_out = f"{left_out} {budget}".strip()
    if not rows:
        sys.exit("None of the libraries can be asked for any of the signatures.")
    command.conclude(flags, table(rows), rows, left_out, start, load)
    return rows


if __name__ == "__main__":
    main()
