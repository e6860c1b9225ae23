"""Attention as matplotlib figures, for notebooks and papers: what the attention page shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_transformer.inspection.attention import AttentionMap, TextAttention
from keras_transformer.inspection.pictures import drawing, matplotlib_module
from keras_transformer.inspection.token_labels import Token

# More cells than that in a row have no room for numbers.
WITH_NUMBERS = 24

COLOURS = "Blues"
LINE = "#2563eb"

# The letters that matplotlib's own font lacks are taken from the first of these that is installed.
FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans SC",
    "WenQuanYi Micro Hei",
    "Microsoft YaHei",
    "PingFang SC",
    "Arial Unicode MS",
    "Noto Sans",
)


def _fonts() -> dict[str, list[str]]:
    """Fonts that have the letters of many scripts, as a style of matplotlib."""
    manager = matplotlib_module("matplotlib.font_manager").fontManager
    installed = {font.name for font in manager.ttflist}
    return {"font.family": ["DejaVu Sans", *(name for name in FONTS if name in installed)]}


def _figure(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    """A figure of so many inches and its axes `[rows, columns]`; no window, no global state."""
    figures = matplotlib_module("matplotlib.figure")
    figure = figures.Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


@drawing(_fonts)
def plot_heads(part: AttentionMap) -> Any:
    """Small maps of all heads: a row for each layer, a column for each head.

    Args:
        part: one of the maps that `attention_of` gave.

    Raises:
        ValueError: when matplotlib is not installed.

    >>> figure = plot_heads(shown.maps["encoder"])  # doctest: +SKIP
    >>> figure.savefig("heads.pdf")  # doctest: +SKIP
    """
    layers, heads = part.weights.shape[:2]
    figure, axes = _figure(0.5 + 0.9 * heads, 0.6 + 0.9 * layers, layers, heads)
    for layer in range(layers):
        for head in range(heads):
            weights = part.weights[layer, head]
            small = axes[layer, head]
            small.imshow(weights, cmap=COLOURS, vmin=0, interpolation="nearest", aspect="auto")
            small.set_xticks([])
            small.set_yticks([])
            if not layer:
                small.set_title(str(head), fontsize=9)
            if not head:
                small.set_ylabel(str(layer), fontsize=9, rotation=0, ha="right", va="center")
    figure.supxlabel("head", fontsize=10)
    figure.supylabel("layer", fontsize=10)
    return figure


@drawing(_fonts)
def plot_head(part: AttentionMap, layer: int | None = None, head: int | None = None) -> Any:
    """A heat map: a row for each token that looks, a column for each that is looked at.

    The weights stand in the cells where there are at most 24 columns.

    Args:
        part: one of the maps that `attention_of` gave.
        layer: the layer, counted from 0; None for the mean of all.
        head: the head, counted from 0; None for the mean of all.

    Raises:
        ValueError: when matplotlib is not installed, or there is no such layer or head.
    """
    weights, title = _chosen(part, layer, head)
    queries, keys = weights.shape
    cell = 0.42 if keys <= WITH_NUMBERS else max(0.08, 10 / keys)
    figure, ((axes,),) = _figure(1.6 + cell * keys, 1.4 + cell * queries)
    largest = float(weights.max())
    axes.imshow(weights, cmap=COLOURS, vmin=0, vmax=largest, interpolation="nearest")
    axes.xaxis.tick_top()
    if keys <= WITH_NUMBERS:
        for (query, key), weight in np.ndenumerate(weights):
            if weight > 0:
                axes.text(
                    key,
                    query,
                    f"{weight:.2f}".removeprefix("0"),
                    ha="center",
                    va="center",
                    fontsize=7.5,
                    color="white" if weight > 0.6 * largest else "black",
                )
    _name_ticks(axes, part, 100 if keys > WITH_NUMBERS else WITH_NUMBERS)
    axes.set_title(title, fontsize=10)
    return figure


@drawing(_fonts)
def plot_lines(
    part: AttentionMap,
    layer: int | None = None,
    head: int | None = None,
    query: int | None = None,
) -> Any:
    """Lines from the tokens that look, on the left, to those that are looked at.

    Args:
        part: one of the maps that `attention_of` gave.
        layer: the layer, counted from 0; None for the mean of all.
        head: the head, counted from 0; None for the mean of all.
        query: shows the lines of this token only.

    Raises:
        ValueError: when matplotlib is not installed, or there is no such layer, head or token.
    """
    weights, title = _chosen(part, layer, head)
    rows = max(weights.shape)
    figure, ((axes,),) = _figure(4.6, 0.7 + 0.26 * rows)
    if query is not None and not 0 <= query < len(part.queries):
        raise ValueError(f"query must be from 0 to {len(part.queries) - 1}, not {query}.")
    chosen = weights if query is None else weights[query : query + 1]
    largest = chosen.max() or 1.0  # a query that may see nothing has zeros
    for (row, key), weight in np.ndenumerate(chosen):
        strength = float(weight / largest)
        if strength > 0.02:
            start = row if query is None else query
            axes.plot([0, 1], [start, key], color=LINE, alpha=strength, lw=0.4 + 2 * strength)
    for place, token in enumerate(_rows(part)):
        axes.text(-0.03, place, token.text, ha="right", va="center", **_ink(token))
    for place, token in enumerate(part.keys):
        axes.text(1.03, place, token.text, ha="left", va="center", **_ink(token))
    axes.set_ylim(rows - 0.5, -0.5)
    axes.set_xlim(-0.6, 1.6)
    axes.set_axis_off()
    axes.set_title(title, fontsize=10)
    return figure


@drawing(_fonts)
def plot_alignment(
    shown: TextAttention,
    layer: int | None = None,
    head: int | None = None,
    leave_out_special: bool = False,
) -> Any:
    """A text above its translation, and which tokens were written by looking at which.

    Of each token of the translation the lines are drawn that have at least half the weight of its
    strongest one.

    Args:
        shown: what `attention_of` gave for a `Translator`.
        layer: the layer, counted from 0; None for the mean of all.
        head: the head, counted from 0; None for the mean of all.
        leave_out_special: whether no line goes to a token that stands for no text.

    Raises:
        ValueError: when matplotlib is not installed, when nothing was translated, or there is no
            such layer or head.
    """
    if "cross" not in shown.maps:
        raise ValueError("There is no translation whose alignment could be shown.")
    part = shown.maps["cross"]
    weights, title = _chosen(part, layer, head)
    if leave_out_special:
        weights = np.where([token.special for token in part.keys], 0.0, weights)
    above, below = _places(part.keys), _places(part.predicted)
    width = max(above[-1] + len(part.keys[-1].text), below[-1] + len(part.predicted[-1].text))
    figure, ((axes,),) = _figure(min(0.5 + 0.11 * width, 60), 2.2)
    for query, row in enumerate(weights):
        for key, weight in enumerate(row):
            if weight > 0 and weight >= 0.5 * row.max():
                strength = float(weight / weights.max())
                axes.plot(
                    [above[key], below[query]],
                    [0.86, 0.14],
                    color=LINE,
                    alpha=max(0.12, strength),
                    lw=0.6 + 2.4 * strength,
                )
    for tokens, places, y in ((part.keys, above, 0.93), (part.predicted, below, 0.07)):
        for token, place in zip(tokens, places, strict=True):
            axes.text(place, y, token.text, ha="center", va="center", **_ink(token))
    axes.set_xlim(-2, width + 2)
    axes.set_ylim(0, 1)
    axes.set_axis_off()
    axes.set_title(title, fontsize=10)
    return figure


def _chosen(part: AttentionMap, layer: int | None, head: int | None) -> tuple[np.ndarray, str]:
    """Weights `[queries, keys]`, and what they are of."""
    weights, names = part.weights, []
    for axis, (name, index) in enumerate((("layer", layer), ("head", head))):
        count = part.weights.shape[axis]
        if index is not None and not 0 <= index < count:
            raise ValueError(f"{name} must be from 0 to {count - 1}, or None, not {index}.")
        names.append(f"mean of all {name}s" if index is None else f"{name} {index}")
    weights = weights.mean(0) if layer is None else weights[layer]  # [heads, queries, keys]
    weights = weights.mean(0) if head is None else weights[head]  # [queries, keys]
    kind = {"cross": "cross-attention"}.get(part.kind, f"{part.kind} self-attention")
    return weights, f"{kind}: {', '.join(names)}"


def _rows(part: AttentionMap) -> list[Token]:
    """What rows are called: of attention to a text the tokens that are written by it."""
    return part.predicted if part.kind == "cross" else part.queries


def _name_ticks(axes: Any, part: AttentionMap, most: int) -> None:
    """Tokens at the axes, or where there are too many only some."""
    for axis, tokens in ((axes.xaxis, part.keys), (axes.yaxis, _rows(part))):
        step = -(-len(tokens) // most)
        axis.set_ticks(range(0, len(tokens), step), [t.text for t in tokens[::step]], fontsize=8)
    axes.tick_params(length=0)
    for label in axes.get_xticklabels():
        label.set(rotation=50, ha="left", rotation_mode="anchor")


def _places(tokens: Sequence[Token]) -> list[float]:
    """The middles of tokens that stand in a line, in letters."""
    widths = [sum(2 if ord(c) > 0x2E7F else 1 for c in token.text) + 2 for token in tokens]
    ends = np.cumsum(widths)
    return (ends - np.array(widths) / 2).tolist()


def _ink(token: Token) -> dict[str, Any]:
    return {"fontsize": 9, "color": "gray" if token.special else "black"}
