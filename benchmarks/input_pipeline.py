"""Tokens per second and resident memory of the input pipelines alone, over millions of lines.

    python benchmarks/input_pipeline.py [--kinds translation text bert] [--quick] [--json FILE]

Lines are repeated into a corpus in a temporary folder; see benchmarks/README.md.
"""

import argparse
import dataclasses
import itertools
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # run from a checkout

from benchmarks import report
from benchmarks.command import positive

KINDS = ("translation", "text", "bert")
STATUS = Path("/proc/self/status")
CONTENT_AT_A_TIME = 10_000  # lines
DOCUMENT_LINES = 40  # of the corpus for BERT


@dataclasses.dataclass
class Phase:
    """What a pipeline did for some time.

    Attributes:
        kind: which pipeline.
        name: "first pass", in which the texts are read and tokenised, or the number of an epoch.
        seconds: how long it took.
        tokens: real tokens, those of both sides for translation.
        batches: number of batches.
        resident: megabytes at intervals, as the system counts them.
        whole: whether it came to its end before the time was over.
    """

    kind: str
    name: str
    seconds: float = 0.0
    tokens: int = 0
    batches: int = 0
    resident: list[float] = dataclasses.field(default_factory=list)
    whole: bool = True

    def cells(self) -> tuple[str, ...]:
        """A row of the table."""
        speed = f"{self.tokens / self.seconds:,.0f}" if self.seconds else ""
        name = self.name if self.whole else f"{self.name}, the beginning"
        least, most = min(self.resident), max(self.resident)
        return (
            self.kind,
            name,
            f"{self.seconds:,.0f}",
            f"{self.batches:,}",
            f"{self.tokens:,}",
            speed,
            f"{least:,.0f}",
            f"{self.resident[-1]:,.0f}",
            f"{most:,.0f}",
        )


HEAD = (
    "pipeline",
    "phase",
    "seconds",
    "batches",
    "tokens",
    "tokens/s",
    "least MB",
    "MB at the end",
    "most MB",
)


class Watched:
    """Times a phase and notes the resident memory at its beginning, at intervals and at its end."""

    def __init__(self, phase: Phase, interval: float):
        self._phase = phase
        self._interval = interval
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._note_at_intervals, daemon=True)

    def __enter__(self) -> Phase:
        self._phase.resident.append(resident_megabytes())
        self._start = time.perf_counter()
        self._thread.start()
        return self._phase

    def __exit__(self, *_) -> None:
        self._phase.seconds = time.perf_counter() - self._start
        self._is_over.set()
        self._thread.join()
        self._phase.resident.append(resident_megabytes())

    def _note_at_intervals(self) -> None:
        while not self._is_over.wait(self._interval):
            megabytes = resident_megabytes()
            self._phase.resident.append(megabytes)
            seconds = time.perf_counter() - self._start
            say(
                f"{self._phase.kind}, {self._phase.name}: {seconds:,.0f} s, "
                f"{self._phase.tokens:,} tokens, {megabytes:,.0f} MB resident"
            )


def main(arguments: Sequence[str] | None = None) -> list[Phase]:
    """Runs each pipeline in a process of its own, prints the table and gives its rows."""
    flags = parse(arguments)
    if flags.one is not None:
        phases = measure(flags, flags.one)
        print(json.dumps([dataclasses.asdict(phase) for phase in phases]))
        return phases
    load = report.load_average()
    given = list(sys.argv[1:] if arguments is None else arguments)
    phases = []
    for kind in flags.kinds:
        # A process of its own: what one pipeline leaves behind is not the next one's memory.
        command = [sys.executable, str(Path(__file__).resolve()), *given, "--one", kind]
        found = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
        phases += [Phase(**fields) for fields in json.loads(found.stdout.splitlines()[-1])]
    print(report.markdown(HEAD, [phase.cells() for phase in phases]))
    about = report.machine(report_threads(), load)
    print(f"\n{flags.lines:,} lines.\n{report.describe(about)}")
    if flags.json:
        rows = [dataclasses.asdict(phase) for phase in phases]
        report.write_json(flags.json, {"machine": about, "lines": flags.lines, "phases": rows})
    return phases


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The flags."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    add = parser.add_argument
    add("--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="pipelines")
    add("--lines", type=positive, default=5_000_000, help="lines of the corpus")
    add("--source", help="file of source texts for translation (the built-in pairs by default)")
    add("--target", help="file of their translations")
    add("--text", help="file of text for the others (the built-in text by default)")
    add("--vocab-size", type=positive, default=8000, help="most ids of the tokenizers")
    add("--epochs", type=positive, default=1, help="epochs after the first pass")
    add("--minutes", type=float, default=10.0, help="most minutes of an epoch")
    add("--interval", type=float, default=10.0, help="seconds between two looks at the memory")
    add("--json", type=Path, metavar="FILE", help="write all numbers here, too")
    add("--quick", action="store_true", help="see in half a minute that it runs; no result")
    add("--one", choices=KINDS, help=argparse.SUPPRESS)  # a process of this command's own
    flags = parser.parse_args(arguments)
    if (flags.source is None) != (flags.target is None):
        parser.error("give --source and --target together.")
    if flags.quick:
        flags.lines, flags.vocab_size, flags.interval = 20_000, 1000, 1.0
    return flags


def measure(flags: argparse.Namespace, kind: str) -> list[Phase]:
    """The phases of one pipeline."""
    make = {"translation": translation, "text": text, "bert": bert}[kind]
    with tempfile.TemporaryDirectory() as folder:
        say(f"{kind}: writing {flags.lines:,} lines")
        open_batches = make(flags, Path(folder))
        phases = [Phase(kind, "first pass")]
        with Watched(phases[0], flags.interval) as phase:
            batches = open_batches()
            dataset = batches.dataset
            phase.batches = batches.count_batches()
        counts = batches.report
        say(str(counts))
        if kind == "translation":
            phase.tokens = counts.source.total + counts.target.total
        else:
            phase.tokens = counts.tokens
        for epoch in range(1, flags.epochs + 1):
            phases.append(Phase(kind, f"epoch {epoch}"))
            with Watched(phases[-1], flags.interval) as phase:
                run_epoch(dataset, phase, flags.minutes)
    return phases


def run_epoch(dataset: Any, phase: Phase, minutes: float) -> None:
    """Takes the batches as training does, and counts their tokens."""
    import numpy as np

    end = time.perf_counter() + 60 * minutes
    for features, labels in dataset.as_numpy_iterator():
        if "source" in features:
            phase.tokens += int(np.count_nonzero(features["source"]) + np.count_nonzero(labels))
        else:
            phase.tokens += int(np.count_nonzero(features["token_ids"]))
        phase.batches += 1
        if time.perf_counter() > end:
            phase.whole = False
            return


def translation(flags: argparse.Namespace, folder: Path) -> Callable[[], Any]:
    """Pairs for a translator, about 4,096 tokens a side of a batch."""
    from keras_transformer.data import TranslationBatches, line_file_pairs, load_pairs
    from keras_transformer.text import SentencePieceTokenizer

    if flags.source is None:
        given = load_pairs("builtin", split="train")
    else:
        given = line_file_pairs(flags.source, flags.target)
    sides = list(zip(*given, strict=True))
    files = [folder / "source.txt", folder / "target.txt"]
    for file, lines in zip(files, sides, strict=True):
        write_repeated(file, lines, flags.lines)
    tokenizer = SentencePieceTokenizer.train(
        itertools.chain(*sides), flags.vocab_size, hard_vocab_limit=False
    )
    return lambda: TranslationBatches(line_file_pairs(*files), tokenizer, tokenizer)


def text(flags: argparse.Namespace, folder: Path) -> Callable[[], Any]:
    """A stream of text for a GPT, 12 blocks of 256 tokens a batch."""
    from keras_transformer.data import language_model_batches, raw_text_files
    from keras_transformer.text import SentencePieceTokenizer

    lines = text_lines(flags)
    write_repeated(folder / "text.txt", lines, flags.lines)
    tokenizer = SentencePieceTokenizer.train(lines, flags.vocab_size, hard_vocab_limit=False)
    documents = raw_text_files(folder / "text.txt")
    return lambda: language_model_batches(documents, tokenizer, block_size=256, batch_size=12)


def bert(flags: argparse.Namespace, folder: Path) -> Callable[[], Any]:
    """Masked pairs of texts for a BERT, 32 of at most 128 tokens a batch."""
    from keras_transformer.data import document_files, pretraining_batches
    from keras_transformer.text import WordPieceTokenizer

    lines = text_lines(flags)
    write_repeated(folder / "text.txt", lines, flags.lines, document_lines=DOCUMENT_LINES)
    tokenizer = WordPieceTokenizer.train(lines, flags.vocab_size)
    documents = document_files(folder / "text.txt")
    return lambda: pretraining_batches(documents, tokenizer, max_length=128)


def text_lines(flags: argparse.Namespace) -> list[str]:
    """The lines that are repeated."""
    from keras_transformer.data import builtin_documents, read_lines

    lines = builtin_documents().sentences() if flags.text is None else read_lines(flags.text)
    return [line for line in lines if line.strip()]


def write_repeated(
    file: Path, lines: Sequence[str], count: int, document_lines: int | None = None
) -> None:
    """A file of `count` lines, the given ones again and again, a blank one after each document."""
    repeated: Iterable[str] = (f"{line}\n" for line in itertools.cycle(lines))
    if document_lines is not None:
        repeated = (
            line if number % document_lines else f"{line}\n"
            for number, line in enumerate(repeated, start=1)
        )
    chosen: Iterator[str] = itertools.islice(repeated, count)
    with file.open("w", encoding="utf-8") as stream:
        while part := "".join(itertools.islice(chosen, CONTENT_AT_A_TIME)):
            stream.write(part)


def resident_megabytes() -> float:
    """Resident memory of this process, mapped files included."""
    found = re.search(r"VmRSS:\s+(\d+) kB", STATUS.read_text(encoding="ascii", errors="replace"))
    return int(found[1]) * 1024 / 1e6


def report_threads() -> int:
    """Cores that the pipelines may use."""
    from benchmarks.timing import usable_cores

    return len(usable_cores())


def say(line: str) -> None:
    """Progress, beside the table."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
