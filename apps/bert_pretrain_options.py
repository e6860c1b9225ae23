"""Options of `bert_pretrain.py`."""

from dataclasses import dataclass

from bert_model_options import BertModelOptions, settle_model
from kept_apart import check_kept_apart
from training_options import (
    DeviceOptions,
    TrainingOptions,
    check_limits,
    export_folder,
)


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
class BertPretrainOptions(DeviceOptions, TrainingOptions, BertModelOptions, PretrainingTexts):
    """Pretrains a BERT, scores it on texts it has not seen, and exports it."""

    batch_size: int = 16
    learning_rate: float = 1e-3
    epochs: int = 60
    output: str = "runs/bert"

    def __post_init__(self) -> None:
        if self.export is None:
            self.export = export_folder(self.output)
        check_limits(self)
        settle_model(self, lowercase=True)
        if not 0 < self.held_out < 0.5:
            raise ValueError(
                f"--held-out is {self.held_out:g}; it must be more than 0 and less than 0.5."
            )
        others = {"--valid-text": self.valid_text, "--test-text": self.test_text}
        check_kept_apart("--text", self.text, others)
