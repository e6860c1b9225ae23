"""Answers to questions, found in a context."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import tensorflow as tf

from keras_transformer.models import BertSpanQA
from keras_transformer.tasks.alignments import AnswerAlignment, answer_alignments
from keras_transformer.tasks.answer_alignment import AnswerAligner
from keras_transformer.tasks.answer_rows import answers
from keras_transformer.tasks.answer_search import AnswerOptions, AnswerSearch, FoundAnswers
from keras_transformer.tasks.answers import Answers
from keras_transformer.tasks.bert_inputs import BertReading
from keras_transformer.tasks.bert_task import BertTask
from keras_transformer.tasks.graph_function import graph_function
from keras_transformer.tasks.requests import finite, plain
from keras_transformer.tasks.span_search import IMPOSSIBLE
from keras_transformer.tasks.texts import as_text_pairs
from keras_transformer.text import Tokenizer


class QuestionAnswerer(BertTask):
    """Finds the part of a context that answers a question.

    A long context is read in windows, a bounded number of them at a time, so that it costs time
    and not memory; of a very long one (`AnswerOptions.max_context_length`) the beginning is read,
    which is reported (`truncated`).

    An answer is an exact slice of the context, its score the sum of the scores of its start and its
    end less that of there being no answer. (The latter is the lowest of all windows, as many of
    them do not hold the answer.) With a blank question or context, and where the score does not
    exceed the threshold, the answer is empty and ``has_answer`` false.

    Args:
        model: the span model.
        tokenizer: of the same ids.
        options: limits, windows and threshold.

    Raises:
        ValueError: when model and tokenizer do not have the same ids, or the windows are longer
            than the model takes.

    >>> answerer = QuestionAnswerer.load("runs/squad")  # doctest: +SKIP
    >>> answerer(["Who was born in 1815?"], ["Ada was born in 1815."])  # doctest: +SKIP
    ['Ada']
    """

    model_classes = (BertSpanQA,)

    def __init__(
        self, model: BertSpanQA, tokenizer: Tokenizer, options: AnswerOptions | None = None
    ):
        if options is None and isinstance(model, BertSpanQA):
            options = AnswerOptions(max_length=min(384, model.config.max_position_embeddings))
        super().__init__(model, tokenizer, options and options.max_length, name="question_answerer")
        self.options = options
        self._search = AnswerSearch(model, self._inputs, options)
        texts = [tf.TensorSpec([None], tf.string, name=name) for name in ("question", "context")]
        self.serving_default = graph_function(self._answer, input_signature=texts)
        self.n_best = graph_function(self._answer_n_best, input_signature=texts)
        self.alignment = graph_function(self._align, input_signature=texts)

    # In Python.

    def __call__(self, questions: Sequence[str], contexts: Sequence[str]) -> list[str]:
        """The answer to each question in its context; empty where there is none.

        Raises:
            ValueError: when the arguments are anything but lists of strings, as many in both.
        """
        outputs = self.serving_default(*_pairs(questions, contexts))
        return [answer.decode("utf-8") for answer in outputs["answer"].numpy()]

    def answer(self, questions: Sequence[str], contexts: Sequence[str]) -> list[Answers]:
        """The best answers to each question, as many as the options say, with places and scores.

        They are given whether or not the best of them exceeds the threshold.
        """
        return answers(plain(self.n_best(*_pairs(questions, contexts))))

    def align_answers(
        self, questions: Sequence[str], contexts: Sequence[str]
    ) -> list[AnswerAlignment]:
        """The best answers with the tokens of both texts, and which of them looked at which.

        Raises:
            ValueError: when the arguments are anything but lists of strings, as many in both.
        """
        return answer_alignments(plain(self.alignment(*_pairs(questions, contexts))))

    # In the graph.

    def signatures(self) -> dict[str, Any]:
        """`serving_default`: the best answer; `n_best`: several of them, and where there are fewer,
        empty ones with the score -1e9."""
        return {"serving_default": self.serving_default, "n_best": self.n_best}

    def reading(self, texts: tf.Tensor, text_pairs: tf.Tensor | None = None) -> BertReading:
        """What the model is given of questions and contexts: windows, a question in each.

        Raises:
            ValueError: when there are no ``text_pairs``, which are the contexts.
        """
        if text_pairs is None:
            raise ValueError("A QuestionAnswerer reads a question and its context: give both.")
        return self._search.reading(texts, text_pairs)

    def optional_signatures(self) -> dict[str, Any]:
        """`alignment`: the best answer, and what the question looked at in the context."""
        return {"alignment": self.alignment}

    def _answer(self, question: tf.Tensor, context: tf.Tensor) -> dict[str, tf.Tensor]:
        return _best(self._search(question, context, 1))

    def _align(self, question: tf.Tensor, context: tf.Tensor) -> dict[str, tf.Tensor]:
        found, looked_at = AnswerAligner(self._search)(question, context)
        return _best(found) | looked_at

    def _answer_n_best(self, question: tf.Tensor, context: tf.Tensor) -> dict[str, tf.Tensor]:
        found = self._search(question, context, self.options.n_best)
        return found._replace(scores=finite(found.scores))._asdict()

    # Saving.

    def _options(self) -> dict[str, Any]:
        return {"options": dataclasses.asdict(self.options)}

    @classmethod
    def _restore(cls, config: dict[str, Any], directory: Path) -> Self:
        options = {"options": AnswerOptions(**config["options"]["options"])}
        return super()._restore(config | {"options": options}, directory)


def _pairs(questions: Sequence[str], contexts: Sequence[str]) -> tuple[tf.Tensor, tf.Tensor]:
    return as_text_pairs(questions, contexts, ("questions", "contexts"))


def _best(found: FoundAnswers) -> dict[str, tf.Tensor]:
    """The outputs of a signature that gives the best answer."""
    given, score = found.has_answer, found.scores[:, 0]
    return {
        "answer": tf.where(given, found.answers[:, 0], ""),
        "score": tf.where(score > IMPOSSIBLE, score, 0.0),
        "start": tf.where(given, found.starts[:, 0], 0),
        "end": tf.where(given, found.ends[:, 0], 0),
        "has_answer": given,
        "truncated": found.truncated,
    }
