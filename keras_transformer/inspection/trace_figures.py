"""Pictures of explanations, by matplotlib: curves, words as points, position encodings."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keras_transformer.inspection.pictures import drawing, matplotlib_module
from keras_transformer.layers.positions import sinusoidal_table

# Replaced by the colour of the page's text.
_INK = "#0a0b0c"
_COLOURS = ("#3b7ddd", "#d9702b", "#2f9e6e", "#a05fd0", "#c23b5a", "#8a7a2a")
_STYLE = {
    "text.color": _INK,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "font.size": 10.0,
    "svg.fonttype": "none",  # words stay words, in a font of the reader's
    "svg.hashsalt": "keras_transformer",
}


def _figure(width: float, height: float) -> tuple[Any, Any]:
    """A figure with one pair of axes; no window, no global state."""
    figure = matplotlib_module("matplotlib.figure").Figure(
        figsize=(width, height), layout="constrained"
    )
    return figure, figure.add_subplot()


@drawing(lambda: _STYLE)
def as_svg(figure: Any) -> str:
    """A figure as an `<svg>` element whose ink is the colour of the text around it."""
    buffer = io.StringIO()
    with warnings.catch_warnings():
        # The browser, not matplotlib, finds a font for each character.
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.S)
    text = re.sub(r' id="[\w.]+_\d+"', "", text)  # the same in every picture of a page
    return text.replace(_INK, "currentColor").strip()


@drawing(lambda: _STYLE)
def curves(
    x: Sequence[float], lines: Mapping[str, Sequence[float]], x_label: str, y_label: str
) -> Any:
    """Lines over the same x, named in a legend."""
    figure, axes = _figure(7.4, 3.6)
    for (name, values), colour in zip(lines.items(), _cycle(len(lines)), strict=True):
        axes.plot(x, values, label=name, color=colour, linewidth=1.8)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(alpha=0.15, color=_INK)
    if len(lines) > 1:
        axes.legend(labelcolor=_INK, frameon=False)
    return figure


@drawing(lambda: _STYLE)
def points(groups: Mapping[str, Mapping[str, Sequence[float]]]) -> Any:
    """Named points of the plane, a colour for each group; names stand beside each other."""
    figure, axes = _figure(7.4, 5.4)
    for (group, named), colour in zip(groups.items(), _cycle(len(groups)), strict=True):
        places = np.array(list(named.values()))  # [points, 2]
        axes.scatter(places[:, 0], places[:, 1], color=colour, s=34, label=group)
    names = [name for named in groups.values() for name in named]
    places = np.array([place for named in groups.values() for place in named.values()])
    low, size = places.min(axis=0), np.maximum(np.ptp(places, axis=0), 1e-6)
    axes.set_xlim(low[0] - 0.06 * size[0], low[0] + 1.18 * size[0])  # names stand on the right
    axes.set_ylim(low[1] - 0.08 * size[1], low[1] + 1.08 * size[1])
    inches = (places - low) / size * (5.4, 3.9)  # about what the axes take of the figure
    for name, place, lift in zip(names, places, _lifts(names, inches), strict=True):
        axes.annotate(
            name,
            place,
            xytext=(6, 72 * lift - 3),
            textcoords="offset points",
            fontsize=9,
            color=_INK,
            arrowprops={"arrowstyle": "-", "color": _INK, "lw": 0.4, "alpha": 0.6}
            if lift
            else None,
        )
    axes.set_xlabel("first principal component")
    axes.set_ylabel("second principal component")
    if len(groups) > 1:
        columns = 2 if max(map(len, groups)) > 20 else 5
        figure.legend(
            loc="outside lower center", ncols=columns, labelcolor=_INK, frameon=False, fontsize=9
        )
    return figure


def _lifts(names: Sequence[str], places: np.ndarray) -> list[float]:
    """How far up each name is moved, in inches, so that it covers no other and no point.

    Args:
        names: the names.
        places: of their points, `[names, 2]`, in inches.
    """
    height, letter = 0.15, 0.075
    # Left, right and middle of what is there.
    boxes = [(x - 0.04, x + 0.04, y) for x, y in places]
    lifts = [0.0] * len(names)
    for i in np.argsort(places[:, 1], kind="stable"):
        left, middle = places[i] + (0.07, 0)
        wide = sum(2 if ord(character) > 0x2E7F else 1 for character in names[i])
        right = left + letter * wide

        def is_free(lift: float, left=left, right=right, middle=middle) -> bool:
            return not any(
                left < b and a < right and abs(middle + lift - y) < height for a, b, y in boxes
            )

        tried = (sign * n * height / 2 for n in range(4 * len(names)) for sign in (1, -1))
        lifts[i] = next((lift for lift in tried if is_free(lift)), 0.0)
        boxes.append((left, right, middle + lifts[i]))
    return lifts


@drawing(lambda: _STYLE)
def position_figure(length: int = 100, hidden_size: int = 128) -> Any:
    """The sinusoidal position encodings as a heat map, a row for each position.

    >>> position_figure(10, 8).axes[0].get_xlabel()
    'entry of the vector'
    """
    figure, axes = _figure(7.4, 3.6)
    table = sinusoidal_table(length, hidden_size)
    image = axes.imshow(
        table, cmap="RdBu_r", vmin=-1.0, vmax=1.0, aspect="auto", interpolation="nearest"
    )
    axes.set_xlabel("entry of the vector")
    axes.set_ylabel("position")
    bar = figure.colorbar(image, ax=axes, shrink=0.9)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=_INK)
    return figure


def _cycle(count: int) -> list[str]:
    return [_COLOURS[i % len(_COLOURS)] for i in range(count)]
