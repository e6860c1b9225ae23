"""What the page of each task shows, and how it asks the model."""

from collections.abc import Callable
from typing import Any

from playground_views import (
    answer,
    classification,
    fill_mask,
    generation,
    similarity,
    tagging,
    translation,
)
from playground_views.markup import STYLE

__all__ = ["STYLE", "VIEWS"]

VIEWS: dict[str, tuple[str, Callable[[Any], None]]] = {
    "Translator": ("Translation", translation.view),
    "QuestionAnswerer": ("Questions and answers", answer.view),
    "TokenTagger": ("Tagging", tagging.view),
    "FillMask": ("Fill the mask", fill_mask.view),
    "TextClassifier": ("Classification", classification.view),
    "TextEmbedder": ("Likeness of sentences", similarity.view),
    "TextGenerator": ("Text generation", generation.view),
}
"""Title and view by the class of the task. A view puts its parts into the page that is open."""
