"""Tokens per second of a training step of GPT-2, beside torch (eager, compiled) and KerasHub.

    python benchmarks/gpt_train.py [--quick] [--json FILE]

Same sizes, same batches, float32, dropout 0.1, AdamW, same threads; see benchmarks/README.md.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # run from a checkout

from benchmarks import command, report
from benchmarks.peers.gpt_jobs import GPT_PRESETS, GptTrainingJob
from benchmarks.timing import Contestant

CONTESTANTS = (
    Contestant("ours", "benchmarks.peers.ours_gpt:Training", ("keras_transformer", "tensorflow")),
    Contestant("torch", "benchmarks.peers.torch_gpt:Training", ("torch",)),
    Contestant(
        "torch_compiled",
        "benchmarks.peers.torch_gpt:CompiledTraining",
        ("torch",),
        programs=(os.environ.get("CXX", "g++"),),  # what torch compiles with
    ),
    Contestant("keras_hub", "benchmarks.peers.keras_hub_gpt2:Training", ("keras_hub",)),
)


class Turn(NamedTuple):
    """What a turn does."""

    batch_size: int
    length: int
    steps: int


TURNS = {  # of some seconds
    "quick": Turn(4, 16, steps=2),
    "nano": Turn(12, 64, steps=10),
    "mini": Turn(8, 256, steps=2),
    "gpt2": Turn(2, 128, steps=1),
}


def main(arguments: Sequence[str] | None = None) -> list[report.Row]:
    """Runs the benchmark and returns its rows."""
    parser = command.parser(
        __doc__.splitlines()[0],
        CONTESTANTS,
        presets=list(GPT_PRESETS),
        default=["nano", "mini", "gpt2"],
    )
    positive = command.positive
    parser.add_argument("--steps", type=positive, help="steps a turn; by preset when not given")
    parser.add_argument("--batch-size", type=positive, help="blocks a batch; by preset")
    parser.add_argument("--length", type=positive, help="tokens a block; by preset")
    parser.add_argument("--dropout", type=float, default=0.1, help="rate, the same everywhere")
    flags = parser.parse_args(arguments)
    if flags.quick:
        flags.presets, flags.rounds = ["quick"], 2

    def job(preset: str) -> GptTrainingJob:
        turn = TURNS[preset]
        return GptTrainingJob(
            preset,
            flags.length or turn.length,
            threads=flags.threads,
            batch_size=flags.batch_size or turn.batch_size,
            dropout=flags.dropout,
        )

    return command.run(
        flags,
        CONTESTANTS,
        job,
        lambda made: command.training_steps(made, flags.steps or TURNS[made.preset].steps),
        command.check_loss,
    )


if __name__ == "__main__":
    main()
