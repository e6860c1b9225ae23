r"""Does a training that was killed again and again end as one that never stopped?

    python benchmarks/kill_and_resume.py --app translate_train --kills 10 -- \
        --max-steps 400 --checkpoint-every 10

Runs a training command of `apps/` twice, with the arguments after `--`: once undisturbed, and once
killed (SIGKILL) at random moments, each time to be gone on with by `--resume`. A moment is a random
time after a random number of further checkpoints, or before any: so some fall before training, most
into it, and some into the writing of a file, on a machine of any speed. Then everything that the
two runs leave is compared to the last bit: weights, optimizer and its step, dropout's generators,
the place in the data, the metrics of all epochs, and the scores. Ends with status 1 if anything
differs.
"""

import argparse
import json
import math
import random
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # run from a checkout

import h5py
import numpy as np

from benchmarks.command import positive

APPS = Path(__file__).resolve().parent.parent / "apps"
LOOK = 0.02  # seconds between two looks at a folder
TIMES = ("tokens_per_second",)  # numbers of a history that depend on the clock


class Run:
    """A training command with a folder of its own."""

    def __init__(self, app: str, folder: Path, arguments: list[str]):
        self.folder = folder
        self.log = folder.with_suffix(".log")
        self._command = [sys.executable, str(APPS / f"{app}.py"), *arguments]
        self._command += ["--output", str(folder), "--export", str(folder.with_suffix(".models"))]

    def start(self) -> subprocess.Popen:
        """A process that begins the run, or goes on with it."""
        command = list(self._command)
        if (self.folder / "options.yaml").is_file():
            command.append("--resume")
        with self.log.open("a", encoding="utf-8") as log:
            return subprocess.Popen(command, stdout=log, stderr=log)

    def finish(self, process: subprocess.Popen) -> None:
        """Waits for the end of a process, which must be a good one."""
        if process.wait() != 0:
            text = self.log.read_text(encoding="utf-8")
            sys.exit(f"The command ended with status {process.returncode}:\n{text[-3000:]}")

    def newest(self) -> Path | None:
        """The latest checkpoint."""
        return max((self.folder / "checkpoints").glob("*.npz"), default=None)


class Course(NamedTuple):
    """How a run went that was not disturbed."""

    start: float  # seconds until its first checkpoint
    interval: float  # seconds from one checkpoint to the next
    checkpoints: int


class Watch:
    """Counts the checkpoints that a process writes."""

    def __init__(self, run: Run):
        self._run, self._newest = run, run.newest()
        self.times: list[float] = []  # seconds from the start to each
        self._begin = time.monotonic()

    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self._begin

    def wait_for(self, count: int, process: subprocess.Popen, longest: float = math.inf) -> None:
        """Waits for so many checkpoints, the end of the process, or the end of the time."""
        while process.poll() is None and len(self.times) < count and self.seconds() < longest:
            newest = self._run.newest()
            if newest != self._newest:
                self._newest = newest
                self.times.append(self.seconds())
            time.sleep(LOOK)


def undisturbed(run: Run) -> Course:
    """Runs it to its end."""
    process, watch = run.start(), Watch(run)
    try:
        watch.wait_for(10**9, process)
    finally:
        process.kill()
    run.finish(process)
    first, last, count = watch.times[0], watch.times[-1], len(watch.times)
    return Course(first, (last - first) / max(count - 1, 1), count)


def killed(run: Run, kills: int, course: Course, chance: random.Random) -> None:
    """Runs it to its end, killed so many times."""
    # On average such a number that the kills together come about as far as one run does.
    most, longest = max(1, 2 * course.checkpoints // kills), course.start
    done = 0
    while done < kills:
        before = chance.randint(0, most)
        pause = chance.uniform(0, course.interval if before else longest)
        process, watch = run.start(), Watch(run)
        try:
            if before:
                watch.wait_for(before, process)
                time.sleep(pause)
            else:
                watch.wait_for(1, process, pause)
            over = process.poll() is not None
        finally:
            process.kill()
        if over:
            run.finish(process)
            most, longest = 0, watch.seconds()  # there is only the end left to be killed in
            continue
        process.wait()
        done += 1
        newest = run.newest()
        place = "no checkpoint yet" if newest is None else newest.name
        seconds = f"{watch.seconds():.1f} s after its start, {len(watch.times)} checkpoints later"
        print(f"  kill {done:2}: {seconds}; the last is {place}", flush=True)
    run.finish(run.start())


def contents(run: Run) -> dict[str, Any]:
    """All that a finished run leaves, by name: arrays, and plain values."""
    newest = run.newest()
    found: dict[str, Any] = {"checkpoint": newest.name}
    with np.load(newest) as file:
        state = json.loads(str(file["state"][()]))
        for group, names in state["names"].items():
            for index, name in enumerate(names):
                found[f"{group}/{index}/{name}"] = file[f"{group}/{index}"]
        found |= {name: state["state"][name] for name in ("epoch", "batch")}

    def note(name: str, item: h5py.Group | h5py.Dataset) -> None:
        if isinstance(item, h5py.Dataset):
            found[f"saved/{name}"] = item[()]

    with h5py.File(run.folder / "model.weights.h5") as file:
        file.visititems(note)
    for name in ("history", "results"):
        values = json.loads((run.folder / f"{name}.json").read_text(encoding="utf-8"))
        found |= {f"{name}/{key}": value for key, value in values.items() if key not in TIMES}
    return found


def differences(expected: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """The names under which two runs have something else.

    >>> differences({"a": np.float32([1, np.nan]), "b": 1}, {"a": np.float32([1, np.nan]), "c": 1})
    ['b', 'c']
    """
    names = dict.fromkeys([*expected, *found])
    return [name for name in names if not _same(expected.get(name), found.get(name))]


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        same_kind = one.dtype == other.dtype and one.shape == other.shape
        return same_kind and one.tobytes() == other.tobytes()
    return type(one) is type(other) and one == other


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--app", default="translate_train", help="a training command of apps/")
    parser.add_argument("--kills", type=positive, default=10, help="how often it is killed")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("arguments", nargs="*", help="of the command, after --")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        runs = [
            Run(options.app, Path(folder, name), options.arguments) for name in ("whole", "killed")
        ]
        course = undisturbed(runs[0])
        print(f"{options.app} undisturbed: {course}", flush=True)
        killed(runs[1], options.kills, course, random.Random(options.seed))
        expected, found = map(contents, runs)
    seeds = sum("seed_generator_state" in name for name in expected)
    arrays = sum(isinstance(value, np.ndarray) for value in expected.values())
    different = differences(expected, found)
    print(
        f"Ended at {expected['checkpoint']}. Compared: {arrays} arrays ({seeds} states of "
        f"dropout's generators among them), {len(expected['history/epoch'])} epochs of "
        f"{sum(name.startswith('history/') for name in expected) - 1} metrics, and the results."
    )
    if different:
        sys.exit(f"Different: {', '.join(different)}")
    print(f"After {options.kills} kills everything is the same to the last bit.")


if __name__ == "__main__":
    main()
