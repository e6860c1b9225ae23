"""A text, or a pair of them, and its labels or its number."""

import gradio
from playground_models import Model

from keras_transformer.tasks import Classification, Regression
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
        return by_name(found)

    for event in (button.click, text.submit, pair.submit):
        event(classify, [text, pair], [labels], api_name=False)


def by_name(found: Classification) -> dict[str, float]:
    """The probabilities by the labels; a served model names the likeliest label only.

    >>> by_name(Classification("good", 0.5, [0.5, 0.5], False))
    {'good': 0.5, 'label 1': 0.5}
    """
    if isinstance(found.scores, dict):
        return found.scores
    names = [f"label {number}" for number in range(len(found.scores))]
    if found.label:  # a blank text has none
        names[found.scores.index(found.score)] = found.label
    return dict(zip(names, found.scores, strict=True))
