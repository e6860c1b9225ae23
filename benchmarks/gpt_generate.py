"""Tokens per second and memory of greedy generation with GPT-2, beside Hugging Face.

    python benchmarks/gpt_generate.py [--quick] [--json FILE]

Same sizes, same prompts, float32, same number of new tokens, same threads; and what a token costs
as the text becomes longer. See benchmarks/README.md.
"""

import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # run from a checkout

from benchmarks import command, report
from benchmarks.peers.gpt_jobs import GPT_PRESETS, GptGenerationJob
from benchmarks.timing import Contestant

OURS = ("keras_transformer", "tensorflow")
CONTESTANTS = (
    Contestant("ours", "benchmarks.peers.ours_gpt:Generation", OURS),
    Contestant("ours_xla", "benchmarks.peers.ours_gpt:CompiledGeneration", OURS),
    Contestant(
        "hugging_face", "benchmarks.peers.hugging_face_gpt2:Generation", ("torch", "transformers")
    ),
)
TIMES = {"quick": 1, "nano": 8, "mini": 4, "gpt2": 1}  # for turns of some seconds


def measurements(
    job: GptGenerationJob,
    batch_sizes: Sequence[int],
    prompt_length: int,
    new_tokens: int,
    lengths: Sequence[int],
) -> Iterator[command.Measurement]:
    """Batches of texts, then single ones of each of `lengths` tokens after a prompt of one."""
    for batch_size in batch_sizes:
        times = max(1, TIMES[job.preset] // batch_size)
        yield _measurement(
            f"{job.preset}, batch {batch_size}", batch_size, prompt_length, new_tokens, times
        )
    for length in lengths:
        yield _measurement(length_setting(job.preset, length), 1, 1, length, 1)


def length_setting(preset: str, length: int) -> str:
    """The name of the setting in which one text of `length` tokens is made."""
    return f"{preset}, {length:,} tokens"


def _measurement(
    setting: str, batch_size: int, prompt_length: int, new_tokens: int, times: int
) -> command.Measurement:
    work = {
        "batch_size": batch_size,
        "prompt_length": prompt_length,
        "new_tokens": new_tokens,
        "times": times,
    }
    return command.Measurement(setting, work, tokens=batch_size * new_tokens * times)


def growth(rows: Sequence[report.Row], preset: str, lengths: Sequence[int]) -> str:
    """A table of what a token costs by the length of the text.

    In a row, how many times as long the text is and how many times as much a token costs as in
    the row before. Where the cost of a step grows in proportion to the text the two are equal;
    where it does not grow at all the second is 1.
    """
    by_setting = {(row.name, row.setting): row for row in rows}
    cells = []
    for name in dict.fromkeys(row.name for row in rows):
        ratios, before = ("", ""), None
        for length in lengths:
            row = by_setting[name, length_setting(preset, length)]
            cost = 1e3 * statistics.median(row.seconds) / length
            if before:
                ratios = (f"{length / before[0]:.2f}", f"{cost / before[1]:.2f}")
            cells.append((name, preset, f"{length:,}", f"{cost:.2f}", *ratios))
            before = length, cost
    head = ("library", "preset", "new tokens", "ms a token", "times as long", "times the cost")
    return report.markdown(head, cells)


def main(arguments: Sequence[str] | None = None) -> list[report.Row]:
    """Runs the benchmark and returns its rows."""
    parser = command.parser(
        __doc__.splitlines()[0], CONTESTANTS, presets=list(GPT_PRESETS), default=["mini", "gpt2"]
    )
    positive = command.positive
    parser.add_argument("--batch-sizes", nargs="+", type=positive, default=[1, 16], help="texts")
    parser.add_argument("--prompt-length", type=positive, default=32, help="tokens a prompt")
    parser.add_argument("--new-tokens", type=positive, default=64, help="tokens made a text")
    parser.add_argument(
        "--lengths",
        nargs="*",
        type=positive,
        default=[64, 128, 256, 512, 1024],
        help="lengths by which the cost of a token is shown, for the first preset",
    )
    flags = parser.parse_args(arguments)
    if flags.quick:
        flags.presets, flags.rounds, flags.new_tokens, flags.lengths = ["quick"], 2, 8, [8, 16]
    first, flags.lengths = flags.presets[0], sorted(set(flags.lengths))

    def lengths(preset: str) -> list[int]:
        return flags.lengths if preset == first else []

    def job(preset: str) -> GptGenerationJob:
        longest = max([flags.prompt_length + flags.new_tokens, *(n + 1 for n in lengths(preset))])
        return GptGenerationJob(preset, longest, threads=flags.threads)

    rows = command.run(
        flags,
        CONTESTANTS,
        job,
        lambda made: measurements(
            made, flags.batch_sizes, flags.prompt_length, flags.new_tokens, lengths(made.preset)
        ),
        with_memory=True,
    )
    if flags.lengths:
        print(f"\n{growth(rows, first, flags.lengths)}")
    return rows


if __name__ == "__main__":
    main()
