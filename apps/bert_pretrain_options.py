"""Options of `bert_pretrain.py`."""

from dataclasses import dataclass, field
from typing import Any, Literal

from kept_apart import check_kept_apart
from training_options import (
    DeviceOptions,
    TrainingOptions,
    check_limits,
    check_model_fields,
    export_folder,
)

from keras_transformer.models import BertConfig


@dataclass
class PretrainingTexts:
    """What to learn from, and what to learn."""

    text: str = "builtin"
    """File or folder of texts, a sentence a line and a blank line between documents; {split} in it
    becomes train, valid and test. By default the English that comes with Python."""
    valid_text: str | None = None
    """File or folder of validation texts; by default what {split} gives, or held out of --text."""
    test_text: str | None = None
    """File or folder of test texts; by default what {split} gives, or held out of --text."""
    held_out: float = 0.02
    """Share of the documents of --text that is held out for validation, and again for test, where
    nothing else gives them."""
    next_sentence: bool = True
    """Learn whether the second text follows the first, too."""
    whole_words: bool = False
    """Mask all pieces of a word, or none."""
    masked_share: float = 0.15
    """Share of the tokens to guess."""


@dataclass
class PretrainingModel:
    """The model, and how it reads."""

    init: str | None = None
    """Folder of a run or Hugging Face directory to go on from, with its tokenizer."""
    tokenizer: Literal["wordpiece", "char"] = "wordpiece"
    """Word pieces, or characters (Chinese)."""
    vocab_size: int = 8000
    """Most ids of a new tokenizer."""
    lowercase: bool = True
    """Whether a new tokenizer takes capital letters for small ones."""
    preset: Literal["tiny", "mini", "small", "base"] = "tiny"
    """Size of the model: 2 layers of width 128, 4 of 256, 4 of 512, 12 of 768."""
    model: dict[str, Any] = field(default_factory=dict)
    """Fields of BertConfig that differ from the preset, for instance '{"hidden_dropout": 0.0}'."""
    max_length: int = 128
    """Most tokens of an example, special ones included."""


@dataclass
class BertPretrainOptions(DeviceOptions, TrainingOptions, PretrainingModel, PretrainingTexts):
    """Pretrains a BERT, scores it on texts it has not seen, and exports it."""

    batch_size: int = 16
    learning_rate: float = 1e-3
    epochs: int = 60
    output: str = "runs/bert"

    def __post_init__(self) -> None:
        if self.export is None:
            self.export = export_folder(self.output)
        check_limits(self)
        check_model_fields(BertConfig, self.model)
        if not 0 < self.held_out < 0.5:
            raise ValueError(
                f"--held-out is {self.held_out:g}; it must be more than 0 and less than 0.5."
            )
        others = {"--valid-text": self.valid_text, "--test-text": self.test_text}
        check_kept_apart("--text", self.text, others)
