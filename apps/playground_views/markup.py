"""Tables, marked texts and heat maps as HTML; whatever a user or a model wrote is escaped."""

from collections.abc import Sequence
from html import escape

import numpy as np

MOST_CELLS = 80
"""Most rows and columns of a heat map that are shown."""

COLOURS = ("#fde68a", "#bfdbfe", "#bbf7d0", "#fecaca", "#ddd6fe", "#fed7aa", "#a5f3fc", "#f5d0fe")

STYLE = """
.heat, .list { border-collapse: collapse; font-size: 0.9rem; width: auto !important; }
.heat-box { overflow-x: auto; padding-bottom: 0.5rem; }
.heat, .list, .heat :is(thead, tr, th), .list :is(thead, tr, th, td) { border: none !important;
  background: none !important; }
.heat th { font-weight: 500; padding: 0.15rem 0.4rem !important; white-space: pre; }
.heat tbody th { text-align: right; }
.heat thead th { vertical-align: bottom; text-align: center; }
.heat thead th.tall span { writing-mode: vertical-rl; transform: rotate(180deg); }
.heat td { border: 1px solid var(--border-color-primary) !important; padding: 0 !important;
  width: 2.2rem; min-width: 2.2rem; height: 2rem; text-align: center !important;
  font-size: 0.7rem; font-variant-numeric: tabular-nums; }
.list td, .list th { padding: 0.25rem 1.2rem 0.25rem 0 !important; text-align: left; }
.list td { border-top: 1px solid var(--border-color-primary) !important; }
.list td.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.marked { line-height: 1.7; white-space: pre-wrap; overflow-wrap: anywhere; }
.marked mark { background: #fde68a; color: #1e293b; border-radius: 0.25rem; padding: 0.1rem; }
.marked mark small { font-weight: 700; opacity: 0.65; margin-left: 0.35rem; }
.note { color: var(--body-text-color-subdued); font-size: 0.85rem; }
"""

NO_MAP = (
    "<p class='note'>This export does not show what it looks at: export it with the signature "
    "alignment for a map of it.</p>"
)


def table(head: Sequence[str], rows: Sequence[Sequence[str | float]]) -> str:
    """A table of texts and numbers; nothing without rows.

    >>> table(["text", "score"], [["<a>", 0.25]]).count("&lt;a&gt;")
    1
    """
    if not rows:
        return ""
    lines = ["<table class='list'><thead><tr>"]
    lines += [f"<th>{escape(name)}</th>" for name in head]
    lines.append("</tr></thead><tbody>")
    for row in rows:
        cells = (
            f"<td>{escape(cell)}</td>"
            if isinstance(cell, str)
            else f"<td class='number'>{cell:.4f}</td>"
            for cell in row
        )
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return "".join([*lines, "</tbody></table>"])


def marked(text: str, start: int, end: int) -> str:
    """A text whose characters from start to end are marked; none where they are the same.

    >>> marked("Ada & Bob", 0, 3)
    "<div class='marked'><mark>Ada</mark> &amp; Bob</div>"
    """
    inside = f"<mark>{escape(text[start:end])}</mark>" if end > start else ""
    return f"<div class='marked'>{escape(text[:start])}{inside}{escape(text[end:])}</div>"


def coloured(parts: Sequence[tuple[str, str | None]]) -> str:
    """Pieces of a text, in the colours of their kinds; None for a kind is no colour.

    >>> coloured([("Ada", "PER"), (" ran", None)])
    "<div class='marked'><mark style='background:#fde68a'>Ada<small>PER</small></mark> ran</div>"
    """
    kinds = sorted({kind for _, kind in parts if kind is not None})
    pieces = []
    for text, kind in parts:
        if kind is None:
            pieces.append(escape(text))
            continue
        style = f"background:{COLOURS[kinds.index(kind) % len(COLOURS)]}"
        pieces.append(f"<mark style='{style}'>{escape(text)}<small>{escape(kind)}</small></mark>")
    return f"<div class='marked'>{''.join(pieces)}</div>"


def heat_map(
    rows: Sequence[str], columns: Sequence[str], weights: np.ndarray, top: float | None = None
) -> str:
    """Numbers of at least 0 as a table of colours; nothing where there are none.

    Args:
        rows, columns: their names.
        weights: float `[rows, columns]`.
        top: the number that gets the full colour; the greatest of those shown by default.
    """
    if not len(rows) or not len(columns):
        return ""
    cut = len(rows) > MOST_CELLS or len(columns) > MOST_CELLS
    rows, columns = rows[:MOST_CELLS], columns[:MOST_CELLS]
    top = top or float(weights[:MOST_CELLS, :MOST_CELLS].max()) or 1.0
    lines = ["<div class='heat-box'><table class='heat'><thead><tr><th></th>"]
    for name in columns:  # by longer names columns would be wide
        tall = " class='tall'" if len(name) > 3 else ""
        lines.append(f"<th{tall}><span>{escape(name)}</span></th>")
    lines.append("</tr></thead><tbody>")
    for name, values in zip(rows, weights, strict=False):
        lines.append(f"<tr><th>{escape(name)}</th>")
        for column, value in zip(columns, values, strict=False):
            lines.append(_cell(f"{name} \u2192 {column}: {value:.3f}", float(value), top))
        lines.append("</tr>")
    lines.append("</tbody></table></div>")
    if cut:
        lines.append(f"<p class='note'>The first {MOST_CELLS} rows and columns.</p>")
    return "".join(lines)


def _cell(title: str, value: float, top: float) -> str:
    """A cell whose colour and text say the value; the text of small ones is left out."""
    strength = min(max(value / top, 0.0), 1.0)
    ink = "#fff" if strength > 0.55 else "inherit"
    style = f"background:rgba(79,70,229,{strength:.2f}) !important;color:{ink}"
    said = f"{value:.2f}".removeprefix("0") if strength >= 0.1 or value < 0 else ""
    return f"<td style='{style}' title='{escape(title, quote=True)}'>{said}</td>"


def token_texts(text: str, tokens: Sequence[str], spans: Sequence[tuple[int, int]]) -> list[str]:
    """What tokens cover of their text; the token itself where that is nothing.

    >>> token_texts("a dog", ["a", "\u2581dog", "</s>"], [(0, 1), (1, 5), (5, 5)])
    ['a', 'dog', '</s>']
    """
    return [
        text[start:end].strip() or token for token, (start, end) in zip(tokens, spans, strict=True)
    ]
