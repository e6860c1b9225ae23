"""Fine-tuning for labels, or numbers, of texts and pairs of texts."""

from collections.abc import Iterator
from typing import Any

import keras
from bert_finetune_options import BertFinetuneOptions

from keras_transformer.data import (
    ExampleBatches,
    LabelledTexts,
    balanced_weights,
    classification_batches,
    load_labelled,
)
from keras_transformer.models import BertClassifier
from keras_transformer.tasks import TextClassifier
from keras_transformer.tasks.label_scores import (
    LabelScores,
    NumberScores,
    label_scores,
    number_scores,
)
from keras_transformer.text import Tokenizer
from keras_transformer.training import TokenAccuracy, TokenCrossEntropy

NO_LABEL = -1  # of rows that only fill up a batch


class Classify:
    """The parts of a fine-tuning that are a classifier's."""

    model_class = BertClassifier

    def __init__(self, options: BertFinetuneOptions):
        self.options = options
        self.splits = {split: self._load(split) for split in ("train", "valid", "test")}
        self.labels = None if options.regression else self.splits["train"].label_names()
        for split in ("valid", "test") if self.labels else ():
            if unknown := {row.label for row in self.splits[split]} - set(self.labels):
                raise ValueError(
                    f"{self.splits[split].name}: no training row has the label "
                    f"{', '.join(sorted(unknown))}; labels are {', '.join(self.labels)}."
                )
        self.measure = "accuracy" if self.labels else "pearson"  # picks the best weights

    def _load(self, split: str) -> LabelledTexts:
        options = self.options
        source = getattr(options, split) or options.train
        columns: dict[str, Any] = {
            "text": options.text_column,
            "text_pair": options.pair_column,
            "label": options.label_column,
        }
        if source == "builtin":
            return load_labelled(source, split)
        if source.startswith("tfds:"):
            columns["data_dir"] = options.data_dir
            split = "validation" if split == "valid" else split
        return load_labelled(source, split, regression=options.regression, **columns)

    def texts(self) -> Iterator[str]:
        """The training texts, for a new tokenizer."""
        return self.splits["train"].texts()

    def head(self) -> dict[str, Any]:
        """Arguments of the model besides its encoder."""
        num_labels = 1 if self.labels is None else len(self.labels)
        return {"num_labels": num_labels, "pooling": self.options.pooling}

    def loss_and_metrics(self) -> tuple[Any, Any]:
        """Arguments of `compile`."""
        if self.labels is None:
            return "mean_squared_error", []
        return TokenCrossEntropy(pad_id=NO_LABEL), [TokenAccuracy(pad_id=NO_LABEL)]

    def batches(self, split: str, tokenizer: Tokenizer) -> ExampleBatches:
        """Batches of a split."""
        options, texts = self.options, self.splits[split]
        weights = None
        if options.balanced and split == "train" and self.labels is not None:
            weights = balanced_weights(texts, self.labels)
        return classification_batches(
            texts,
            tokenizer,
            self.labels,
            max_length=options.max_length,
            class_weights=weights,
            batch_size=options.batch_size,
            training=split == "train",
            seed=options.seed,
        )

    def task(self, model: keras.Model, tokenizer: Tokenizer) -> TextClassifier:
        """The trained thing."""
        return TextClassifier(model, tokenizer, self.labels, self.options.max_length)

    def score(self, task: TextClassifier, split: str) -> LabelScores | NumberScores:
        """How good it is on a split."""
        rows = list(self.splits[split])
        right = [row.label for row in rows]
        predicted = task(*self._columns(rows))
        if self.labels is None:
            return number_scores(predicted, right)
        return label_scores(predicted, right, self.labels)

    def samples(self, task: TextClassifier, count: int = 5) -> Iterator[dict[str, str]]:
        """A few texts, each with the model's answer and the right one."""
        rows = list(self.splits["test"])
        rows = rows[:: max(1, len(rows) // count)][:count]
        for row, found in zip(rows, task(*self._columns(rows)), strict=True):
            pair = "" if row.text_pair is None else f" | {row.text_pair}"
            yield {"text": f"{row.text}{pair}", "model": str(found), "right": str(row.label)}

    @staticmethod
    def _columns(rows: list) -> tuple[list[str], list[str] | None]:
        pairs = any(row.text_pair is not None for row in rows)
        return (
            [row.text for row in rows],
            [row.text_pair or "" for row in rows] if pairs else None,
        )
