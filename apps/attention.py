"""Shows what a model attends to in texts: one page of HTML with every layer and head.

The page needs no network and nothing beside it. A translator shows its translation, a generator the
text that it goes on with; a question takes its context by --text-pair.
"""

import sys
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import command_line
from bert_start import load_encoder
from shown_task import open_task
from waiting import waiting

from keras_transformer.inspection import attention_of, write_attention_page
from keras_transformer.models import BertEmbedder, BertMaskedLM
from keras_transformer.tasks import FillMask, Task, TextEmbedder, TextGenerator, Translator
from keras_transformer.text.files import check_can_be_written


@dataclass
class Shown:
    """What is shown."""

    model: str = "runs/translate"
    """Folder of a run of any task, or a Hugging Face directory of BERT, GPT-2 or Llama."""
    text: list[str] | None = field(default=None, metadata={"action": "extend", "nargs": 1})
    """A text, question or prompt; the flag may be given more than once."""
    text_pair: list[str] | None = field(default=None, metadata={"action": "extend", "nargs": 1})
    """The second text of each, or the context of each question; for a translator, the translation
    to look at instead of its own."""
    translate: bool | None = None
    """Whether a translator translates, as it does by default; else only its encoder is shown."""
    window: int = 0
    """Which window to show, counted from 0, of a text that is read in several."""
    output: str = "attention.html"
    """The page that is written."""


@dataclass
class GoingOn:
    """How a generator goes on from a prompt."""

    max_new_tokens: int | None = None
    """Most tokens that are added; 20 by default, 0 shows the prompt only."""
    temperature: float | None = None
    """Below 1 likely tokens become likelier; 0 takes the likeliest always."""
    seed: int | None = None
    """Seed of the first text; each further one has the next number."""


@dataclass
class AttentionOptions(GoingOn, Shown):
    """Show what a model attends to."""


def main() -> None:
    options = command_line.parse(AttentionOptions, __doc__)
    if not options.text:
        raise ValueError("Give at least one text by --text.")
    if options.text_pair is not None and len(options.text_pair) != len(options.text):
        raise ValueError(
            f"There must be as many --text-pair as --text, not {len(options.text_pair)} and "
            f"{len(options.text)}."
        )
    check_can_be_written(options.output, "--output")
    title = f"Attention of {Path(options.model).resolve().name}"
    with waiting(f"Looking into {options.model}"):
        task = open_task(options.model, around_bert)
        how = {"window": options.window} | asked(options, task)
        shown = attention_of(task, options.text, options.text_pair, **how)
        write_attention_page(options.output, shown, title)
    print(f"{options.output}: {Path(options.output).stat().st_size / 1e6:.1f} MB")
    for text in shown:
        if text.windows > 1:
            print(
                f"Window {text.window} of {text.windows} is shown of {text.text[:60]!r}: --window "
                "chooses.",
                file=sys.stderr,
            )
        elif text.truncated:
            follows = "" if text.written is None else ", or what follows it than it may become"
            print(
                f"Cut: {text.text[:60]!r} is longer than the model takes{follows}.",
                file=sys.stderr,
            )


def asked(options: AttentionOptions, task: Task) -> dict[str, Any]:
    """What was asked for that is the task's own affair; a ValueError for another task's."""
    of_generation = {
        name: getattr(options, name)
        for name in (option.name for option in fields(GoingOn))
        if getattr(options, name) is not None
    }
    if of_generation and not isinstance(task, TextGenerator):
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in of_generation)
        raise ValueError(f"{options.model} is a {type(task).__name__}, which takes no {flags}.")
    if options.translate is not None and not isinstance(task, Translator):
        raise ValueError(f"{options.model} is a {type(task).__name__}, which does not translate.")
    if isinstance(task, TextGenerator):
        return {"max_new_tokens": 20} | of_generation
    return {} if options.translate is None else {"translate": options.translate}


def around_bert(directory: str) -> Task:
    """A task that reads "[MASK]", too; of its head only the encoder's attention is seen."""
    bert, tokenizer = load_encoder(directory)
    if tokenizer.mask_id < 0:
        return TextEmbedder(BertEmbedder(bert), tokenizer)
    return FillMask(BertMaskedLM(bert), tokenizer)


if __name__ == "__main__":
    command_line.run(main)
