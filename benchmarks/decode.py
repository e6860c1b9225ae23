"""Tokens per second of greedy and beam decoding, beside Hugging Face Marian and CTranslate2.

    python benchmarks/decode.py [--quick] [--json FILE]

Same sizes, same sources, float32, same number of new tokens, same threads; see
benchmarks/README.md.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # run from a checkout

from benchmarks import command, report
from benchmarks.peers.jobs import DecodingJob
from benchmarks.timing import Contestant

CONTESTANTS = (
    Contestant("ours", "benchmarks.peers.ours:Decoding", ("keras_transformer", "tensorflow")),
    Contestant(
        "ours_xla", "benchmarks.peers.ours:CompiledDecoding", ("keras_transformer", "tensorflow")
    ),
    Contestant(
        "hugging_face",
        "benchmarks.peers.hugging_face_marian:Decoding",
        ("torch", "transformers"),
    ),
    Contestant(
        "ctranslate2",
        "benchmarks.peers.ctranslate2_marian:Decoding",
        ("ctranslate2", "torch", "transformers"),
    ),
)


def measurements(
    job: DecodingJob, batch_sizes: Sequence[int], beam_sizes: Sequence[int], sentences: int
) -> Iterator[command.Measurement]:
    """All settings of a decoding job; a turn decodes `sentences` sentences, or one batch."""
    for batch_size in batch_sizes:
        for beam_size in beam_sizes:
            times = max(1, sentences // batch_size)
            yield command.Measurement(
                setting=f"{job.preset}, batch {batch_size}, beam {beam_size}",
                work={"batch_size": batch_size, "beam_size": beam_size, "times": times},
                tokens=batch_size * job.new_tokens * times,
            )


def main(arguments: Sequence[str] | None = None) -> list[report.Row]:
    """Runs the benchmark and returns its rows."""
    parser = command.parser(__doc__.splitlines()[0], CONTESTANTS)
    positive = command.positive
    parser.add_argument(
        "--batch-sizes", nargs="+", type=positive, default=[1, 32], help="sentences"
    )
    parser.add_argument(
        "--beam-sizes", nargs="+", type=positive, default=[1, 4], help="1 is greedy"
    )
    parser.add_argument("--source-length", type=positive, default=32, help="tokens a source")
    parser.add_argument("--new-tokens", type=positive, default=32, help="tokens made a sentence")
    parser.add_argument(
        "--sentences", type=positive, default=4, help="sentences a turn, at least one batch"
    )
    flags = parser.parse_args(arguments)
    if flags.quick:
        flags.presets, flags.rounds, flags.new_tokens, flags.sentences = ["quick"], 2, 8, 1

    def job(preset: str) -> DecodingJob:
        return DecodingJob(preset, flags.source_length, flags.new_tokens, threads=flags.threads)

    return command.run(
        flags,
        CONTESTANTS,
        job,
        lambda made: measurements(made, flags.batch_sizes, flags.beam_sizes, flags.sentences),
    )


if __name__ == "__main__":
    main()
