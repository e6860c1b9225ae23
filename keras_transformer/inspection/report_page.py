"""The report of a training as a page: what it is, its curves, its data, what came out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from keras_transformer.inspection import line_chart
from keras_transformer.inspection.line_chart import number
from keras_transformer.inspection.page import html_page
from keras_transformer.inspection.report_curves import best_row, charts, measure
from keras_transformer.inspection.report_tables import (
    as_given,
    at_time,
    duration,
    score_rows,
    spaced,
    table,
)

SHOWN_SAMPLES = 8  # of those made during a training, from its beginning to its end

STYLE = """
.head { display: flex; flex-wrap: wrap; gap: .6rem 1rem; align-items: center; }
.state { border-radius: 1rem; padding: .12rem .8rem; font-size: .88rem; font-weight: 600;
  color: var(--page); background: var(--tone); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .7rem;
  margin: 1.2rem 0; padding: 0; }
.tiles div { padding: .7rem .9rem; }
.tiles dt { color: var(--soft); font-size: .82rem; }
.tiles dd { margin: .1rem 0 0; font-size: 1.35rem; font-weight: 600; line-height: 1.2;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.tiles dd small { display: block; color: var(--soft); font-size: .8rem; font-weight: 400; }
.charts { display: grid; gap: .8rem;
  grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); }
.charts.three { grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); }
.note { color: var(--soft); font-size: .88rem; margin: .4rem 0 0; }
.samples { display: grid; gap: .6rem; }
.samples article { padding: .6rem 1rem; }
.samples dl { display: grid; grid-template-columns: fit-content(30%) minmax(0, 1fr);
  gap: .15rem .9rem; margin: 0; }
.samples dt { color: var(--soft); overflow-wrap: anywhere; }
.samples dd { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext; }
.samples .when { color: var(--soft); font-size: .85rem; }
details { margin: .6rem 0; } summary { cursor: pointer; font-weight: 600; padding: .35rem 0; }
.options { columns: 22rem; column-gap: 2rem; font-size: .9rem; padding: .7rem 1rem; }
.options div { break-inside: avoid; display: flex; justify-content: space-between; gap: 1rem;
  padding: .12rem 0; }
.options span:last-child { text-align: right; overflow-wrap: anywhere; }
"""

# A training that goes on writes the page anew; not while somebody reads in it. One that was killed
# could not say so.
RELOAD = """
const silent = document.getElementById("silent");
const minutes = Math.floor((Date.now() - Date.parse(silent.dataset.since)) / 60000);
if (minutes >= 10) {
  silent.textContent = `Nothing was written for ${minutes.toLocaleString("en")} minutes. ` +
    "If nothing is being scored or exported, the run was killed.";
}
setInterval(() => {
  if (!document.querySelector("details[open], .chart:hover, .chart svg:focus")) location.reload();
}, 20000);
"""

TONES = {"running": "busy", "done": "good", "stopped": "c2", "failed": "bad"}


def report_page(facts: Mapping[str, Any]) -> str:
    """The page of a report, as HTML that names no other file and no address.

    Args:
        facts: what `report.json` holds.

    >>> from keras_transformer.inspection.training_report import TrainingReport
    >>> "runs/mine" in report_page(TrainingReport("runs/mine").facts)
    True
    """
    drawn = charts([facts])
    parts = [
        _head(facts),
        _tiles(facts),
        _section("Curves", chart_grid(drawn.main)),
        _note(facts),
        _section("Scores", score_table([(None, facts)])),
        _section("Samples", _samples(facts["samples"])),
        _section("Data", data_table(facts)),
        _details("Further curves", chart_grid(drawn.others)),
        _details("Options", _options(facts["options"])),
        _details("Model", _options(facts["model"].get("config", {}))),
        _details("Made with", _options(_made_with(facts))),
    ]
    return html_page(
        f"{facts['title']}: {facts['state']}",
        "\n".join(filter(None, parts)),
        line_chart.STYLE + STYLE,
        line_chart.SCRIPT + (RELOAD if facts["state"] == "running" else ""),
    )


def score_table(runs: Sequence[tuple[str | None, Mapping[str, Any]]]) -> str:
    """The final scores of runs, a column each; "" where no run has any."""
    columns = [dict(score_rows(facts["scores"])) for _, facts in runs]
    names = list(dict.fromkeys(name for column in columns for name in column))
    rows = [(name, [column.get(name) for column in columns]) for name in names]
    return table([name for name, _ in runs], rows) if rows else ""


def _head(facts: Mapping[str, Any]) -> str:
    state, message = facts["state"], facts["message"]
    times = [facts["command"]] if facts["command"] else []
    if facts["started"]:
        times.append(f"began {at_time(facts['started'])}")
    if facts["resumed"]:
        times.append(f"resumed {at_time(facts['resumed'][-1])}")
    if facts["updated"]:
        goes_on = ", renewed while the run goes on" if state == "running" else ""
        times.append(f"this page is of {at_time(facts['updated'])}{goes_on}")
    said = f"<p>{escape(message)}</p>" if message else ""
    if state == "running":
        said += f"<p id='silent' data-since='{escape(facts['updated'] or '')}'></p>"
    return (
        f"<header><div class='head'><h1>{escape(facts['title'])}</h1>"
        f"<span class='state' style='--tone: var(--{TONES[state]})'>{state}</span></div>"
        f"<div class='soft'>{escape(' · '.join(times))}</div>{said}</header>"
    )


def _tiles(facts: Mapping[str, Any]) -> str:
    tiles: list[tuple[str, str, str]] = []  # name, value, what else
    last = facts["epochs"][-1] if facts["epochs"] else None
    if (best := best_row(facts)) is not None:
        name = facts["score"]["name"]
        after = f"after {best['updates']:,} updates"
        tiles.append((f"best {measure(name)} (validation)", number(best[name]), after))
    elif last is not None and "loss" in last:
        tiles.append(("loss", number(last["loss"]), f"epoch {last['epoch']}"))
    if last is not None:
        tiles.append(("updates", f"{last['updates']:,}", _count(last["epoch"], "epoch")))
        tiles.append(("time in training", duration(last["seconds"]), ""))
        speeds = [r["tokens_per_second"] for r in facts["epochs"] if "tokens_per_second" in r]
        if speeds:
            middle = sorted(speeds)[len(speeds) // 2]
            tiles.append(("tokens per second", f"{middle:,.0f}", "median of the epochs"))
    model = facts["model"]
    if model:
        kind = f"{model['class']}, {model['precision']}"
        tiles.append(("weights", number(model["parameters"]), kind))
    for device in facts["devices"][:1]:
        tiles.append(("trained on", device, ", ".join(facts["devices"][1:])))
    cells = "".join(
        f"<div class='card'><dt>{escape(name)}</dt><dd>{escape(value)}"
        f"{f'<small>{escape(more)}</small>' if more else ''}</dd></div>"
        for name, value, more in tiles
    )
    return f"<dl class='tiles'>{cells}</dl>" if cells else ""


def chart_grid(drawn: Sequence[str]) -> str:
    """Charts side by side, two or three in a row; "" without any."""
    kind = "charts three" if len(drawn) % 3 == 0 else "charts"
    return f"<div class='{kind}'>{''.join(drawn)}</div>" if drawn else ""


def _note(facts: Mapping[str, Any]) -> str:
    if not facts["epochs"] and not facts["within"]:
        return "<p class='note'>No epoch is over yet.</p>"
    said = "A point for each epoch. Point at a curve, or go along it with the arrow keys."
    if facts["within"]:
        said += " Of the training there are points within epochs, too, some seconds apart."
    return f"<p class='note'>{said}</p>"


def data_table(facts: Mapping[str, Any]) -> str:
    """What became of the data, a column for each split; "" where nothing is known."""
    data = facts["data"]
    names = list(dict.fromkeys(name for counts in data.values() for name in counts))
    rows = [(spaced(name), [counts.get(name) for counts in data.values()]) for name in names]
    return table(list(data), rows) if rows else ""


def _samples(samples: Sequence[Mapping[str, Any]]) -> str:
    during = [sample for sample in samples if sample["updates"] is not None]
    final = [sample for sample in samples if sample["updates"] is None]
    if len(during) > SHOWN_SAMPLES:
        last = len(during) - 1
        places = [round(i * last / (SHOWN_SAMPLES - 1)) for i in range(SHOWN_SAMPLES)]
        during = [during[place] for place in places]
    articles = "".join(_sample(sample) for sample in [*final, *reversed(during)])
    return f"<div class='samples'>{articles}</div>" if articles else ""


def _sample(sample: Mapping[str, Any]) -> str:
    when = ""
    if sample["updates"] is not None:
        when = f"<div class='when'>after {sample['updates']:,} updates</div>"
    return sample_article(sample["texts"].items(), when)


def sample_article(texts: Iterable[tuple[str, str]], before: str = "") -> str:
    """Named texts that belong together, under each other.

    >>> "<dt>model</dt><dd>1 &lt; 2</dd>" in sample_article([("model", "1 < 2")])
    True
    """
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in texts)
    return f"<article class='card'>{before}<dl>{rows}</dl></article>"


def _options(options: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<div><span class='soft'>{escape(spaced(name))}</span>"
        f"<span>{escape(as_given(value))}</span></div>"
        for name, value in options.items()
    )
    return f"<div class='card options'>{rows}</div>" if rows else ""


def _made_with(facts: Mapping[str, Any]) -> dict[str, Any]:
    commit = {"commit": facts["commit"]} if facts["commit"] else {}
    return facts["versions"] | commit


def _section(title: str, body: str) -> str:
    return f"<h2>{escape(title)}</h2>\n{body}" if body else ""


def _details(title: str, body: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{body}</details>" if body else ""


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}{'' if number == 1 else 's'}"
