"""A text, its translations, and what the best of them looked at."""

import gradio
from playground_models import Model

from playground_views.faults import note_cut, shown
from playground_views.markup import NO_MAP, heat_map, table, token_texts

MOST_BEAMS = 10


def view(model: Model) -> None:
    """Puts the parts into the page."""
    most = model.most_translations
    with gradio.Row():
        with gradio.Column():
            text = gradio.Textbox(label="Text", lines=4, autofocus=True, elem_id="text")
            with gradio.Row():
                # A served model's search is fixed: what is left to choose is how much is shown.
                beams = gradio.Slider(
                    1, MOST_BEAMS, 4, step=1, label="Beams", visible=most is None, elem_id="beams"
                )
                n_best = gradio.Slider(
                    1, most or MOST_BEAMS, min(3, most or 3), step=1, label="Translations",
                    visible=most != 1, elem_id="n-best",
                )  # fmt: skip
            button = gradio.Button("Translate", variant="primary", elem_id="go")
        with gradio.Column():
            best = gradio.Textbox(
                label="Translation", lines=4, interactive=False, buttons=["copy"], elem_id="answer"
            )
            others = gradio.HTML(elem_id="others")
    looked_at = gradio.HTML(elem_id="attention")

    @shown
    def translate(text: str, n_best: float, beams: float) -> tuple[str, str, str]:
        found = model.translate(text, int(n_best), int(beams))
        note_cut(found.truncated, "The text, or its translation, is")
        rows = list(zip(found.texts, found.scores, strict=True))
        several = table(["translation", "score"], rows if len(rows) > 1 else [])
        return found.texts[0], several, attention(model, text, found.texts[0])

    for event in (button.click, text.submit):
        event(translate, [text, n_best, beams], [best, others, looked_at], api_name=False)


def attention(model: Model, text: str, translation: str) -> str:
    """The map of what the model's own translation looked at, where the model shows it."""
    found = model.align(text)
    if found is None:
        return NO_MAP
    rows, columns = (
        token_texts(side_text, *side)
        for side_text, side in ((found.translation, found.target), (text, found.source))
    )
    said = (
        "What each token of the translation looked at in the text, by the mean over all heads of "
        "all layers."
    )
    if found.translation != translation:
        said = f"Of the translation that the model's own search finds. {said}"
    return f"<p class='note'>{said}</p>{heat_map(rows, columns, found.weights)}"
