"""Topics as one page of HTML that needs nothing else, for light and dark screens."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

from keras_transformer.inspection.page import html_page
from keras_transformer.inspection.topic import Matrix, Step, Topic
from keras_transformer.inspection.trace_figures import as_svg
from keras_transformer.text.files import write_atomically

_STYLE = """
body { line-height: 1.55; }
h2 { font-size: 1.45rem; margin: 3rem 0 .3rem; }
h3 { font-size: 1.02rem; margin: 0; }
p { margin: .4rem 0; max-width: 46rem; }
nav { display: flex; flex-wrap: wrap; gap: .4rem; margin: 1rem 0; }
nav a { border: 1px solid var(--line); border-radius: 1rem; padding: .15rem .75rem;
  color: inherit; text-decoration: none; font-size: .9rem; background: var(--card); }
nav a:hover, nav a:focus-visible { border-color: var(--c1); }
.steps { display: flex; flex-wrap: wrap; gap: .8rem; margin: .8rem 0; }
article { padding: .9rem 1.1rem; overflow-x: auto; flex: 1 1 auto; max-width: 100%;
  min-width: min(15rem, 100%); }
article.wide { flex-basis: 100%; }
article p { color: var(--soft); width: 0; min-width: min(100%, 46rem); }
h3 .number { color: var(--soft); font-weight: 400; margin-right: .4rem; }
.formula { display: block; margin: .35rem 0; white-space: pre-wrap; font-size: 1.02rem;
  font-family: "Cambria Math", "STIX Two Math", "DejaVu Serif", Georgia, serif; }
table { border-collapse: separate; border-spacing: 2px; margin: .5rem 0; }
tbody tr + tr > * { border-top: 0; }
th { font-weight: 500; color: var(--soft); padding: .12rem .55rem; white-space: nowrap; }
td { padding: .16rem .6rem; border-radius: .2rem; }
td.short { white-space: nowrap; }
td.n { background: color-mix(in srgb, var(--tint, transparent) var(--share, 0%), transparent); }
td.off { color: var(--soft); }
.result { display: flex; flex-wrap: wrap; gap: .4rem 2rem; align-items: center; }
figure { margin: .3rem 0; flex: 0 1 40rem; }
figure svg { max-width: 100%; height: auto; display: block; }
"""


def write_topics_page(path: str | os.PathLike[str], topics: Sequence[Topic], title: str) -> None:
    """Writes topics as one HTML file, under a temporary name and then renamed.

    Raises:
        ValueError: when a topic has a picture and matplotlib is not installed.
        OSError: when the file cannot be written.
    """
    path = Path(path)
    page = topics_page(topics, title)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, page.encode("utf-8"))


def topics_page(topics: Sequence[Topic], title: str) -> str:
    """Topics as HTML; it names no other file and no address.

    >>> page = topics_page([Topic("Doubling", "Twice.", [Step("Twice", "2 x")])], "Numbers")
    >>> page.startswith("<!doctype html>"), "<h2>Doubling</h2>" in page
    (True, True)
    """
    links = "".join(
        f'<a href="#topic-{number}">{_prose(topic.title)}</a>'
        for number, topic in enumerate(topics, start=1)
    )
    sections = "\n".join(
        _section(number, topic, alone=topic.title == title)
        for number, topic in enumerate(topics, start=1)
    )
    navigation = f"<nav>{links}</nav>\n" if len(topics) > 1 else ""
    return html_page(title, f"<h1>{_prose(title)}</h1>\n{navigation}{sections}", _STYLE)


def _section(number: int, topic: Topic, alone: bool) -> str:
    head = "" if alone else f"<h2>{_prose(topic.title)}</h2>\n"
    steps = "\n".join(_article(place, step) for place, step in enumerate(topic.steps, start=1))
    return (
        f'<section id="topic-{number}">\n{head}'
        f'<p>{_prose(topic.sentence)}</p>\n<div class="steps">\n{steps}\n</div>\n</section>'
    )


def _article(number: int, step: Step) -> str:
    parts = [f'<h3><span class="number">{number}</span>{_prose(step.title)}</h3>']
    if step.formula:
        parts.append(f'<span class="formula">{_prose(step.formula)}</span>')
    result = [] if step.matrix is None else [_table(step.matrix)]
    if step.picture is not None:
        picture = as_svg(step.picture())
        result.append(f'<figure role="img" aria-label="{escape(step.title)}">{picture}</figure>')
    if result:
        parts.append(f'<div class="result">{"".join(result)}</div>')
    if step.sentence:
        parts.append(f"<p>{_prose(step.sentence)}</p>")
    wide = step.picture is not None or (
        step.matrix is not None and max(map(len, step.matrix.cells()), default=0) > 5
    )
    kind = "card wide" if wide else "card"
    return f'<article class="{kind}">\n' + "\n".join(parts) + "\n</article>"


def _prose(text: str) -> str:
    """Escaped, with `d_k` as it is printed."""
    return re.sub(r"\bd_k\b", "d<sub>k</sub>", escape(text))


def _table(matrix: Matrix) -> str:
    cells, shades = matrix.cells(), _shades(matrix)
    number = [
        all(not isinstance(row[i], str) for row in matrix.values)
        for i in range(len(matrix.values[0]))
    ]
    lines = []
    if matrix.columns:
        corner = "<th></th>" if matrix.rows else ""
        heads = "".join(
            f'<th scope="col"{_class(is_number)}>{_prose(name)}</th>'
            for name, is_number in zip(matrix.columns, number, strict=True)
        )
        lines.append(f"<tr>{corner}{heads}</tr>")
    for i, row in enumerate(cells):
        name = f'<th scope="row">{escape(matrix.rows[i])}</th>' if matrix.rows else ""
        lines.append(
            f"<tr>{name}"
            + "".join(
                f"<td{_class(number[j], cell)}{shades[i][j]}>{escape(cell)}</td>"
                for j, cell in enumerate(row)
            )
            + "</tr>"
        )
    return "<table>\n" + "\n".join(lines) + "\n</table>"


def _class(is_number: bool, cell: str = "") -> str:
    names = ["n"] * is_number + ["off"] * (cell == "·")
    names += ["short"] * (not is_number and 0 < len(cell) <= 40)
    return f' class="{" ".join(names)}"' if names else ""


def _shades(matrix: Matrix) -> list[list[str]]:
    """A style for each cell: the larger a number, the deeper; negative ones in another colour."""
    numbers = matrix.numbers() if matrix.shaded else None
    if numbers is None:
        return [[""] * len(row) for row in matrix.values]
    usual = np.abs(numbers[np.abs(numbers) < 1e7])  # a hidden score would outshine all others
    largest = usual.max(initial=0.0) or 1.0
    return [
        [
            f' style="--tint: var(--{"c1" if value > 0 else "c2"}); '
            f'--share: {45 * min(abs(value) / largest, 1):.0f}%"'
            for value in row
        ]
        for row in numbers
    ]
