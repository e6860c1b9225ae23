"""Values of reports in words, and tables of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from keras_transformer.inspection.line_chart import number


def table(heads: Sequence[str | None], rows: Iterable[tuple[str, Sequence[Any]]]) -> str:
    """Named rows of values; where columns have heads, these and all values stand on the right.

    >>> "<td class='n'>1,234</td>" in table(["run"], [("updates", [1234])])
    True
    """
    kind = " class='n'" if any(heads) else ""
    head = ""
    if any(heads):
        cells = "".join(f"<th class='n'>{escape(name or '')}</th>" for name in heads)
        head = f"<thead><tr><th></th>{cells}</tr></thead>"
    lines = (
        f"<tr><th scope='row'>{escape(name)}</th>"
        f"{''.join(f'<td{kind}>{escape(in_words(value))}</td>' for value in values)}</tr>"
        for name, values in rows
    )
    return f"<div class='card scroll'><table>{head}<tbody>{''.join(lines)}</tbody></table></div>"


def score_rows(scores: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Numbers and texts with the way to them in words; a score that has a name goes by that.

    >>> list(score_rows({"test": {"b": {"name": "BLEU", "value": 3.5}, "rows_kept": 2}, "x": []}))
    [('test: BLEU', 3.5), ('test: rows kept', 2)]
    """
    for key, value in scores.items():
        name = before + spaced(key)
        if isinstance(value, Mapping) and {"name", "value"} <= value.keys():
            name = before + str(value["name"])
            yield name, value["value"]
            others = {key: part for key, part in value.items() if key not in ("name", "value")}
            yield from score_rows(others, f"{name}: ")
        elif isinstance(value, Mapping):
            yield from score_rows(value, f"{name}: ")
        elif isinstance(value, str | int | float):
            yield name, value


def in_words(value: Any) -> str:
    """A value of a report as text.

    >>> [in_words(v) for v in (None, True, 1234, 0.12345678, ["a", 1], {"x": 2}, "text")]
    ['–', 'yes', '1,234', '0.1235', 'a, 1', 'x: 2', 'text']
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) >= 1e-3 or not value else number(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {in_words(part)}" for name, part in value.items()) or "–"
    if isinstance(value, list | tuple):
        return ", ".join(map(in_words, value)) or "–"
    return str(value)


def as_given(value: Any) -> str:
    """A value of an option, as it would be given.

    >>> [as_given(v) for v in (2024, 1e-4, {"hidden_size": 8}, True, None)]
    ['2024', '0.0001', '{"hidden_size": 8}', 'yes', '–']
    """
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if type(value) is int else in_words(value)


def duration(seconds: float) -> str:
    """Seconds as a clock shows them.

    >>> duration(59), duration(3725)
    ('0:59', '1:02:05')
    """
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


def at_time(iso: str) -> str:
    """A point in time, to be read.

    >>> at_time("2026-11-30T20:21:50+00:00")
    '2026-11-30 20:21:50 UTC'
    """
    return iso.replace("T", " ").replace("+00:00", " UTC")


def spaced(name: str) -> str:
    """A name of an option or a count, as words."""
    return name.replace("_", " ")
