"""Which curves a training's report has: training beside validation, one run or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from keras_transformer.inspection.line_chart import COLOURS, Line, line_chart

NO_CURVES = ("epoch", "updates", "seconds")  # what else a row has
SPEED = {"learning_rate": "Learning rate", "tokens_per_second": "Tokens per second"}


class Charts(NamedTuple):
    """Curves as HTML, each a figure."""

    main: list[str]
    """Loss, score, learning rate, speed."""
    others: list[str]
    """Everything else that was measured."""


def charts(runs: Sequence[Mapping[str, Any]], names: Sequence[str] = ()) -> Charts:
    """The curves of a run, or the same curves of several runs over each other.

    Args:
        runs: what their `report.json` hold.
        names: of the runs, where there are several.
    """
    measured = dict.fromkeys(
        name for run in runs for row in run["epochs"] for name in row if name not in NO_CURVES
    )
    scores = {run["score"]["name"] for run in runs if run["score"]}
    groups: dict[str, list[str]] = {}  # title -> names in the logs
    for name in measured:
        groups.setdefault(_group(name, scores), []).append(name)
    groups.setdefault("loss", [])  # an epoch may be long
    first = ["loss", *(name for name in groups if scores & set(groups[name])), *SPEED]
    main = [name for name in dict.fromkeys(first) if name in groups]
    others = [name for name in groups if name not in main]

    last = max((row["updates"] for run in runs for row in run["epochs"]), default=0)

    def draw(group: str) -> str:
        lines = _lines(group, groups[group], runs, names)
        return line_chart(_title(group), lines, x_last=last, from_zero=group in SPEED)

    return Charts(*([chart for group in part if (chart := draw(group))] for part in (main, others)))


def best_row(run: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The epoch with the best score of a run; None where there is none.

    >>> rows = [{"bleu": 1.0}, {"bleu": 3.0}, {"loss": 2.0}, {"bleu": 2.0}]
    >>> best_row({"score": {"name": "bleu", "mode": "max"}, "epochs": rows})
    {'bleu': 3.0}
    """
    score = run["score"]
    rows = [row for row in run["epochs"] if score and row.get(score["name"]) is not None]
    if not rows:
        return None
    pick = max if score["mode"] == "max" else min
    return pick(rows, key=lambda row: row[score["name"]])


def _group(name: str, scores: set[str]) -> str:
    """Names in the logs that are drawn together: training, validation, and the score's loss."""
    if name in scores:
        return "loss" if name == "valid_loss" else name
    return name.removeprefix("val_")


def _title(group: str) -> str:
    if group in SPEED:
        return SPEED[group]
    words = measure(group)
    return words[:1].upper() + words[1:]


def measure(name: str) -> str:
    """What a score is called.

    >>> measure("valid_bleu"), measure("valid_word_accuracy")
    ('BLEU', 'word accuracy')
    """
    words = name.removeprefix("valid_").replace("_", " ")
    return {"bleu": "BLEU", "chrf": "chrF", "rouge": "ROUGE", "f1": "F1"}.get(words, words)


def _lines(
    group: str, logged: Sequence[str], runs: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> list[Line]:
    """A curve for each of the logged names; of several runs in the run's colour."""
    several = len(runs) > 1
    lines = []
    for number, run in enumerate(runs):
        finer = _points(run["within"], "loss") if group == "loss" and not several else None
        if finer and len(finer[0]) > 2 * len(run["epochs"]):
            lines.append(Line("training", *finer))
        else:
            finer = None
        for place, name in enumerate(logged):
            rows = [*run["epochs"], *(run["within"] if group in SPEED else ())]
            if not (points := _points(rows, name)):
                continue
            of_training = not name.startswith("val")
            if finer and of_training:
                continue
            best = best_row(run) if run["score"] and run["score"]["name"] == name else None
            lines.append(
                Line(
                    names[number] if several else _kind(group, name),
                    *points,
                    colour=(number if several else place) % COLOURS + 1,
                    faint=several and of_training and len(logged) > 1,
                    best=None if best is None else points[0].index(best["updates"]),
                )
            )
    return lines


def _points(rows: Sequence[Mapping[str, Any]], name: str) -> tuple[list[int], list[float]] | None:
    """Updates and values of the rows that have one, in the order of the updates; of rows with the
    same number of updates the first counts."""
    having = {row["updates"]: row[name] for row in reversed(rows) if row.get(name) is not None}
    points = sorted(having.items())
    return ([x for x, _ in points], [y for _, y in points]) if points else None


def _kind(group: str, name: str) -> str:
    if group in SPEED:
        return group.replace("_", " ")
    return "validation" if name.startswith("val") else "training"
