"""The models that explain.py looks into: of a run, a Hugging Face directory, or random weights."""

import dataclasses
import itertools
import warnings
from dataclasses import dataclass, field
from typing import Any, Literal

import keras
import shown_task
from bert_use import used_as
from command_parser import flag

from keras_transformer.inspection import Topic, shapes_topic
from keras_transformer.models import (
    Bert,
    BertConfig,
    BertMaskedLM,
    Gpt,
    GptConfig,
    Transformer,
    TransformerConfig,
)
from keras_transformer.tasks import FillMask, Task, TextGenerator, Translator
from keras_transformer.text import CharacterTokenizer


@dataclass
class ModelOptions:
    """Models that are looked into."""

    model: str | None = None
    """shapes, contexts, neighbours: folder of a run, or a Hugging Face directory."""
    family: Literal["transformer", "bert", "gpt"] = "transformer"
    """shapes without --model: what is built, with random weights."""
    preset: str | None = None
    """shapes without --model: sizes of the model; the smallest preset by default."""
    vocab_size: int | None = None
    """shapes without --model: number of ids; as many as the characters of the texts need by
    default."""
    text: list[str] = field(default_factory=list, metadata={"nargs": "+"})
    """shapes: the text. contexts: two or more texts with the word."""
    target: str | None = None
    """shapes of a translator: what its decoder is given; its own translation by default. Of a BERT:
    the second text, or the context of a question."""
    word: str = "bank"
    """contexts: the word; bank and 苹果 have texts of their own."""
    words: list[str] = field(default_factory=list, metadata={"nargs": "+"})
    """neighbours: the words."""
    analogy: list[str] = field(default_factory=list, metadata={"nargs": 3})
    """neighbours: three words a, b, c; what is to c as b is to a?"""
    top: int = 8
    """neighbours: how many of each."""


TEXTS = {
    "transformer": ("她在吃一个绿苹果。", "She is eating a green apple."),
    "bert": ("The capital of [MASK] is Rome.", None),
    "gpt": ("The value of a word", None),
}
CONFIGS = {"transformer": TransformerConfig, "bert": BertConfig, "gpt": GptConfig}


def open_task(directory: str | None) -> Task:
    """The task of a run's folder, or one around the model of a Hugging Face directory.

    Raises:
        ValueError: when no folder is given, or it holds no model to look into.
    """
    if directory is None:
        raise ValueError("This topic looks into a trained model: give its folder by --model.")
    return shown_task.open_task(directory, vectors_of_bert)


def vectors_of_bert(directory: str) -> Task:
    """The vectors of texts by the BERT of a Hugging Face directory, without its heads."""
    with warnings.catch_warnings():  # that there are heads
        warnings.filterwarnings("ignore", ".* also holds .*", UserWarning)
        return used_as(directory, "embed")


def shapes(options: Any) -> Topic:
    """The shapes in the model of a folder, or in one with random weights."""
    if len(options.text) > 1:
        raise ValueError(f"shapes takes one --text, not {len(options.text)}.")
    if options.model is not None:
        if not options.text:
            raise ValueError("Give a text by --text.")
        for name, default in (("family", "transformer"), ("preset", None), ("vocab_size", None)):
            if getattr(options, name) != default:
                raise ValueError(f"{flag(name)} is for shapes without --model.")
        return shapes_topic(open_task(options.model), options.text[0], options.target)
    text, target = TEXTS[options.family]
    text = options.text[0] if options.text else text
    target = target if options.target is None else options.target
    task = random_task(options, [text, *([target] if target else [])])
    topic = shapes_topic(task, text, target)
    return dataclasses.replace(topic, sentence=f"{topic.sentence} Its weights are random.")


def random_task(options: Any, texts: list[str]) -> Task:
    """A task of the family with random weights, one id for each character of the texts.

    Raises:
        ValueError: when --vocab-size leaves no id for a character, or there is no such preset.
    """
    keras.utils.set_random_seed(options.seed)
    tokenizer = characters(texts, options.vocab_size, mask=options.family == "bert")
    preset = options.preset or next(iter(CONFIGS[options.family].presets))
    config = CONFIGS[options.family].preset(preset, vocab_size=tokenizer.vocab_size)
    if options.family == "transformer":
        return Translator(Transformer(config), tokenizer)
    if options.family == "bert":
        return FillMask(BertMaskedLM(Bert(config)), tokenizer)
    return TextGenerator(Gpt(config), tokenizer)


def characters(texts: list[str], vocab_size: int | None, mask: bool) -> CharacterTokenizer:
    """A tokenizer of the texts' characters, and of so many others that it has `vocab_size` ids.

    Raises:
        ValueError: when that is too few.
    """
    tokenizer = CharacterTokenizer.train(texts, mask=mask)
    if vocab_size is None or vocab_size == tokenizer.vocab_size:
        return tokenizer
    if vocab_size < tokenizer.vocab_size:
        raise ValueError(
            f"--vocab-size must be at least {tokenizer.vocab_size}, the ids that the texts need, "
            f"not {vocab_size}."
        )
    known = sorted(set("".join(texts)))
    others = (chr(c) for c in range(0x100, 0x110000) if not 0xD800 <= c < 0xE000)
    more = itertools.islice(
        (c for c in others if c not in known), vocab_size - tokenizer.vocab_size
    )
    return CharacterTokenizer("".join([*known, *more]), mask=mask)
