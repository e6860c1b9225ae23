"""A prompt, and how the model goes on from it, as it is written."""

from collections.abc import Iterator

import gradio
from playground_models import Model

from playground_views.faults import shown

MOST_TOKENS = 1000


def view(model: Model) -> None:
    """Puts the parts into the page."""
    with gradio.Row():
        with gradio.Column():
            prompt = gradio.Textbox(label="Prompt", lines=4, autofocus=True, elem_id="text")
            most = gradio.Slider(1, MOST_TOKENS, 100, step=1, label="Most new tokens")
            with gradio.Row():
                temperature = gradio.Slider(
                    0, 2, 0.8, step=0.05, label="Temperature", info="0 takes the likeliest always"
                )
                top_p = gradio.Slider(
                    0,
                    1,
                    0.95,
                    step=0.01,
                    label="Top p",
                    info="of the likeliest, with this probability together",
                )
            with gradio.Row():
                top_k = gradio.Number(0, label="Top k", precision=0, minimum=0, info="0 for all")
                seed = gradio.Number(
                    0, label="Seed", precision=0, minimum=0, info="the same gives the same text"
                )
            with gradio.Row():
                button = gradio.Button("Write", variant="primary", elem_id="go")
                stop = gradio.Button("Stop", elem_id="stop")
        text = gradio.Textbox(
            label="Text", lines=18, interactive=False, buttons=["copy"], elem_id="answer"
        )

    @shown
    def write(
        prompt: str, most: float, temperature: float, top_k: float, top_p: float, seed: float
    ) -> Iterator[str]:
        written = prompt
        if model.is_cut(prompt):
            gradio.Warning("The prompt is longer than the model takes: only its end is read.")
        pieces = model.generate(
            prompt,
            max_new_tokens=int(most),
            temperature=float(temperature),
            top_k=int(top_k or 0),
            top_p=float(top_p),
            seed=int(seed or 0),
        )
        for piece in pieces:
            written += piece
            yield written
        yield written

    asked = [prompt, most, temperature, top_k, top_p, seed]
    for event in (button.click, prompt.submit):
        running = event(write, asked, [text], api_name=False)
        stop.click(None, cancels=[running])
