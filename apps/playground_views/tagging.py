"""A text with its words coloured by their tags."""

from collections.abc import Sequence

import gradio
from playground_models import Model

from keras_transformer.tasks import TaggedWord
from playground_views.faults import note_cut, shown
from playground_views.markup import coloured, table

OUTSIDE = "O"


def view(model: Model) -> None:
    """Puts the parts into the page."""
    text = gradio.Textbox(label="Text", lines=4, autofocus=True, elem_id="text")
    button = gradio.Button("Tag", variant="primary", elem_id="go")
    by_tag = gradio.HTML(elem_id="coloured")
    with gradio.Accordion("Word by word", open=False):
        words = gradio.HTML(elem_id="words")

    @shown
    def tag(text: str) -> tuple[str, str]:
        found = model.tag(text)
        note_cut(goes_on_behind(text, found), "The text is")
        rows = [(word.word, word.tag, word.score) for word in found]
        return coloured(parts(text, found)), table(["word", "tag", "probability"], rows)

    for event in (button.click, text.submit):
        event(tag, [text], [by_tag, words], api_name=False)


def goes_on_behind(text: str, words: Sequence[TaggedWord]) -> bool:
    """Whether the text has words behind the last one that is tagged.

    >>> goes_on_behind("Ada ran", [TaggedWord("Ada", "B-PER", 0, 3, 1.0)])
    True
    """
    end = words[-1].end if words else 0
    return any(character.isalnum() for character in text[end:])


def parts(text: str, words: Sequence[TaggedWord]) -> list[tuple[str, str | None]]:
    """The text in pieces, each with what its words are; None for those that are nothing.

    A blank between two words of one entity is of the entity.

    >>> parts("Ada L. ran", [TaggedWord("Ada", "B-PER", 0, 3, 1.0),
    ...     TaggedWord("L.", "I-PER", 4, 6, 1.0), TaggedWord("ran", "O", 7, 10, 1.0)])
    [('Ada L.', 'PER'), (' ran', None)]
    """
    found: list[tuple[str, str | None]] = []
    end = 0
    for word in words:
        kind = None if word.tag == OUTSIDE else word.tag.removeprefix("B-").removeprefix("I-")
        goes_on = found and found[-1][1] == kind and (kind is None or word.tag.startswith("I-"))
        between = text[end : word.start]
        if goes_on:
            found[-1] = (found[-1][0] + between + text[word.start : word.end], kind)
        elif kind is None:
            found.append((between + text[word.start : word.end], None))
        else:
            found += [(between, None)] if between else []
            found.append((text[word.start : word.end], kind))
        end = word.end
    return found + ([(text[end:], None)] if text[end:] else [])
