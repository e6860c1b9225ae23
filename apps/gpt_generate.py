"""Lets a GPT go on from prompts, or says how likely texts are.

The prompts stand on the command line; without any, each line of a file or of standard input is one.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

import command_line
import gpt_generators
from text_lines import in_chunks, lines_of

from keras_transformer.data.json_lines import JSON_LINES_ENDINGS, json_records, json_text

RULE = "-" * 20
PROMPTS_AT_A_TIME = 64  # what goes into one search; between two of them Ctrl-C is heard


@dataclass
class Asked:
    """What the texts begin with, and what is printed of them."""

    prompts: list[str] | None = field(default=None, metadata={"nargs": "*"})
    """Prompts, or texts to score."""
    model: str = "runs/gpt"
    """Folder of a run, a Hugging Face directory (GPT-2, Llama), or a SavedModel (its newest
    version, or one of them; asked for anything, it takes what is not given for off)."""
    file: str | None = None
    """File of prompts, one a line (plain or .gz); or JSON lines (*.jsonl) with the fields prompt,
    or text to score."""
    n: int = 1
    """Texts to make of each prompt."""
    stream: bool = False
    """Print a text as it comes; so it is in a terminal, for one prompt."""
    xla: bool = False
    """Compile the search with XLA: faster for many texts, after some seconds for each size of a
    batch."""
    score: bool = False
    """Say how likely texts are instead: log-probability, tokens and perplexity, with tabs between
    them, a line for each text."""
    json: bool = False
    """One JSON object a line."""


@dataclass
class Sampling:
    """How texts are made; what is not given is as the model was saved."""

    max_new_tokens: int | None = None
    """Most tokens that are added to a prompt."""
    min_new_tokens: int | None = None
    """Fewest tokens that are added."""
    temperature: float | None = None
    """Below 1 likely tokens become likelier; 0 takes the likeliest always."""
    top_k: int | None = None
    """Sample from so many of the likeliest tokens; 0 for all."""
    top_p: float | None = None
    """Sample from the likeliest tokens that together have this probability."""
    min_p: float | None = None
    """Sample from tokens that have at least this share of the likeliest one's probability."""
    repetition_penalty: float | None = None
    """Above 1, tokens that were there before become less likely."""
    beam_size: int | None = None
    """Above 1: beam search with so many hypotheses, no sampling."""
    length_penalty: float | None = None
    """Exponent of beam search's length penalty."""
    stop: list[str] | None = field(default=None, metadata={"action": "extend", "nargs": 1})
    """A text ends where this comes up; the flag may be given more than once."""
    seed: int | None = None
    """Seed of the first text; each further one has the next number."""

    def asked(self) -> dict[str, Any]:
        """The options that were given."""
        given = {option.name: getattr(self, option.name) for option in fields(Sampling)}
        return {
            name: tuple(value) if name == "stop" else value
            for name, value in given.items()
            if value is not None
        }


@dataclass
class GenerateOptions(Sampling, Asked):
    """Go on from prompts, or score texts."""

    def __post_init__(self) -> None:
        if self.prompts and self.file is not None:
            raise ValueError("Give prompts or --file, not both.")
        if self.n < 1:
            raise ValueError(f"--n is {self.n}; it must be at least 1.")
        of_new_texts = [*self.asked(), *["n"] * (self.n > 1), *["xla"] * self.xla]
        if self.score and of_new_texts:
            flags = ", ".join(f"--{name.replace('_', '-')}" for name in of_new_texts)
            raise ValueError(f"--score makes no new text: leave out {flags}.")
        if self.stream and (self.score or self.json or self.xla):
            raise ValueError("--stream is for text alone: leave out --score, --json and --xla.")


def main() -> None:
    options = command_line.parse(GenerateOptions, __doc__, positional="prompts")
    model = gpt_generators.open_model(options.model, options.asked(), options.xla)
    is_local = isinstance(model, gpt_generators.LocalModel)
    if options.n > 1 and not options.asked() and not is_local:
        raise ValueError(
            f"{options.model} is a SavedModel, which makes of a prompt the same text each time, "
            "until it is asked for another: give --seed with --n."
        )
    if options.score:
        show_scores(options, model)
    elif options.stream or is_watched(options, model):
        show_streams(options, model)
    else:
        show_texts(options, model)


def chunks_of_texts(options: GenerateOptions) -> Iterator[list[str]]:
    """The prompts, or the texts to score, some at a time."""
    if options.prompts:
        yield options.prompts
    elif options.file and options.file.removesuffix(".gz").endswith(JSON_LINES_ENDINGS):
        name = "text" if options.score else "prompt"
        records = json_records(options.file)
        texts = (json_text(record, name, where) for where, record in records)
        yield from in_chunks(texts, options.file, PROMPTS_AT_A_TIME)
    else:
        yield from in_chunks(lines_of(options.file), options.file, PROMPTS_AT_A_TIME)


def is_watched(options: GenerateOptions, model: Any) -> bool:
    """Whether somebody waits for one text."""
    one = len(options.prompts or ()) == 1 and options.n == 1
    plain = not options.json and not options.xla
    return one and plain and sys.stdout.isatty() and isinstance(model, gpt_generators.LocalModel)


def show_streams(options: GenerateOptions, model: Any) -> None:
    """Prints texts token by token."""
    if not isinstance(model, gpt_generators.LocalModel):
        raise ValueError(f"{options.model} is a SavedModel, which cannot --stream.")
    row = truncated = 0
    for prompts in chunks_of_texts(options):
        for prompt in prompts:
            truncated += options.n * model.is_truncated(prompt)
            for _ in range(options.n):
                if row:
                    print(RULE)
                print(prompt, end="", flush=True)
                for piece in model.stream(prompt, row):
                    print(piece, end="", flush=True)
                print(flush=True)
                row += 1
    warn_of_truncation(truncated, row)


def show_texts(options: GenerateOptions, model: Any) -> None:
    """Prints prompts with what follows them."""
    row = truncated = 0
    for chunk in chunks_of_texts(options):
        prompts = [prompt for prompt in chunk for _ in range(options.n)]
        for prompt, found in zip(prompts, model.generate(prompts, row), strict=True):
            truncated += found["truncated"]
            if options.json:
                print(json.dumps({"prompt": prompt} | found, ensure_ascii=False))
            else:
                print(f"{RULE}\n{found['full_text']}" if row else found["full_text"])
            row += 1
        sys.stdout.flush()
    warn_of_truncation(truncated, row)


def warn_of_truncation(truncated: int, rows: int) -> None:
    """Says how many prompts were not read whole."""
    if truncated:
        print(
            f"{truncated} of {rows} prompts were cut: of a prompt that is longer than the model "
            "takes, only the end is read.",
            file=sys.stderr,
        )


def show_scores(options: GenerateOptions, model: Any) -> None:
    """Prints how likely texts are."""
    for texts in chunks_of_texts(options):
        for text, score in zip(texts, model.score(texts), strict=True):
            if options.json:
                perplexity = score.perplexity if score.tokens else None  # NaN is no JSON
                found = score._asdict() | {"perplexity": perplexity}
                print(json.dumps({"text": text} | found, ensure_ascii=False))
            else:
                print(f"{score.log_probability:.4f}\t{score.tokens}\t{score.perplexity:.4f}")
        sys.stdout.flush()


if __name__ == "__main__":
    command_line.run(main)
