"""Options of `bert_pretrain.py`."""

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from training_options import TrainingOptions

from keras_transformer.models import BertConfig


@dataclass
class PretrainingTexts:
    """What to learn from, and with what model."""

    text: str = "builtin"
    """File or folder of texts, a sentence a line and a blank line between documents; {split} in it
    becomes train, valid and test. By default the English that comes with Python."""
    valid_text: str | None = None
    """File or folder of validation texts."""
    test_text: str | None = None
    """File or folder of test texts."""
    init: str | None = None
    """Folder of a run or Hugging Face directory to go on from, with its tokenizer."""
    tokenizer: Literal["wordpiece", "char"] = "wordpiece"
    """Word pieces, or characters (Chinese)."""
    vocab_size: int = 8000
    """Most ids of a new tokenizer."""
    lowercase: bool = True
    """Whether a new tokenizer takes capital letters for small ones."""
    preset: Literal["tiny", "mini", "small", "base"] = "tiny"
    """Size of the model."""
    model: dict[str, Any] = field(default_factory=dict)
    """Fields of BertConfig that differ from the preset, for instance '{"hidden_dropout": 0.0}'."""
    max_length: int = 128
    """Most tokens of an example, special ones included."""
    next_sentence: bool = True
    """Learn whether the second text follows the first, too."""
    whole_words: bool = False
    """Mask all pieces of a word, or none."""
    masked_share: float = 0.15
    """Share of the tokens to guess."""


@dataclass
class BertPretrainOptions(TrainingOptions, PretrainingTexts):
    """Pretrains a BERT, scores it on texts it has not seen, and exports it."""

    batch_size: int = 64
    learning_rate: float = 1e-3
    epochs: int = 40
    output: str = "runs/bert"

    def __post_init__(self) -> None:
        if self.export is None:
            self.export = str(Path("saved_models", Path(self.output).name))
        known = [config_field.name for config_field in fields(BertConfig)]
        for name in self.model:
            if name not in known:
                raise ValueError(f"--model has no field {name!r}; right are: {', '.join(known)}.")
        one_file = self.text != "builtin" and "{split}" not in self.text
        for split in ("valid", "test"):
            if one_file and getattr(self, f"{split}_text") is None:
                raise ValueError(
                    f"There are no {split} texts: give --{split}-text, or --text with {{split}} "
                    "in its path."
                )
