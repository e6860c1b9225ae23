"""Attention as one page of HTML to look through, which needs nothing else and asks no network."""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.inspection.attention import AttentionMap, TextAttention
from keras_transformer.inspection.page import html_page
from keras_transformer.text.files import write_atomically

# In this order: each uses what those before it define.
SCRIPTS = ("data", "drawing", "heads", "lines", "matrix", "alignment", "main")

# More weights than that are kept in one byte each instead of two.
LARGE = 4_000_000


def write_attention_page(
    path: str | os.PathLike[str], shown: Sequence[TextAttention], title: str = "Attention"
) -> None:
    """Writes an attention page, under a temporary name and then renamed.

    Args:
        path: the file.
        shown: what `attention_of` gave; the page lets one choose among the texts.
        title: stands above the page.

    Raises:
        ValueError: when there is nothing to show.
        OSError: when the file cannot be written.
    """
    page = attention_page(shown, title)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, page.encode("utf-8"))


def attention_page(shown: Sequence[TextAttention], title: str = "Attention") -> str:
    """The page as HTML.

    Raises:
        ValueError: when there is nothing to show.
    """
    if not shown:
        raise ValueError("There is no text whose attention could be shown.")
    data = {"title": title, "texts": [_packed_text(text) for text in shown]}
    # In a script "</script>" would end it, whatever JSON says.
    embedded = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    templates = files("keras_transformer.inspection") / "templates"
    read = {
        name: (templates / name).read_text(encoding="utf-8")
        for name in (
            "attention.html",
            "attention.css",
            *(f"attention_{script}.js" for script in SCRIPTS),
        )
    }
    script = "\n".join(read[f"attention_{name}.js"] for name in SCRIPTS)
    body = read["attention.html"]
    body += f'<script type="application/json" id="attention-data">{embedded}</script>'
    return html_page(title, body, read["attention.css"], f'"use strict";\n{script}')


def _packed_text(text: TextAttention) -> dict[str, Any]:
    return {
        "text": text.text,
        "pair": text.text_pair,
        "written": text.written,
        "truncated": text.truncated,
        "window": text.window,
        "windows": text.windows,
        "maps": [_packed_map(part) for part in text.maps.values()],
    }


def _packed_map(part: AttentionMap) -> dict[str, Any]:
    layers, heads = part.weights.shape[:2]
    return {
        "kind": part.kind,
        "queries": part.queries,
        "keys": part.keys,
        "predicted": part.predicted,
        "layers": layers,
        "heads": heads,
        **packed_weights(part.weights, large=part.weights.size > LARGE),
    }


def packed_weights(weights: np.ndarray, large: bool = False) -> dict[str, Any]:
    """Weights as whole numbers, compressed, in the letters of base64.

    A weight is ``(code / levels) ** power``: in two bytes it is right to 0.00001, in one (large
    maps) to 0.004, and small weights to less.

    >>> packed = packed_weights(np.array([0.0, 0.25, 1.0]), large=True)
    >>> codes = np.frombuffer(zlib.decompress(base64.b64decode(packed["data"])), "u1")
    >>> ((codes / packed["levels"]) ** packed["power"]).round(2).tolist()
    [0.0, 0.25, 1.0]
    """
    levels, power, dtype = (255, 2, "<u1") if large else (65535, 1, "<u2")
    codes = np.rint(np.clip(weights, 0, 1) ** (1 / power) * levels).astype(dtype)
    data = base64.b64encode(zlib.compress(codes.tobytes(), 6)).decode("ascii")
    return {"levels": levels, "power": power, "data": data}
