"""Asks a model that TensorFlow Serving runs about lines of text.

The server says what the model does; lines go in and answers come out as from translate.py,
bert_predict.py and gpt_generate.py, which do the same without a server.
"""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import bert_predict
import command_line
import gpt_generate
from gpt_generators import what_is_known
from text_lines import in_chunks, lines_of
from translate import print_translations

from keras_transformer.serving import Client
from keras_transformer.tasks import TextScore
from keras_transformer.tasks.generation_options import SERVED_OPTIONS, seed_of_row


@dataclass
class ClientOptions:
    """Ask a served model about lines of text."""

    address: str = "http://localhost:8501"
    """Of the server: http://HOST:8501 or https://... for REST, grpc://HOST:8500 or grpcs://...
    (TLS) for gRPC, which needs the package tensorflow-serving-api."""
    model: str = "translate"
    """What the server calls the model."""
    version: int | None = None
    """Version of the model; the newest by default."""
    label: str | None = None
    """Label of a version instead, such as stable."""
    file: str | None = None
    """File of texts, one a line (plain or .gz); standard input by default."""
    batch_size: int = 64
    """Most lines of a request; at most what the server takes for a batch."""
    timeout: float = 30.0
    """Seconds for each request, with all its tries."""
    retries: int = 3
    """How often a server that cannot be reached or is too busy is asked again."""
    xla: bool = False
    """Ask the signatures that XLA compiles, where the model has them and the server allows it."""
    n_best: int = 1
    """Of a translator: translations of each text; above 1 a line is: number of the input line,
    score, translation, separated by tabs."""
    score: bool = False
    """Of a text generator: say how likely the lines are instead, by log-probability, tokens and
    perplexity, with tabs between them."""
    n: int = 1
    """Of a text generator: texts to make of each line."""
    json: bool = False
    """Of a text generator: one JSON object a line."""
    max_new_tokens: int | None = None
    """Of a text generator: most tokens that are added to a prompt. This and what follows is as the
    model was exported; when one of them is given the others are off, and this is 128."""
    temperature: float | None = None
    """Below 1 likely tokens become likelier; 0 takes the likeliest always."""
    top_k: int | None = None
    """Sample from so many of the likeliest tokens; 0 for all."""
    top_p: float | None = None
    """Sample from the likeliest tokens that together have this probability."""
    seed: int | None = None
    """Seed of the first text; each further one has the next number."""

    prompts = None  # gpt_generate.py takes them from its command line, too

    def sampling(self) -> dict[str, Any]:
        """What a text generator is asked for."""
        asked = {name: getattr(self, name) for name in SERVED_OPTIONS}
        return {name: value for name, value in asked.items() if value is not None}


OF_TASKS = {
    "Translator": ("n_best", "xla"),
    "TextGenerator": ("score", "n", "json", "xla", *SERVED_OPTIONS),
}
"""Options that only these tasks have."""


def main() -> None:
    options = command_line.parse(ClientOptions, __doc__, positional="file")
    with Client(
        options.address,
        options.model,
        version=options.version,
        label=options.label,
        timeout=options.timeout,
        retries=options.retries,
        batch_size=options.batch_size,
        xla=options.xla,
    ) as client:
        task = client.task()
        check_options(options, task)
        if task == "Translator":
            print_translations(
                lambda texts: client.translate(texts, options.n_best),
                in_chunks(lines_of(options.file), options.file, options.batch_size),
                options.n_best,
            )
        elif task == "TextGenerator":
            show = gpt_generate.show_scores if options.score else gpt_generate.show_texts
            show(options, ServedTexts(client, options))
        else:
            answer = functools.partial(ANSWERS[task], client)
            bert_predict.print_answers(answer, options.file, options.batch_size)


def check_options(options: ClientOptions, task: str) -> None:
    """Refuses what the model's task does not take.

    Raises:
        ValueError: for an option of another task, or some that do not go together.
    """
    of_tasks = {name for names in OF_TASKS.values() for name in names}
    others = of_tasks - set(OF_TASKS.get(task, ()))
    given = [
        option.name for option in fields(options) if getattr(options, option.name) != option.default
    ]
    if wrong := [name for name in given if name in others]:
        raise ValueError(f"{options.model} is a {task}, which takes no {flags(wrong)}.")
    if options.score and (wrong := [n for n in given if n in ("n", "xla", *SERVED_OPTIONS)]):
        raise ValueError(f"--score makes no new text: leave out {flags(wrong)}.")
    if options.n > 1 and not options.sampling():
        raise ValueError(
            f"{options.model} makes of a line the same text each time, until it is asked for "
            "another: give --seed with --n."
        )
    for name in ("n", "n_best"):
        if getattr(options, name) < 1:
            raise ValueError(f"{flags([name])} is {getattr(options, name)}; it must be at least 1.")


def flags(names: list[str]) -> str:
    """Options as they stand on the command line."""
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)


# A client has the methods of the tasks, and the functions of bert_predict.py need no more.
ANSWERS: dict[str, Callable[[Client, list[str]], Iterator[dict[str, Any]]]] = {
    "TextClassifier": bert_predict.classify,
    "TokenTagger": lambda client, lines: bert_predict.tag(client.tag, lines),
    "QuestionAnswerer": bert_predict.answer_questions,
    "FillMask": lambda client, lines: bert_predict.fill(client.fill_mask, lines),
    "TextEmbedder": lambda client, lines: bert_predict.embed(client.embed, lines),
}


class ServedTexts:
    """A text generator as gpt_generate.py asks it.

    Args:
        client: of the model.
        options: what is asked for.
    """

    def __init__(self, client: Client, options: ClientOptions):
        self._client, self._asked = client, options.sampling()

    def generate(self, prompts: list[str], row: int) -> Iterator[dict[str, Any]]:
        """What follows each prompt; `row` is the number of the first one."""
        asked = dict(self._asked)
        if asked:
            asked["seed"] = seed_of_row(asked.get("seed", 0), row)
        return map(what_is_known, self._client.generate(prompts, **asked))

    def score(self, texts: list[str]) -> list[TextScore]:
        """How likely each text is."""
        return self._client.score(texts)


if __name__ == "__main__":
    command_line.run(main)
