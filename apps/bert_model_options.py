"""Options of the commands that train a BERT: the model to begin with, and how it reads."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from training_options import check_model_fields, flag

from keras_transformer.models import BertConfig

DROPOUT = ("hidden_dropout", "attention_dropout", "classifier_dropout")
"""Fields of BertConfig that no weight depends on."""


@dataclass
class BertModelOptions:
    """The model to begin with, and how it reads."""

    init: str | None = None
    """Folder of a pretrained run or Hugging Face directory, with its tokenizer; random weights by
    default."""
    tokenizer: Literal["wordpiece", "char"] | None = None
    """A new tokenizer: word pieces (the default), or characters (Chinese)."""
    vocab_size: int | None = None
    """Most ids of a new tokenizer; 8000 by default."""
    lowercase: bool | None = None
    """Whether a new tokenizer takes capital letters for small ones; by default not for tagging."""
    preset: Literal["tiny", "mini", "small", "base"] | None = None
    """Size of a model with random weights: 2 layers of width 128 (the default), 4 of 256, 4 of 512,
    12 of 768."""
    model: dict[str, Any] | None = None
    """Fields of BertConfig that differ from the preset, for instance '{"hidden_dropout": 0.0}';
    with --init its rates of dropout only."""
    max_length: int = 128
    """Most tokens that the model gets at once, special ones included; longer texts are cut, or
    read in windows (tag, qa)."""


def settle_model(options: Any, lowercase: bool) -> None:
    """Sets what is not given, and refuses what a model of `--init` has already.

    Args:
        options: of the command.
        lowercase: whether a new tokenizer takes capital letters for small ones, where nothing is
            said.
    """
    new = {"tokenizer": "wordpiece", "vocab_size": 8000, "lowercase": lowercase, "preset": "tiny"}
    options.model = options.model or {}
    check_model_fields(BertConfig, options.model)
    if options.init is None:
        for name, value in new.items():
            if getattr(options, name) is None:
                setattr(options, name, value)
        return
    if options.resume:  # the run has its model; those of older versions wrote all options down
        return
    for name in new:
        if getattr(options, name) is not None:
            raise ValueError(f"{flag(name)} is for a new model: leave it out with --init.")
    _check_dropout(options.model)


def _check_dropout(names: Iterable[str]) -> None:
    for name in names:
        if name not in DROPOUT:
            raise ValueError(
                f"--model {name} is for a new model; with --init it can have {', '.join(DROPOUT)}."
            )
