"""Sentences, and how alike each two of them are."""

import gradio
import numpy as np
from playground_models import Model

from playground_views.faults import shown
from playground_views.markup import heat_map

MOST_LINES = 30


def view(model: Model) -> None:
    """Puts the parts into the page."""
    text = gradio.Textbox(
        label="Sentences, one a line", lines=6, autofocus=True, elem_id="text",
        value="A dog runs in the park.\nA hound is running outside.\nShe signed the contract.",
    )  # fmt: skip
    button = gradio.Button("Compare", variant="primary", elem_id="go")
    likeness = gradio.HTML(elem_id="likeness")

    @shown
    def compare(text: str) -> str:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if not 2 <= len(lines) <= MOST_LINES:
            raise ValueError(
                f"There are {len(lines)} sentences; give from 2 to {MOST_LINES}, one a line."
            )
        numbers = [str(number) for number in range(1, len(lines) + 1)]
        rows = [f"{number} {line[:60]}" for number, line in zip(numbers, lines, strict=True)]
        said = "Cosine of the angle between each two vectors: 1 for the same direction."
        return f"<p class='note'>{said}</p>" + heat_map(
            rows, numbers, cosines(model.embed(lines)), top=1.0
        )

    button.click(compare, [text], [likeness], api_name=False)


def cosines(vectors: np.ndarray) -> np.ndarray:
    """Of all pairs of vectors `[texts, width]`: float `[texts, texts]`; 0 for a zero vector.

    >>> cosines(np.array([[3.0, 0.0], [0.0, 0.0]])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)  # [texts, 1]
    units = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return units @ units.T
