"""The options of `translate_train.py`."""

from dataclasses import dataclass, fields
from typing import Any, Literal

from training_options import DeviceOptions, check_limits, check_model_fields, export_folder

from keras_transformer.models import TransformerConfig

DEFAULTS = {
    "vocab_size": 8000,
    "split_han": False,
    "model": {},
    "batch_tokens": 4096,
    "schedule": "inverse_sqrt",
    "learning_rate": 0.001,
    "warmup_steps": 2000,
    "ema": 0.999,
    "score_every": 5,
}
"""Values of the options that are not given; for sets of 10,000 pairs and more."""

BUILTIN = {
    "vocab_size": 1400,
    "split_han": True,
    "model": {"encoder_layers": 2, "decoder_layers": 2},
    "batch_tokens": 1024,
    "schedule": "cosine",
    "learning_rate": 0.002,
    "warmup_steps": 300,
    "max_steps": 2000,
    "ema": 0.99,
    "score_every": 1,
}
"""The same for the built-in pairs, whose grammar a small model learns in minutes."""


@dataclass
class TranslationData:
    """What to learn from."""

    source: str | None = None
    """File of source texts, one a line (plain or .gz)."""
    target: str | None = None
    """File of target texts, aligned with the source file."""
    valid_source: str | None = None
    """File of validation sources."""
    valid_target: str | None = None
    """File of validation targets."""
    test_source: str | None = None
    """File of test sources."""
    test_target: str | None = None
    """File of test targets."""
    dataset: str | None = None
    """Where pairs come from if not from files: builtin (the default, a small language, for which
    the options have other defaults), tsv:PATH, jsonl:PATH or tfds:NAME; {split} in a PATH becomes
    train, valid and test."""
    valid_dataset: str | None = None
    """Another dataset for validation, in the same form."""
    test_dataset: str | None = None
    """Another dataset for the test, in the same form."""
    source_field: str | None = None
    """Column or field of the source texts (tsv, jsonl, tfds): a name, or a number from 1."""
    target_field: str | None = None
    """Column or field of the target texts."""
    data_dir: str | None = None
    """Folder of prepared TFDS data; nothing is downloaded."""
    reverse: bool = False
    """Translate from target to source."""


@dataclass
class TranslationModel:
    """The vocabulary and the model."""

    tokenizer: Literal["bpe", "unigram", "char"] = "bpe"
    """Subwords by SentencePiece, or characters."""
    vocab_size: int | None = None
    """Number of ids; 8000 by default."""
    split_han: bool | None = None
    """Make every Chinese character a token of its own; words are not separated there."""
    separate_vocabularies: bool = False
    """A vocabulary of its own for each side, instead of one for both."""
    preset: Literal["tiny", "small", "base", "big"] = "tiny"
    """Size of the model: 4 + 4 layers of width 128, 3 + 3 of 256, 6 + 6 of 512, 6 + 6 of 1024."""
    model: dict[str, Any] | None = None
    """Fields of TransformerConfig that differ from the preset, for instance
    '{"hidden_dropout": 0.3}'."""
    max_source_length: int = 128
    """Longest source in tokens; longer pairs are dropped and counted."""
    max_target_length: int = 128
    """Longest target in tokens."""


@dataclass
class TranslationTraining:
    """How long and how fast to train, and where the run goes."""

    batch_tokens: int | None = None
    """Most tokens a side of a batch, padding included; 4096 by default."""
    length_multiple: int = 4
    """Padded lengths are multiples of this: fewer shapes of batch, or less padding."""
    label_smoothing: float = 0.1
    """Share of the target that is spread over the vocabulary."""
    schedule: Literal["inverse_sqrt", "linear", "cosine"] | None = None
    """Course of the learning rate after the warm-up; linear and cosine need --max-steps.
    inverse_sqrt by default."""
    learning_rate: float | None = None
    """Peak rate, reached after the warm-up; 0.001 by default. Small models with much dropout take
    more: 0.004 for tiny with 0.3."""
    warmup_steps: int | None = None
    """Updates until the peak rate; 2000 by default."""
    weight_decay: float = 0.0001
    """AdamW's weight decay, not applied to biases, norms and positions."""
    clip_norm: float = 1.0
    """Longest gradient over all variables."""
    ema: float | None = None
    """Decay of the running mean of the weights that is scored and exported; 0 for none. 0.999 by
    default."""
    epochs: int = 1000
    """Most passes over the data."""
    max_minutes: float | None = None
    """Training ends after so many minutes, over all resumed runs."""
    max_steps: int | None = None
    """Training ends after so many updates."""
    seed: int = 1
    """Seed of the weights, the order of the data and dropout."""
    resume: bool = False
    """Go on with the run in --output, exactly where it stopped, with its options where none are
    given now."""
    output: str = "runs/translate"
    """Folder for everything of the run."""
    export: str | None = None
    """Folder of the SavedModel, a sub-folder a version; by default one in saved_models/ with the
    name of --output."""


@dataclass
class TranslationScores:
    """How translations are scored, and how the saved model translates."""

    metric: Literal["bleu", "chrf", "rouge"] = "bleu"
    """Score that picks the best weights."""
    score_every: int | None = None
    """Epochs between two scores of the validation texts; 5 by default."""
    patience: int | None = None
    """Training ends after so many scores in a row without a new best."""
    bleu_tokenize: str | None = None
    """sacreBLEU's tokenizer; by default zh for Chinese targets, 13a otherwise."""
    beam_size: int = 5
    """Beams of the test and of the export."""
    length_penalty: float = 1.0
    """Exponent of the length penalty of beam search."""


@dataclass
class TranslateTrainOptions(
    DeviceOptions, TranslationScores, TranslationTraining, TranslationModel, TranslationData
):
    """Train a Transformer on pairs of texts, score it, and export it as a SavedModel."""

    def __post_init__(self) -> None:
        if self.dataset is None and self.source is None:
            self.dataset = "builtin"
        warmup_given = self.warmup_steps is not None
        defaults = DEFAULTS | (BUILTIN if self.dataset == "builtin" else {})
        for name, value in defaults.items():
            if getattr(self, name) is None:
                setattr(self, name, value)
        if self.schedule != "inverse_sqrt" and self.max_steps is not None:
            if not warmup_given:
                self.warmup_steps = max(1, min(self.warmup_steps, self.max_steps // 4))
            elif self.warmup_steps >= self.max_steps:
                raise ValueError(
                    f"--warmup-steps {self.warmup_steps} must be less than --max-steps "
                    f"{self.max_steps}, with which --schedule {self.schedule} ends."
                )
        if self.export is None:
            self.export = export_folder(self.output)
        check_limits(self)
        check_model_fields(TransformerConfig, self.model)
        if self.schedule != "inverse_sqrt" and self.max_steps is None:
            raise ValueError(
                f"--schedule {self.schedule} falls to 0 at the last update: give --max-steps."
            )
        for file in fields(self):
            other = file.name.replace("source", "target")
            if file.name.endswith("source") and (
                (getattr(self, file.name) is None) != (getattr(self, other) is None)
            ):
                flags = [f"--{name.replace('_', '-')}" for name in (file.name, other)]
                raise ValueError(f"Give both {flags[0]} and {flags[1]}, or neither.")
