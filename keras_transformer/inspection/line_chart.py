"""Curves as SVG inside of a page: values under the pointer, or by the arrow keys."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

FEW = 30  # points that are drawn as such
COLOURS = 6  # that a page has to tell curves apart
WIDTH, HEIGHT = 520, 250
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 12, 34  # room around the curves

STYLE = """
.chart { padding: .8rem .9rem .5rem; margin: 0; position: relative; }
.chart figcaption { display: flex; flex-wrap: wrap; gap: .1rem 1rem; align-items: baseline; }
.chart figcaption b { font-weight: 600; }
.chart .key { font-size: .85rem; color: var(--soft); white-space: nowrap; }
.chart .key::before { content: ""; display: inline-block; width: .9rem; height: .22rem;
  border-radius: .1rem; margin-right: .35rem; vertical-align: middle; background: var(--c); }
.chart svg { display: block; width: 100%; height: auto; border-radius: .3rem; }
.chart svg text { fill: var(--soft); font-size: 11px; font-variant-numeric: tabular-nums; }
.chart .grid { stroke: var(--line); stroke-width: 1; }
.chart .curve { fill: none; stroke: var(--c); stroke-width: 2; stroke-linejoin: round;
  stroke-linecap: round; }
.chart .curve.faint { stroke-width: 1; opacity: .55; }
.chart circle { fill: var(--card); stroke: var(--c); stroke-width: 2; }
.chart .rule { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 3 3; visibility: hidden; }
.chart .said { position: absolute; pointer-events: none; visibility: hidden; padding: .3rem .55rem;
  font-size: .82rem; background: var(--card); border: 1px solid var(--line); border-radius: .4rem;
  box-shadow: 0 2px 8px rgb(0 0 0 / .18); white-space: pre; font-variant-numeric: tabular-nums; }
"""

# Each chart carries its points: [x in the picture, what to say].
SCRIPT = """
for (const chart of document.querySelectorAll(".chart[data-points]")) {
  const points = JSON.parse(chart.dataset.points), svg = chart.querySelector("svg");
  const rule = svg.querySelector(".rule"), said = chart.querySelector(".said");
  let at = points.length - 1;
  const show = () => {
    const [x, text] = points[at];
    rule.setAttribute("x1", x); rule.setAttribute("x2", x); rule.style.visibility = "visible";
    said.textContent = text; said.style.visibility = "visible";
    const box = svg.getBoundingClientRect(), around = chart.getBoundingClientRect();
    const left = box.left - around.left + x / svg.viewBox.baseVal.width * box.width;
    const flip = left + said.offsetWidth + 14 > around.width;
    said.style.left = (flip ? left - said.offsetWidth - 10 : left + 10) + "px";
    said.style.top = (box.top - around.top + 14) + "px";
  };
  const hide = () => { rule.style.visibility = said.style.visibility = "hidden"; };
  svg.addEventListener("pointermove", event => {
    const box = svg.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
    at = points.reduce((best, p, i) =>
      Math.abs(p[0] - x) < Math.abs(points[best][0] - x) ? i : best, 0);
    show();
  });
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("focus", show);
  svg.addEventListener("blur", hide);
  svg.addEventListener("keydown", event => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!step) return;
    at = Math.min(points.length - 1, Math.max(0, at + step));
    event.preventDefault(); show();
  });
}
"""


@dataclass(frozen=True)
class Line:
    """A curve.

    Attributes:
        name: what the key calls it.
        x: where its points are, rising.
        y: their values, as many.
        colour: number of the page's colour, from 1.
        faint: whether it stands behind the others.
        best: number of the point to mark.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    colour: int = 1
    faint: bool = False
    best: int | None = None


def line_chart(
    title: str,
    lines: Sequence[Line],
    x_name: str = "updates",
    *,
    x_last: float | None = None,
    from_zero: bool = False,
) -> str:
    """Curves over a common axis, as HTML for a page with this module's `STYLE` and `SCRIPT`.

    Args:
        title: what is drawn.
        lines: the curves.
        x_name: what the axis counts, from 0.
        x_last: where it ends, as in other charts beside this one; with the last point by default.
        from_zero: let the values' axis begin at 0, so that heights can be compared.

    Points whose value is not finite are left out. Without any point there is no chart: "".

    >>> chart = line_chart("Loss", [Line("training", [10, 20], [2.5, 1.5])])
    >>> chart.count("<path"), "training" in chart, line_chart("Loss", [])
    (1, True, '')
    """
    lines = [_finite(line) for line in lines]
    lines = [line for line in lines if line.x]
    if not lines:
        return ""
    x_last = max(x_last or 0.0, *(line.x[-1] for line in lines))
    x_ticks = [value for value in ticks(0.0, x_last, 6) if value <= x_last]
    lowest, highest = min(min(line.y) for line in lines), max(max(line.y) for line in lines)
    y_ticks = ticks(min(lowest, 0.0) if from_zero else lowest, highest, 5)
    across = _scale(0.0, x_last or 1.0, LEFT, WIDTH - RIGHT)
    up = _scale(min(y_ticks[0], lowest), max(y_ticks[-1], highest), HEIGHT - BOTTOM, TOP)
    parts = []
    for value in y_ticks:
        y = f"{up(value):.1f}"
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(
            f'<text x="{LEFT - 7}" y="{up(value) + 4:.1f}" text-anchor="end">{number(value)}</text>'
        )
    for value in x_ticks:
        parts.append(
            f'<text x="{across(value):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">'
            f"{number(value)}</text>"
        )
    parts.append(
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 3}" text-anchor="end">{escape(x_name)}</text>'
    )
    parts.append(f'<line class="rule" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
    for line in sorted(lines, key=lambda line: not line.faint):
        parts += _curve(line, across, up)
    keys = "".join(
        f'<span class="key" style="--c: var(--c{line.colour})">{escape(line.name)}</span>'
        for line in {line.name: line for line in lines}.values()
        if len(lines) > 1 or line.name.lower() != title.lower()
    )
    points = escape(json.dumps(_points(lines, across, x_name), ensure_ascii=False))
    return (
        f'<figure class="card chart" data-points="{points}">'
        f"<figcaption><b>{escape(title)}</b>{keys}</figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" tabindex="0" '
        f'aria-label="{escape(_in_words(title, lines))}">{"".join(parts)}</svg>'
        '<div class="said" aria-live="polite"></div></figure>'
    )


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers that a range is read by: at least two, about `most`, the first below `low`
    or at it, the last at `high` or above.

    >>> ticks(0.3, 2.2, 5), ticks(7, 7, 5)
    ([0.0, 0.5, 1.0, 1.5, 2.0, 2.5], [6.0, 7.0, 8.0])
    """
    if high <= low:
        half = 10.0 ** math.floor(math.log10(abs(low))) if low else 1.0
        low, high, most = low - half if low else 0.0, high + half, 2  # few scores are below 0
    rough = (high - low) / most
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{count * step:.10g}") for count in range(first, last + 1)]


def number(value: float) -> str:
    """A number, short.

    >>> [number(value) for value in (0, 0.25, 12000, 0.00015, 3_500_000, 17.123456, 2026)]
    ['0', '0.25', '12k', '1.5e-4', '3.5M', '17.12', '2026']
    """
    size = abs(value)
    if size >= 1e6:
        return f"{value / 1e6:.4g}M" if size < 1e9 else f"{value / 1e9:.4g}G"
    if size >= 1e4:
        return f"{value / 1e3:.4g}k"
    if value and size < 1e-3:
        return f"{value:.3g}".replace("e-0", "e-") if size < 1e-4 else _in_powers(value)
    return f"{value:.4g}"


def _in_powers(value: float) -> str:
    digits, power = f"{value:.2e}".split("e")
    return f"{float(digits):g}e{int(power)}"


def _finite(line: Line) -> Line:
    pairs = [(x, y, i) for i, (x, y) in enumerate(zip(line.x, line.y, strict=True))]
    pairs = [(x, y, i) for x, y, i in pairs if y is not None and math.isfinite(y)]
    best = next((place for place, (*_, i) in enumerate(pairs) if i == line.best), None)
    x, y = [x for x, *_ in pairs], [y for _, y, _ in pairs]
    return Line(line.name, x, y, line.colour, line.faint, best)


def _scale(low: float, high: float, begin: float, end: float) -> Callable[[float], float]:
    """A function from values to places."""
    return lambda value: begin + (value - low) / (high - low) * (end - begin)


def _curve(line: Line, across, up) -> list[str]:
    places = [f"{across(x):.1f} {up(y):.1f}" for x, y in zip(line.x, line.y, strict=True)]
    kind, style = "curve faint" if line.faint else "curve", f"--c: var(--c{line.colour})"
    parts = [f'<path class="{kind}" style="{style}" d="M{"L".join(places)}"/>']
    for number, place in enumerate(places):
        # Of few points each is seen.
        radius = 4 if number == line.best else 2 if len(places) <= FEW and not line.faint else 0
        if radius or len(places) == 1:
            x, y = place.split()
            parts.append(f'<circle style="{style}" cx="{x}" cy="{y}" r="{radius or 2}"/>')
    return parts


def _points(lines: Sequence[Line], across, x_name: str) -> list[tuple[float, str]]:
    """For each place on the axis where a curve has a point: the place, and all values there."""
    values: dict[float, list[str]] = {}
    for line in lines:
        for place, (x, y) in enumerate(zip(line.x, line.y, strict=True)):
            best = " (best)" if place == line.best else ""
            name = f"{line.name} (faint)" if line.faint else line.name
            values.setdefault(x, []).append(f"{name}  {number(y)}{best}")
    return [
        (round(across(x), 1), "\n".join([f"{x:,.10g} {x_name}", *said]))
        for x, said in sorted(values.items())
    ]


def _in_words(title: str, lines: Sequence[Line]) -> str:
    said = [f"{line.name} from {number(line.y[0])} to {number(line.y[-1])}" for line in lines]
    return f"{title}: {'; '.join(said)}"
