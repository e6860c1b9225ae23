"""Fair timing of several libraries: one process each, taking turns.

Each contestant lives in a process of its own, so that thread pools and allocators do not meet,
and sleeps while another one works. A round gives every contestant one turn (A B C, A B C, ...):
what slows the machine down for a while slows all of them, and the ratio within a round stays.
"""

import contextlib
import importlib
import importlib.util
import multiprocessing
import os
import shutil
import statistics
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.memory import Memory, Watch

_WATCH_MEMORY, _MEMORY = "watch memory", "memory"  # messages to a worker that are no work


@dataclass(frozen=True)
class Contestant:
    """A library that can take part.

    Attributes:
        name: Name in tables and on the command line.
        factory: `"module:Class"`; the class takes the job, has `parameters: int`, and a method
            `run(**work)` whose call is what gets timed and which returns an int or a float.
        packages: Top-level modules that must be importable.
        programs: Programs that must be found, such as a compiler.
    """

    name: str
    factory: str
    packages: tuple[str, ...]
    programs: tuple[str, ...] = ()

    def missing(self) -> tuple[str, ...]:
        """The packages of this contestant that are not installed (nothing is imported)."""
        return tuple(name for name in self.packages if importlib.util.find_spec(name) is None)

    def missing_programs(self) -> tuple[str, ...]:
        """The programs of this contestant that are not found."""
        return tuple(name for name in self.programs if shutil.which(name) is None)

    def build(self, job: Any) -> Any:
        """Imports the library and builds its model for `job`."""
        module, _, attribute = self.factory.partition(":")
        return getattr(importlib.import_module(module), attribute)(job)


def choose(
    contestants: Sequence[Contestant], wanted: Sequence[str] | None
) -> tuple[list[Contestant], str]:
    """Returns the wanted contestants that are installed, and one sentence on those that are not.

    Raises:
        ValueError: If a wanted name is unknown, or what is wanted by name is not installed.
    """
    known = {contestant.name: contestant for contestant in contestants}
    unknown = [name for name in wanted or () if name not in known]
    if unknown:
        raise ValueError(f"Unknown contestant {unknown[0]!r}: choose from {', '.join(known)}.")
    chosen = [known[name] for name in dict.fromkeys(wanted)] if wanted else list(contestants)
    absent = [c for c in chosen if c.missing() or c.missing_programs()]
    if not absent:
        return chosen, ""
    packages = sorted({package for contestant in absent for package in contestant.missing()})
    programs = sorted({name for contestant in absent for name in contestant.missing_programs()})
    reasons = []
    if packages:
        brought = '`pip install -e ".[bench]"` brings them'
        reasons.append(f"not installed are {', '.join(packages)}; {brought}")
    if programs:
        reasons.append(f"not found are the programs {', '.join(programs)}")
    sentence = f"Left out {', '.join(c.name for c in absent)}: {'; '.join(reasons)}."
    if wanted:
        raise ValueError(sentence)
    return [contestant for contestant in chosen if contestant not in absent], sentence


def usable_cores() -> list[int]:
    """Numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def check_threads(threads: int) -> None:
    """Refuses more threads than cores: they would take turns, and nothing else would be measured.

    Raises:
        ValueError: If there are fewer cores.
    """
    if threads > len(usable_cores()):
        raise ValueError(f"--threads is {threads}, but {len(usable_cores())} cores can be used.")


@contextlib.contextmanager
def limited_threads(threads: int) -> Iterator[None]:
    """Sets the environment that processes started inside inherit: `threads` threads, no network."""
    settings = {
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "TF_NUM_INTRAOP_THREADS": str(threads),
        "TF_NUM_INTEROP_THREADS": str(threads),
        "KERAS_BACKEND": "tensorflow",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "-1",  # a comparison on the CPU, also where there is a GPU
        "HF_HUB_OFFLINE": "1",
    }
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class Worker:
    """A contestant in its own process; `run` gives it one turn and waits for it."""

    def __init__(self, contestant: Contestant, job: Any):
        """Starts the process; `wait_until_ready` waits for its model."""
        self.name = contestant.name
        context = multiprocessing.get_context("spawn")  # no inherited threads or locks
        self._pipe, pipe = context.Pipe()
        self._log = tempfile.NamedTemporaryFile(suffix=".log")  # shown if the process dies
        self._process = context.Process(
            target=_serve, args=(pipe, contestant, job, self._log.name), daemon=True
        )
        self._process.start()
        pipe.close()  # ours only: a dead worker is then an EOFError, not a wait for ever

    def wait_until_ready(self) -> int:
        """Waits until the model is built; returns its number of parameters."""
        return self._receive()

    def run(self, **work: Any) -> tuple[float, float]:
        """Lets the contestant do `work`; returns the seconds it took and what it returned."""
        self._pipe.send(work)
        return self._receive()

    def watch_memory(self) -> None:
        """Watches the process' memory from now on."""
        self._pipe.send(_WATCH_MEMORY)
        self._receive()

    def memory(self) -> Memory | None:
        """What it took since `watch_memory`; None where the system does not tell."""
        self._pipe.send(_MEMORY)
        return self._receive()

    def close(self) -> None:
        """Ends the process."""
        with contextlib.suppress(OSError):  # it may have died before
            self._pipe.send(None)
        self._process.join(timeout=10)
        if self._process.is_alive():
            self._process.terminate()
            self._process.join()
        self._log.close()

    def _receive(self) -> Any:
        try:
            kind, content = self._pipe.recv()
        except EOFError:
            self._process.join()
            said = Path(self._log.name).read_text(encoding="utf-8", errors="replace")[-2000:]
            raise RuntimeError(
                f"The process of {self.name} ended with exit code {self._process.exitcode}.\n{said}"
            ) from None
        if kind == "failed":
            raise RuntimeError(f"{self.name} failed:\n{content}")
        return content


def _serve(pipe: Any, contestant: Contestant, job: Any, log: str) -> None:
    """The worker's side: builds the model, then does and times one piece of work a message."""
    try:
        file = os.open(log, os.O_WRONLY | os.O_APPEND)
        for stream in (1, 2):  # what libraries print stays out of the table
            os.dup2(file, stream)
        if hasattr(os, "sched_setaffinity"):  # Linux: threads a library starts anyway get no core
            os.sched_setaffinity(0, usable_cores()[: job.threads])
        peer, watch = contestant.build(job), Watch()
        pipe.send(("done", int(peer.parameters)))
        while (work := pipe.recv()) is not None:
            if work == _WATCH_MEMORY:
                watch = Watch()
                pipe.send(("done", None))
            elif work == _MEMORY:
                pipe.send(("done", watch.memory()))
            else:
                start = time.perf_counter()
                result = peer.run(**work)
                seconds = time.perf_counter() - start
                pipe.send(("done", (seconds, result)))
    except (EOFError, KeyboardInterrupt):
        return  # the main process has gone
    except Exception:
        pipe.send(("failed", traceback.format_exc()))


@contextlib.contextmanager
def workers(contestants: Sequence[Contestant], job: Any) -> Iterator[dict[str, Worker]]:
    """Processes of all contestants, ready to run; ended on leaving, also after an error."""
    started: dict[str, Worker] = {}
    with limited_threads(job.threads):
        try:
            for contestant in contestants:
                started[contestant.name] = Worker(contestant, job)
            yield started
        finally:
            for worker in started.values():
                worker.close()


@dataclass(frozen=True)
class Timings:
    """Seconds a turn, by contestant: `seconds[name][round]`, and what the last turn returned."""

    seconds: dict[str, list[float]]
    results: dict[str, float]

    def median(self, name: str) -> float:
        """Median seconds of a turn of `name`."""
        return statistics.median(self.seconds[name])

    def ratios(self, reference: str, other: str) -> list[float]:
        """How many times faster `reference` is than `other`, round by round."""
        pairs = zip(self.seconds[reference], self.seconds[other], strict=True)
        return [theirs / ours for ours, theirs in pairs]


def interleave(
    running: Mapping[str, Any],
    work: Mapping[str, Any],
    *,
    rounds: int,
    warm_up: int = 1,
    pause: float = 0.25,
) -> Timings:
    """Gives every worker its turn, `rounds` times.

    Args:
        running: Workers by name; anything with `run(**work) -> (seconds, result)`.
        work: What each turn does.
        rounds: Number of turns of each that are counted.
        warm_up: Number of turns before them that are not.
        pause: Seconds before each turn. OpenMP's threads keep a core busy for up to 0.2 seconds
            after their work is done, which would be the next one's loss.
    """
    if rounds < 1:
        raise ValueError(f"rounds is {rounds}; at least one is needed to measure anything.")
    seconds: dict[str, list[float]] = {name: [] for name in running}
    results: dict[str, float] = {}
    for turn in range(-warm_up, rounds):
        for name, worker in running.items():
            time.sleep(pause)
            taken, results[name] = worker.run(**work)
            if turn >= 0:
                seconds[name].append(taken)
    return Timings(seconds, results)
