"""Fine-tuning for answers to questions, found in a context."""

from collections.abc import Iterator
from typing import Any

import keras
from bert_finetune_options import BertFinetuneOptions

from keras_transformer.data import ExampleBatches, Questions, load_questions, span_batches
from keras_transformer.models import BertSpanQA
from keras_transformer.tasks import AnswerOptions, QuestionAnswerer
from keras_transformer.tasks.answer_scores import AnswerScores, answer_scores
from keras_transformer.text import Tokenizer
from keras_transformer.training import TokenCrossEntropy

NO_ROW = -1  # of rows that only fill up a batch


class AnswerQuestions:
    """The parts of a fine-tuning that are question answering's."""

    model_class = BertSpanQA
    measure = "f1"  # picks the best weights

    def __init__(self, options: BertFinetuneOptions):
        self.options = options
        self.splits = {split: self._load(split) for split in ("train", "valid", "test")}
        self.limits = AnswerOptions(
            max_length=options.max_length,
            stride=options.stride or 128,
            no_answer_threshold=self._threshold(),
        )

    def _threshold(self) -> float | None:
        """The option's, or what suits the training data."""
        if self.options.no_answer_threshold is not None:
            return self.options.no_answer_threshold
        return None if all(question.has_answer for question in self.splits["train"]) else 0.0

    def _load(self, split: str) -> Questions:
        options = self.options
        source = getattr(options, split) or options.train
        if source == "builtin":
            return load_questions(source, split)
        # A question that cannot be trained on can still be scored.
        more: dict[str, Any] = {"keep_misplaced": split != "train"}
        if source.startswith("tfds:"):
            more["data_dir"] = options.data_dir
            split = "validation" if split == "valid" else split
        return load_questions(source, split, **more)

    def texts(self) -> Iterator[str]:
        """The training texts, for a new tokenizer."""
        return self.splits["train"].texts()

    def head(self) -> dict[str, int]:
        """Arguments of the model besides its encoder."""
        return {}

    def loss_and_metrics(self) -> tuple[Any, Any]:
        """Arguments of `compile`."""
        return {side: TokenCrossEntropy(pad_id=NO_ROW) for side in ("start", "end")}, []

    def batches(self, split: str, tokenizer: Tokenizer) -> ExampleBatches:
        """Batches of a split."""
        options, limits = self.options, self.limits
        return span_batches(
            self.splits[split],
            tokenizer,
            max_length=limits.max_length,
            stride=limits.stride,
            max_question_length=limits.max_question_length,
            batch_size=options.batch_size,
            training=split == "train",
            seed=options.seed,
        )

    def task(self, model: keras.Model, tokenizer: Tokenizer) -> QuestionAnswerer:
        """The trained thing."""
        return QuestionAnswerer(model, tokenizer, self.limits)

    def score(self, task: QuestionAnswerer, split: str) -> AnswerScores:
        """How good it is on a split."""
        questions = list(self.splits[split])
        found = task([q.question for q in questions], [q.context for q in questions])
        return answer_scores(found, [question.texts for question in questions])

    def samples(self, task: QuestionAnswerer, count: int = 5) -> Iterator[dict[str, str]]:
        """A few questions, each with the model's answer and the right ones."""
        questions = list(self.splits["test"])
        questions = questions[:: max(1, len(questions) // count)][:count]
        found = task([q.question for q in questions], [q.context for q in questions])
        for question, answer in zip(questions, found, strict=True):
            yield {
                "question": question.question,
                "model": answer or "(no answer)",
                "right": " / ".join(question.texts) or "(no answer)",
            }
