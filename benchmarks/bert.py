"""Tokens per second of a BERT classifier, in training and in use, beside Hugging Face and KerasHub.

    python benchmarks/bert.py [--quick] [--json FILE]

Same sizes, same batches, float32, dropout 0.1, AdamW, same threads; see benchmarks/README.md.
"""

import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # run from a checkout

from benchmarks import command, report
from benchmarks.peers.jobs import ENCODER_PRESETS, EncoderJob
from benchmarks.timing import Contestant

CONTESTANTS = (
    Contestant("ours", "benchmarks.peers.ours_bert:Classifier", ("keras_transformer",)),
    Contestant(
        "hugging_face",
        "benchmarks.peers.hugging_face_bert:Classifier",
        ("torch", "transformers"),
    ),
    Contestant("keras_hub", "benchmarks.peers.keras_hub_bert:Classifier", ("keras_hub",)),
)


def measurements(job: EncoderJob, steps: int) -> Iterator[command.Measurement]:
    """Training steps, and batches answered."""
    for kind, training in (("training", True), ("inference", False)):
        yield command.Measurement(
            setting=f"{job.preset}, {job.batch_size} x {job.length}, {kind}",
            work={"steps": steps, "training": training},
            tokens=job.tokens() * steps,
        )


def check_result(name: str, result: float) -> None:
    """Refuses a number that shows that nothing was computed."""
    if not math.isfinite(result):
        raise RuntimeError(f"The result of {name} is {result}: its time would say nothing.")


def main(arguments: Sequence[str] | None = None) -> list[report.Row]:
    """Runs the benchmark and returns its rows."""
    parser = command.parser(
        __doc__.splitlines()[0], CONTESTANTS, presets=list(ENCODER_PRESETS), default=["base"]
    )
    parser.add_argument("--steps", type=command.positive, default=1, help="steps a turn")
    parser.add_argument("--batch-size", type=command.positive, default=8, help="texts a batch")
    parser.add_argument("--length", type=command.positive, default=128, help="tokens a text")
    flags = parser.parse_args(arguments)
    if flags.quick:
        flags.presets, flags.rounds, flags.length = ["quick"], 2, 16

    def job(preset: str) -> EncoderJob:
        return EncoderJob(preset, flags.batch_size, flags.length, threads=flags.threads)

    return command.run(
        flags, CONTESTANTS, job, lambda made: measurements(made, flags.steps), check_result
    )


if __name__ == "__main__":
    main()
