"""Runs side by side: what differs in their options, how they went, what came out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from statistics import median
from typing import Any, NamedTuple

from keras_transformer.inspection import line_chart, report_page
from keras_transformer.inspection.page import html_page
from keras_transformer.inspection.report_curves import best_row, charts, measure
from keras_transformer.inspection.report_tables import (
    as_given,
    at_time,
    duration,
    score_rows,
    table,
)
from keras_transformer.inspection.training_report import read_report

NOT_COMPARED = ("output", "export", "resume")  # options that say nothing of the training
MOST_SAMPLES = 5

STYLE = """
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; margin: .8rem 0; }
.legend span, .chart .key { overflow-wrap: anywhere; white-space: normal; }
.legend span::before { content: ""; display: inline-block; width: 1.1rem; height: .3rem;
  border-radius: .15rem; margin-right: .45rem; vertical-align: middle; background: var(--c); }
"""


class Section(NamedTuple):
    """Some rows of a comparison."""

    title: str
    rows: list[tuple[str, list[Any]]]
    """Name, and a value for each run; None where a run has none."""


class Comparison:
    """Runs side by side.

    Args:
        folders: of runs with a `report.json`.

    Raises:
        ValueError: when there are none, or a folder has no report that can be read.

    Example:
        >>> comparison = Comparison(["runs/a", "runs/b"])  # doctest: +SKIP
        >>> Path("comparison.html").write_text(comparison.page())  # doctest: +SKIP
    """

    def __init__(self, folders: Sequence[str | os.PathLike[str]]):
        if not folders:
            raise ValueError("There is nothing to compare: give the folders of runs.")
        self.runs = [read_report(folder) for folder in folders]
        self.names = [run["title"] for run in self.runs]
        if len(set(self.names)) < len(self.names):
            self.names = [str(folder) for folder in folders]

    def sections(self) -> list[Section]:
        """What there is to say, without rows that no run has."""
        found = [
            Section("Training", list(self._training())),
            Section("Scores", list(self._scores())),
            Section("Options that differ", list(self._differing())),
            Section("Data", list(self._data())),
            Section("Versions that differ", list(self._versions())),
        ]
        return [section for section in found if section.rows]

    def page(self) -> str:
        """The same as HTML that needs no other file, with curves over each other and samples."""
        drawn = charts(self.runs, self.names)
        legend = "".join(
            f"<span style='--c: var(--c{colour})'>{escape(name)}</span>"
            for colour, name in self._coloured()
        )
        tables = "\n".join(
            f"<h2>{escape(section.title)}</h2>\n{table(self.names, section.rows)}"
            for section in self.sections()
        )
        body = (
            f"<h1>{len(self.runs)} runs side by side</h1><div class='legend'>{legend}</div>"
            f"<h2>Curves</h2>{report_page.chart_grid(drawn.main)}"
            "<p class='note'>Of two curves of a run the faint one is that of the training data."
            f"</p>\n{tables}\n{self._samples()}"
        )
        style = line_chart.STYLE + report_page.STYLE + STYLE
        return html_page(", ".join(self.names), body, style, line_chart.SCRIPT)

    def _coloured(self) -> Iterator[tuple[int, str]]:
        for number, name in enumerate(self.names):
            yield number % line_chart.COLOURS + 1, name

    def _row(self, name: str, values: Sequence[Any]) -> Iterator[tuple[str, list[Any]]]:
        if any(value is not None for value in values):
            yield name, list(values)

    def _training(self) -> Iterator[tuple[str, list[Any]]]:
        runs = self.runs
        last = [run["epochs"][-1] if run["epochs"] else {} for run in runs]
        yield from self._row("state", [_state(run) for run in runs])
        yield from self._row("model", [run["model"].get("class") for run in runs])
        yield from self._row("weights", [run["model"].get("parameters") for run in runs])
        yield from self._row("trained on", [", ".join(run["devices"]) or None for run in runs])
        yield from self._row("updates", [row.get("updates") for row in last])
        yield from self._row("epochs", [row.get("epoch") for row in last])
        times = [duration(row["seconds"]) if row else None for row in last]
        yield from self._row("time in training", times)
        speeds = [
            [row["tokens_per_second"] for row in run["epochs"] if row.get("tokens_per_second")]
            for run in runs
        ]
        found = [round(median(some)) if some else None for some in speeds]
        yield from self._row("tokens per second (median)", found)
        yield from self._row("last loss of training", [row.get("loss") for row in last])
        names = dict.fromkeys(run["score"]["name"] for run in runs if run["score"])
        for name in names:
            best = [
                best_row(run) if run["score"] and run["score"]["name"] == name else None
                for run in runs
            ]
            words = f"best {measure(name)} (validation)"
            yield from self._row(words, [row and row[name] for row in best])
            yield from self._row("  after updates", [row and row["updates"] for row in best])

    def _scores(self) -> Iterator[tuple[str, list[Any]]]:
        columns = [dict(score_rows(run["scores"])) for run in self.runs]
        for name in dict.fromkeys(name for column in columns for name in column):
            yield from self._row(name, [column.get(name) for column in columns])

    def _differing(self) -> Iterator[tuple[str, list[str]]]:
        options = [run["options"] for run in self.runs]
        for name in dict.fromkeys(name for some in options for name in some):
            values = [some.get(name) for some in options]
            if name not in NOT_COMPARED and any(value != values[0] for value in values):
                yield name.replace("_", " "), [as_given(value) for value in values]

    def _data(self) -> Iterator[tuple[str, list[Any]]]:
        splits = dict.fromkeys(split for run in self.runs for split in run["data"])
        for split in splits:
            counts = [run["data"].get(split, {}) for run in self.runs]
            for name in ("name", "read", "kept", "dropped", "tokens", "mean_length", "longest"):
                values = [some.get(name) for some in counts]
                yield from self._row(f"{split}: {name.replace('_', ' ')}", values)

    def _versions(self) -> Iterator[tuple[str, list[Any]]]:
        made = [run["versions"] | {"commit": run["commit"]} for run in self.runs]
        for name in dict.fromkeys(name for some in made for name in some):
            values = [some.get(name) for some in made]
            if any(value != values[0] for value in values):
                yield name, values

    def _samples(self) -> str:
        """What each run makes of the same texts."""
        answers = [
            {
                next(iter(sample["texts"].values())): sample["texts"]
                for sample in run["samples"]
                if sample["updates"] is None and "model" in sample["texts"]
            }
            for run in self.runs
        ]
        asked = [text for text in answers[0] if all(text in some for some in answers)]
        articles = "".join(
            _sample([some[text] for some in answers], self.names) for text in asked[:MOST_SAMPLES]
        )
        return f"<h2>Samples</h2><div class='samples'>{articles}</div>" if articles else ""


def _state(run: Mapping[str, Any]) -> str:
    """How a run ended; of one that did not, or that was killed, when it last wrote its report."""
    is_known = run["state"] == "running" and run["updated"]
    return f"running at {at_time(run['updated'])}" if is_known else run["state"]


def _sample(texts: Sequence[Mapping[str, str]], names: Sequence[str]) -> str:
    shared = [(name, text) for name, text in texts[0].items() if name != "model"]
    rows = [*shared[:1], *zip(names, (some["model"] for some in texts), strict=True), *shared[1:]]
    return report_page.sample_article(rows)
