"""Asks a trained BERT about lines of text; one JSON object a line answers.

The folder says what the model does: classify, tag, answer questions, fill in a mask or embed. Where
the task takes two texts, a line holds both, a tab between them: a pair of texts, or a question and
its context.
"""

import functools
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import command_line
import pretrained
from bert_use import Use, used_as
from text_lines import LINES_AT_A_TIME, in_chunks, lines_of

from keras_transformer.tasks import (
    FillMask,
    QuestionAnswerer,
    Task,
    TextClassifier,
    TextEmbedder,
    TokenTagger,
)


@dataclass
class PredictOptions:
    """Ask a trained BERT about lines of text."""

    model: str = "runs/classify"
    """Folder of a run, or with --use a Hugging Face directory too."""
    use: Use | None = None
    """Take the encoder of the folder for this, whatever the folder's own task is."""
    file: str | None = None
    """File of texts, one a line (plain or .gz); standard input by default."""


def main() -> None:
    options = command_line.parse(PredictOptions, __doc__, positional="file")
    task = open_task(options)
    answer = functools.partial(ANSWERS[type(task)], task)
    print_answers(answer, options.file, LINES_AT_A_TIME)


def print_answers(
    answer: Callable[[list[str]], Iterator[dict[str, Any]]], file: str | None, size: int
) -> None:
    """Prints a JSON object for each line; a line that is at fault ends it after those before.

    Args:
        answer: what answers some lines.
        file: where they come from, None for standard input.
        size: most lines that are answered at a time.
    """
    number = 1
    for chunk in in_chunks(lines_of(file), file, size):
        try:
            print_objects(answer(chunk))
        except LineError as error:
            print_objects(answer(chunk[: error.index]))
            where = f"{file or 'standard input'}, line {number + error.index}"
            raise ValueError(f"{where}: {error}") from None
        number += len(chunk)
        sys.stdout.flush()


def print_objects(objects: Iterator[dict[str, Any]]) -> None:
    """Prints each as a line of JSON."""
    for found in objects:
        print(json.dumps(found, ensure_ascii=False))


def open_task(options: PredictOptions) -> Task:
    """The task of the folder, or another one around its encoder."""
    if options.use is not None:
        return used_as(options.model, options.use)
    if not pretrained.is_run(options.model):
        raise ValueError(f"{options.model} has no task of its own: choose one by --use.")
    task = Task.load(options.model)
    if type(task) not in ANSWERS:
        raise ValueError(f"{options.model} is a {type(task).__name__}: see translate.py.")
    return task


class LineError(ValueError):
    """A line that is not what the task takes."""

    def __init__(self, index: int, fault: str):
        super().__init__(fault)
        self.index = index


def two_columns(lines: list[str]) -> tuple[list[str], list[str]]:
    """The texts before and after the tab of each line; a blank line has two blank ones."""
    firsts, seconds = [], []
    for index, line in enumerate(lines):
        first, tab, second = line.partition("\t")
        if line.strip() and not tab:
            raise LineError(index, f"{line[:60]!r} must be two texts with a tab between them.")
        firsts.append(first)
        seconds.append(second)
    return firsts, seconds


def classify(task: TextClassifier, lines: list[str]) -> Iterator[dict[str, Any]]:
    """Labels and scores; a line with a tab is a pair of texts."""
    pairs = [index for index, line in enumerate(lines) if "\t" in line]
    singles = [index for index, line in enumerate(lines) if "\t" not in line]
    found: dict[int, Any] = {}
    if singles:
        texts = [lines[index] for index in singles]
        found |= zip(singles, task.classify(texts), strict=True)
    if pairs:
        columns = two_columns([lines[index] for index in pairs])
        found |= zip(pairs, task.classify(*columns), strict=True)
    return (found[index]._asdict() for index in range(len(lines)))


def tag(task: TokenTagger, lines: list[str]) -> Iterator[dict[str, Any]]:
    """Words with tags."""
    return ({"words": [word._asdict() for word in words]} for words in task(lines))


def answer_questions(task: QuestionAnswerer, lines: list[str]) -> Iterator[dict[str, Any]]:
    """Answers, best first."""
    for found in task.answer(*two_columns(lines)):
        yield found._asdict() | {"answers": [answer._asdict() for answer in found.answers]}


def fill(task: FillMask, lines: list[str]) -> Iterator[dict[str, Any]]:
    """What may stand at [MASK]."""
    return (found._asdict() for found in task(lines))


def embed(task: TextEmbedder, lines: list[str]) -> Iterator[dict[str, Any]]:
    """Vectors."""
    return ({"embedding": vector.tolist()} for vector in task(lines))


ANSWERS: dict[type[Task], Callable[[Any, list[str]], Iterator[dict[str, Any]]]] = {
    TextClassifier: classify,
    TokenTagger: tag,
    QuestionAnswerer: answer_questions,
    FillMask: fill,
    TextEmbedder: embed,
}


if __name__ == "__main__":
    command_line.run(main)
