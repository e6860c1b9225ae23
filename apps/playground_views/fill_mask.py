"""A text with a mask, and what may stand there."""

import gradio
from playground_models import Model

from playground_views.faults import note_cut, shown

MASK = "[MASK]"


def view(model: Model) -> None:
    """Puts the parts into the page."""
    text = gradio.Textbox(
        label="Text", value=f"The capital of {MASK} is Rome.", lines=3, autofocus=True,
        elem_id="text",
    )  # fmt: skip
    button = gradio.Button("Guess", variant="primary", elem_id="go")
    filled = gradio.Textbox(label="With the likeliest", interactive=False, elem_id="answer")
    guesses = gradio.Label(label="Guesses", elem_id="guesses")

    @shown
    def guess(text: str) -> tuple[str, dict[str, float]]:
        if MASK not in text:
            raise ValueError(f"There is no {MASK} in the text: put one where a word is to stand.")
        found = model.fill_mask(text)
        note_cut(found.truncated, "The text is")
        best = found.tokens[0].removeprefix("##") if found.tokens else MASK
        return text.replace(MASK, best, 1), dict(zip(found.tokens, found.scores, strict=True))

    for event in (button.click, text.submit):
        event(guess, [text], [filled, guesses], api_name=False)
