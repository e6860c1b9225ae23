"""Fine-tuning for tags of words."""

import warnings
from collections.abc import Iterator
from typing import Any

import keras
from bert_finetune_options import BertFinetuneOptions

from keras_transformer.data import ExampleBatches, TaggedSentences, load_tagged, tagging_batches
from keras_transformer.models import BertTagger
from keras_transformer.tasks import TokenTagger
from keras_transformer.tasks.label_scores import (
    EntityScores,
    WordScores,
    entity_scores,
    marks_entities,
    word_scores,
)
from keras_transformer.text import Tokenizer
from keras_transformer.training import TokenAccuracy, TokenCrossEntropy

NO_TAG = -1  # where no word begins


class Tag:
    """The parts of a fine-tuning that are a tagger's."""

    model_class = BertTagger

    def __init__(self, options: BertFinetuneOptions):
        self.options = options
        self.splits = {split: self._load(split) for split in ("train", "valid", "test")}
        self.labels = self.splits["train"].tag_names()
        self.entities = all(map(marks_entities, self.labels))
        self.measure = "f1" if self.entities else "word_accuracy"  # picks the best weights
        for split in ("valid", "test"):
            if unknown := set(self.splits[split].tag_names()) - set(self.labels):
                warnings.warn(
                    f"{self.splits[split].name}: no training sentence has the tag "
                    f"{', '.join(sorted(unknown))}; whatever the model says there counts as wrong.",
                    stacklevel=2,
                )

    def _load(self, split: str) -> TaggedSentences:
        options = self.options
        source = getattr(options, split) or options.train
        if source == "builtin":
            return load_tagged(source, split)
        if source.startswith("tfds:"):
            split = "validation" if split == "valid" else split
            return load_tagged(source, split, data_dir=options.data_dir)
        columns = {"word_column": options.word_column, "tag_column": options.tag_column}
        return load_tagged(source, split, **columns)

    def texts(self) -> Iterator[str]:
        """The training texts, for a new tokenizer."""
        return self.splits["train"].texts()

    def head(self) -> dict[str, int]:
        """Arguments of the model besides its encoder."""
        return {"num_labels": len(self.labels)}

    def loss_and_metrics(self) -> tuple[Any, Any]:
        """Arguments of `compile`."""
        return TokenCrossEntropy(pad_id=NO_TAG), [TokenAccuracy(pad_id=NO_TAG)]

    def batches(self, split: str, tokenizer: Tokenizer) -> ExampleBatches:
        """Batches of a split; tags that training never shows are left out of its loss."""
        options = self.options
        return tagging_batches(
            self.splits[split],
            tokenizer,
            self.labels,
            max_length=options.max_length,
            unknown_tags="ignore",
            batch_size=options.batch_size,
            training=split == "train",
            seed=options.seed,
        )

    def task(self, model: keras.Model, tokenizer: Tokenizer) -> TokenTagger:
        """The trained thing."""
        options = self.options
        return TokenTagger(model, tokenizer, self.labels, options.max_length, options.stride)

    def score(self, task: TokenTagger, split: str) -> EntityScores | WordScores:
        """How good it is on a split, at the level of words."""
        sentences = list(self.splits[split])
        predicted = task.tag_words([sentence.words for sentence in sentences])
        scores = entity_scores if self.entities else word_scores
        return scores(predicted, [sentence.tags for sentence in sentences])

    def samples(self, task: TokenTagger, count: int = 5) -> Iterator[dict[str, str]]:
        """A few sentences, each with the model's tags and the right ones."""
        sentences = list(self.splits["test"])
        sentences = sentences[:: max(1, len(sentences) // count)][:count]
        tags = task.tag_words([sentence.words for sentence in sentences])
        for sentence, found in zip(sentences, tags, strict=True):
            yield {
                "words": " ".join(sentence.words),
                "model": " ".join(found),
                "right": " ".join(sentence.tags),
            }
