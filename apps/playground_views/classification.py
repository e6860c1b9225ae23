"""A text, or a pair of them, and its labels or its number."""

import gradio
from playground_models import Model

from keras_transformer.tasks import Regression
from playground_views.faults import note_cut, shown


def view(model: Model) -> None:
    """Puts the parts into the page."""
    text = gradio.Textbox(label="Text", lines=3, autofocus=True, elem_id="text")
    pair = gradio.Textbox(label="Second text, for models of pairs", elem_id="pair")
    button = gradio.Button("Classify", variant="primary", elem_id="go")
    labels = gradio.Label(label="Labels", elem_id="labels")

    @shown
    def classify(text: str, pair: str) -> dict[str, float] | str:
        found = model.classify(text, pair)
        note_cut(found.truncated, "The text is")
        if isinstance(found, Regression):
            return f"{found.score:.4f}"
        scores = found.scores
        if not isinstance(scores, dict):  # of the others a served model gives no names
            others = (f"label {number}" for number in range(len(scores)))
            scores = dict(zip(others, scores, strict=True))
            scores = {
                found.label if score == found.score else name: score
                for name, score in scores.items()
            }
        return scores

    for event in (button.click, text.submit, pair.submit):
        event(classify, [text, pair], [labels], api_name=False)
