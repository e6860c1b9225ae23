"""Options of `bert_finetune.py`."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from bert_model_options import BertModelOptions, settle_model
from kept_apart import check_kept_apart
from training_options import (
    DeviceOptions,
    TrainingOptions,
    check_limits,
    export_folder,
)

OPTION_OF = {
    "text_column": "classify",
    "pair_column": "classify",
    "label_column": "classify",
    "regression": "classify",
    "balanced": "classify",
    "pooling": "classify",
    "word_column": "tag",
    "tag_column": "tag",
    "no_answer_threshold": "qa",
}
"""Options that one task has, and which."""


@dataclass
class TaskData:
    """The task and its data."""

    task: Literal["classify", "tag", "qa"] = "classify"
    """Labels (or numbers) for texts, tags for words, or answers in a context."""
    train: str = "builtin"
    """Training data: a TSV file of texts and labels, a file of a word and its tag a line (CoNLL), a
    JSON file as SQuAD's, a folder of such files, or tfds:NAME; {split} in it becomes train, valid
    and test. By default a small task that comes with the package."""
    valid: str | None = None
    """Validation data, in the same form."""
    test: str | None = None
    """Test data, in the same form."""
    data_dir: str | None = None
    """Folder of prepared TFDS data; nothing is downloaded."""
    text_column: str | None = None
    """Column of the texts (TSV): a name, or a number from 1."""
    pair_column: str | None = None
    """Column of the second texts, for pairs of texts."""
    label_column: str | None = None
    """Column of the labels."""
    word_column: int = 1
    """Column of the words (CoNLL), from 1."""
    tag_column: int | None = None
    """Column of the tags, from 1; the last one by default."""
    regression: bool = False
    """Whether the labels are numbers to be guessed."""
    balanced: bool = False
    """Whether all labels get the same say, however many rows each has."""
    pooling: Literal["cls", "mean"] = "cls"
    """What a label is read from: the first token, as pretrained, or the mean of all tokens
    (classify)."""
    no_answer_threshold: float | None = None
    """A score that does not exceed it is no answer (qa). By default 0 if some training questions
    have none, else every question gets an answer."""


@dataclass
class TaskModel(BertModelOptions):
    """The model to begin with, and how it reads."""

    stride: int | None = None
    """Tokens from the start of a window to that of the next: 128 by default for qa, half a window
    for tag."""


@dataclass
class TaskTraining(TrainingOptions):
    """How to train for a task."""

    learning_rate: float | None = None
    """Peak rate; 5e-5 with --init, 5e-4 for random weights by default."""
    epochs: int | None = None
    """Passes over the data; 3 with --init, 20 for random weights by default."""
    score_every: int = 1
    """Epochs between two scores of the validation data; the best weights stay."""
    patience: int | None = None
    """Training ends after so many scores in a row without a new best."""
    output: str | None = None
    """Folder for everything of the run; runs/ and the name of the task by default."""


@dataclass
class BertFinetuneOptions(DeviceOptions, TaskTraining, TaskModel, TaskData):
    """Fine-tunes a BERT for a task, scores it, and exports it."""

    def __post_init__(self) -> None:
        pretrained = self.init is not None
        if self.learning_rate is None:
            self.learning_rate = 5e-5 if pretrained else 5e-4
        if self.epochs is None:
            self.epochs = 3 if pretrained else 20
        if self.output is None:
            self.output = str(Path("runs", self.task))
        if self.export is None:
            self.export = export_folder(self.output)
        check_limits(self)
        self._check_task()
        settle_model(self, lowercase=self.task != "tag")
        one_split = self.train != "builtin" and "{split}" not in self.train
        one_split &= not self.train.startswith("tfds:")
        for split in ("valid", "test"):
            if one_split and getattr(self, split) is None:
                kind = {"valid": "validation", "test": "test"}[split]
                raise ValueError(
                    f"No {kind} data is given: give --{split}, or --train with {{split}} in it."
                )
        others = {"--valid": self.valid, "--test": self.test}
        check_kept_apart("--train", self.train, others)

    def _check_task(self) -> None:
        """Refuses options of another task."""
        for option in fields(self):
            task = OPTION_OF.get(option.name, self.task)
            if task != self.task and getattr(self, option.name) != option.default:
                flag = f"--{option.name.replace('_', '-')}"
                raise ValueError(f"{flag} is for --task {task}, not for --task {self.task}.")
        if self.balanced and self.regression:
            raise ValueError("--balanced weighs labels, but with --regression there are numbers.")
        if self.stride is not None and self.stride < 1:
            raise ValueError(f"--stride is {self.stride}; it must be at least 1.")
