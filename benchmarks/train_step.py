"""Tokens per second of a training step, beside torch nn.Transformer and KerasHub.

    python benchmarks/train_step.py [--quick] [--json FILE]

Same sizes, same batches, float32, dropout 0.1, AdamW, same threads; see benchmarks/README.md.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # run from a checkout

from benchmarks import command, report
from benchmarks.peers.jobs import TrainingJob
from benchmarks.timing import Contestant

CONTESTANTS = (
    Contestant("ours", "benchmarks.peers.ours:Training", ("keras_transformer", "tensorflow")),
    Contestant("torch", "benchmarks.peers.torch_transformer:Training", ("torch",)),
    Contestant("keras_hub", "benchmarks.peers.keras_hub_transformer:Training", ("keras_hub",)),
    Contestant(
        "keras_hub_smoothed",
        "benchmarks.peers.keras_hub_transformer:SmoothedTraining",
        ("keras_hub",),
    ),
)


def main(arguments: Sequence[str] | None = None) -> list[report.Row]:
    """Runs the benchmark and returns its rows."""
    parser = command.parser(__doc__.splitlines()[0], CONTESTANTS)
    parser.add_argument("--steps", type=command.positive, default=2, help="steps a turn")
    parser.add_argument("--batch-size", type=command.positive, default=128, help="pairs a batch")
    parser.add_argument("--length", type=command.positive, default=32, help="tokens a side")
    flags = parser.parse_args(arguments)
    if flags.quick:
        flags.presets, flags.rounds, flags.steps, flags.batch_size = ["quick"], 2, 2, 16

    def job(preset: str) -> TrainingJob:
        return TrainingJob(preset, flags.batch_size, flags.length, threads=flags.threads)

    return command.run(
        flags,
        CONTESTANTS,
        job,
        lambda made: command.training_steps(made, flags.steps),
        command.check_loss,
    )


if __name__ == "__main__":
    main()
