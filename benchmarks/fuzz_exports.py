r"""Does any text make an exported model crash, hang, or grow?

    python benchmarks/fuzz_exports.py saved_models/translate/1 [EXPORT ...] \
        [--texts 20000] [--requests 1000] [--seconds 120] [--seed 0]

Builds the program of `serving/c`, which runs an export without Python, and asks every signature of
every export, each in a process of its own:

- 20,000 random byte strings, in requests of 1 to 40 rows, other inputs being random numbers of
  their type. Every request must get its answer in time, with as many rows as were asked, all
  numbers finite and all texts UTF-8.
- 1,000 different requests of like sizes, of which the resident memory is watched: after the first
  tenth it must stay level.

Prints a line for each signature; ends with status 1 if one fails.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # run from a checkout

from benchmarks.export_runner import Columns, ExportRunner, RunningExport

MOST_ROWS = 40
GROWTH = 0.02  # of the resident memory, that is no growth but the allocator's noise
LARGEST = 2**31 - 1

# What texts are made of, beside bytes of any value.
PIECES = [
    *(bytes([value]) for value in range(256)),
    *("é ß я 茶 한 🙂 👩‍👩‍👧 \u0301 \u200b \u202e \ufeff \u2028 \u3000 ﬃ".encode().split()),
    *(b"the dog", b"[MASK]", b"<s>", b"</s>", b"<|endoftext|>", b"\xe2\x96\x81", b"##", b"<0x0A>"),
    *(b" ", b"\n", b"\t", b"\0", b"1,000.5", b"don't", b"\xc3", b"\xf0\x9f", b"\xed\xa0\x80"),
]


class Signature(NamedTuple):
    """A function of an export."""

    name: str
    inputs: dict[str, str]
    """The type of each input: string, int32, float32."""


def signatures(export: Path) -> list[Signature]:
    """The signatures of an export, from its file."""
    from tensorflow import as_dtype
    from tensorflow.core.protobuf import saved_model_pb2

    saved = saved_model_pb2.SavedModel.FromString((export / "saved_model.pb").read_bytes())
    return [
        Signature(name, {key: as_dtype(i.dtype).name for key, i in definition.inputs.items()})
        for name, definition in sorted(saved.meta_graphs[0].signature_def.items())
        if definition.inputs
    ]


def random_text(choose: random.Random) -> bytes:
    """A byte string: mostly short, now and then long; any bytes, or pieces of text."""
    length = int(2 ** choose.uniform(0, 11 if choose.random() < 0.02 else 7)) - 1
    kind = choose.random()
    if kind < 0.4:
        return choose.randbytes(length)
    if kind < 0.5:
        return choose.choice(PIECES) * length
    return b"".join(choose.choices(PIECES, k=length))


def random_number(kind: str, choose: random.Random) -> float:
    """A number of a type: small ones, the largest, the smallest, for floats also none."""
    if kind == "int32":
        return choose.choice([choose.randint(-3, 30), 0, 1, LARGEST, -LARGEST - 1])
    usual = choose.uniform(-0.5, 2.5)
    number = choose.choice([usual, usual, 0.0, 1.0, 3e38, -3e38, 1e-45, math.inf, math.nan])
    return struct.unpack("f", struct.pack("f", number))[0]


def random_columns(inputs: dict[str, str], rows: int, choose: random.Random) -> Columns:
    """A column for each input. No text may become long, or the run would: at most 30 tokens."""

    def value(name: str, kind: str) -> Any:
        if kind == "string":
            return random_text(choose)
        number = random_number(kind, choose)
        return min(number, 30) if name == "max_new_tokens" else number

    return {name: [value(name, kind) for _ in range(rows)] for name, kind in inputs.items()}


def faults(answer: dict[str, Any], rows: int) -> list[str]:
    """What is wrong with an answer.

    >>> faults({"outputs": {"score": [float("inf")], "text": ["a", "b"]}}, rows=1)
    ['score: inf is not finite', 'text: 2 rows for 1']
    """
    if "outputs" not in answer:
        return [f"an error: {answer['error']}"]
    found = []
    for name, values in answer["outputs"].items():
        if len(values) != rows:
            found.append(f"{name}: {len(values)} rows for {rows}")
        if (wrong := next(_not_finite(values), None)) is not None:
            found.append(f"{name}: {wrong} is not finite")
    return found


def _not_finite(value: Any) -> Iterator[float]:
    if isinstance(value, list):
        for item in value:
            yield from _not_finite(item)
    elif isinstance(value, float) and not math.isfinite(value):
        yield value


def fuzz(
    served: RunningExport, signature: Signature, texts: int, seconds: float, seed: int
) -> list[str]:
    """Asks random texts; gives the faults found and prints what there was to see."""
    choose = random.Random(f"{seed} {signature.name}")
    asked, requests, slowest, found = 0, 0, 0.0, []
    while asked < texts and len(found) < 10:
        rows = min(choose.randint(1, MOST_ROWS), texts - asked)
        columns = random_columns(signature.inputs, rows, choose)
        start = time.perf_counter()
        answer = served.ask(signature.name, columns, seconds)
        slowest = max(slowest, time.perf_counter() - start)
        found += [f"{fault} (request {requests}: {columns})" for fault in faults(answer, rows)]
        asked, requests = asked + rows, requests + 1
    print(f"  {asked} texts in {requests} requests, the slowest took {slowest:.2f} s", flush=True)
    return found


def watch_memory(
    served: RunningExport, signature: Signature, requests: int, seconds: float, seed: int
) -> list[str]:
    """Asks different requests of the same size; gives a fault if the memory grows."""
    choose = random.Random(f"{seed} {signature.name} memory")
    resident = []
    for number in range(requests):
        columns = {
            name: [
                b"%d the dog %s" % (number, choose.randbytes(30))
                if kind == "string"
                else (8 if name == "max_new_tokens" else number)
                for _ in range(8)
            ]
            for name, kind in signature.inputs.items()
        }
        answer = served.ask(signature.name, columns, seconds)
        if wrong := faults(answer, 8):
            return wrong
        resident.append(served.resident_bytes())
    tenth = max(1, requests // 10)
    before = statistics.median(resident[tenth : 3 * tenth])
    after = statistics.median(resident[-2 * tenth :])
    print(
        f"  {requests} different requests: {before / 2**20:.1f} MiB resident after the first "
        f"tenth, {after / 2**20:.1f} MiB at the end",
        flush=True,
    )
    if after > (1 + GROWTH) * before:
        return [f"the memory grew from {before / 2**20:.1f} to {after / 2**20:.1f} MiB"]
    return []


def main(arguments: list[str] | None = None) -> None:
    """Runs the command; ends with status 1 where something fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("exports", type=Path, nargs="+", metavar="EXPORT", help="folder of a version of a model")
    add("--texts", type=int, default=20_000, help="random texts for each signature")
    add("--requests", type=int, default=1000, help="requests of which the memory is watched")
    add("--seconds", type=float, default=120, help="time for an answer")
    add("--seed", type=int, default=0, help="of the random texts")
    add("--python", default=sys.executable, help="environment whose TensorFlow runs the exports")
    options = parser.parse_args(arguments)

    found = []
    with TemporaryDirectory() as folder:
        runner = ExportRunner.build(Path(folder), options.python)
        for export in options.exports:
            for signature in signatures(export):
                print(f"{export}, {signature.name}:", flush=True)
                limits = options.seconds, options.seed
                with runner.load(export) as served:
                    faults = fuzz(served, signature, options.texts, *limits)
                    if options.requests and not faults:
                        faults = watch_memory(served, signature, options.requests, *limits)
                for fault in faults:
                    print(f"  FAULT: {fault:.2000}", flush=True)
                found += faults
    if found:
        sys.exit(f"{len(found)} faults were found.")


if __name__ == "__main__":
    main()
