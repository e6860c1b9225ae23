"""Tables, the description of the machine, and the JSON file of a benchmark."""

import json
import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.memory import Memory
from benchmarks.timing import Timings

_PACKAGES = (
    "keras-transformer",
    "tensorflow",
    "keras",
    "keras-hub",
    "torch",
    "transformers",
    "ctranslate2",
)

_BUSY = 0.5  # load average before the start from which on a run is doubtful


class Ratio(NamedTuple):
    """How many times faster one contestant is than another, over the rounds."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} x ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class Row:
    """One contestant in one setting.

    Attributes:
        setting: What was measured, e.g. `"tiny, batch 32, beam 4"`.
        name: The contestant.
        parameters: Number of trainable parameters of its model.
        tokens_per_second: Median over the rounds.
        faster: By how much each contestant of ours is faster than this one.
        seconds: Seconds of each round.
        memory: Bytes its process held before, and the most it held meanwhile, where measured.
    """

    setting: str
    name: str
    parameters: int
    tokens_per_second: float
    faster: dict[str, Ratio]
    seconds: tuple[float, ...]
    memory: Memory | None = None


def rows(
    setting: str,
    timings: Timings,
    tokens: float,
    parameters: dict[str, int],
    ours: Sequence[str],
    memory: Mapping[str, Memory | None] | None = None,
) -> list[Row]:
    """One row a contestant, for turns that each handle `tokens` tokens."""
    return [
        Row(
            setting=setting,
            name=name,
            parameters=parameters[name],
            tokens_per_second=tokens / timings.median(name),
            faster={one: ratio(timings.ratios(one, name)) for one in ours},
            seconds=tuple(timings.seconds[name]),
            memory=(memory or {}).get(name),
        )
        for name in timings.seconds
    ]


def ratio(ratios: Sequence[float]) -> Ratio:
    """The ratios of the rounds in one."""
    return Ratio(statistics.median(ratios), min(ratios), max(ratios))


def table(all_rows: Sequence[Row]) -> str:
    """A Markdown table of the rows."""
    ours = list(all_rows[0].faster)
    with_memory = all(row.memory for row in all_rows)
    head = ["setting", "library", "parameters", "tokens/s"]
    head += [f"{name} is faster by" for name in ours]
    head += ["MB before", "MB more"] if with_memory else []
    cells = []
    for row in all_rows:
        ratios = ("1" if row.name == name else str(row.faster[name]) for name in ours)
        speed = f"{row.tokens_per_second:,.0f}"
        memory = _megabytes(row.memory) if with_memory else ()
        cells.append((row.setting, row.name, f"{row.parameters:,}", speed, *ratios, *memory))
    return markdown(head, cells)


def markdown(head: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first two columns are text, the others numbers."""
    lines = [head, ("---", "---", *["---:"] * (len(head) - 2)), *cells]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(_line(line, widths) for line in lines)


def _megabytes(memory: Memory) -> tuple[str, str]:
    return f"{memory.before / 1e6:,.0f}", f"{(memory.peak - memory.before) / 1e6:,.0f}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Cells padded to `widths`: text to the left, numbers to the right, rules filled up."""
    padded = []
    for column, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        if cell and not cell.strip("-:"):
            padded.append("-" * (width - 1) + (":" if cell.endswith(":") else "-"))
        else:
            padded.append(cell.ljust(width) if column < 2 else cell.rjust(width))
    return f"| {' | '.join(padded)} |"


def load_average() -> float | None:
    """Programs that ran or waited in the last minute on average; None where no system tells."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def machine(threads: int, load: float | None) -> dict[str, Any]:
    """Processor, cores, threads used and versions: what a ratio has to be read with.

    Args:
        threads: Threads that each contestant had.
        load: `load_average()` before the benchmark started.
    """
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": threads,
        "load_before": load,
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: version for name in _PACKAGES if (version := _version(name))},
    }


def describe(about: dict[str, Any]) -> str:
    """The machine in two lines, and a warning if it had other work to do."""
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    lines = (
        f"{about['processor']}, {about['cores']} cores, {about['threads']} threads used, "
        f"{about['system']}\nPython {about['python']}, {versions}"
    )
    load = about["load_before"]
    if load is not None and load > _BUSY:
        lines += (
            f"\nThe machine was busy (load {load:.1f} at the start): these ratios show the other "
            "programs, too. Measure again on an idle machine."
        )
    return lines


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Writes `content` to a temporary name beside `path`, then renames it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    temporary.replace(path)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
