"""A question, a context, and the answer marked in it."""

import gradio
from playground_models import Model

from playground_views.faults import note_cut, shown
from playground_views.markup import NO_MAP, heat_map, marked, table, token_texts


def view(model: Model) -> None:
    """Puts the parts into the page."""
    with gradio.Row():
        with gradio.Column():
            question = gradio.Textbox(label="Question", autofocus=True, elem_id="question")
            context = gradio.Textbox(label="Context", lines=8, elem_id="context")
            button = gradio.Button("Answer", variant="primary", elem_id="go")
        with gradio.Column():
            best = gradio.Textbox(label="Answer", interactive=False, elem_id="answer")
            in_context = gradio.HTML(label="In the context", elem_id="marked")
            others = gradio.HTML(elem_id="others")
    looked_at = gradio.HTML(elem_id="attention")

    @shown
    def answer(question: str, context: str) -> tuple[str, str, str, str]:
        found = model.answer(question, context)
        note_cut(found.truncated, "The question or the context is")
        first = found.answers[0] if found.has_answer else None
        span = (first.start, first.end) if first else (0, 0)
        rows = [(answer.text, answer.score) for answer in found.answers]
        return (
            first.text if first else "(no answer)",
            marked(context, *span),
            table(["answer", "score"], rows),
            attention(model, question, context),
        )

    for event in (button.click, question.submit):
        event(answer, [question, context], [best, in_context, others, looked_at], api_name=False)


def attention(model: Model, question: str, context: str) -> str:
    """The map of what the question looked at, where the model shows it."""
    found = model.align_answer(question, context)
    if found is None:
        return NO_MAP
    rows, columns = (
        token_texts(text, *side)
        for text, side in ((question, found.question), (context, found.context))
    )
    said = (
        "How the attention of each token of the question, by the mean over all heads of all "
        "layers, is shared among the tokens of the context around the answer."
    )
    return f"<p class='note'>{said}</p>{heat_map(rows, columns, found.weights)}"
