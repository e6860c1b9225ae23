"""A label, or a number, for a text or a pair of texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_transformer.models import BertClassifier
from keras_transformer.tasks.answer_rows import classifications
from keras_transformer.tasks.answers import Classification, Regression
from keras_transformer.tasks.bert_inputs import BertReading
from keras_transformer.tasks.bert_task import BertTask, check_labels
from keras_transformer.tasks.chunks import run_in_chunks
from keras_transformer.tasks.graph_function import graph_function
from keras_transformer.tasks.requests import plain, same_rows
from keras_transformer.tasks.texts import as_text_pairs, as_texts, is_blank
from keras_transformer.text import Tokenizer


class TextClassifier(BertTask):
    """Classifies texts or pairs of texts; a model with one label gives a number (regression).

    A pair is blank when both of its texts are. Of a pair that is too long the longer text is cut
    first.

    Args:
        model: the classifier.
        tokenizer: of the same ids.
        labels: names of the labels, by id; None for regression.
        max_length: most tokens of a text or pair, special ones included; as many as the model
            takes by default.

    Raises:
        ValueError: when model and tokenizer do not have the same ids, when there are not as many
            labels as the model has, or for an option out of range.

    >>> classifier = TextClassifier.load("runs/sst2")  # doctest: +SKIP
    >>> classifier(["A moving film."])  # doctest: +SKIP
    ['positive']
    """

    model_classes = (BertClassifier,)

    def __init__(
        self,
        model: BertClassifier,
        tokenizer: Tokenizer,
        labels: Sequence[str] | None = None,
        max_length: int | None = None,
    ):
        super().__init__(model, tokenizer, max_length, least=5, name="text_classifier")
        if labels is None and not self.is_regression:
            raise ValueError(f"labels must name the {model.num_labels} labels of the model.")
        if labels is not None and self.is_regression:
            raise ValueError("The model gives one number (num_labels=1), which has no labels.")
        self.labels = None if labels is None else check_labels(labels, model)
        texts = [tf.TensorSpec([None], tf.string, name=name) for name in ("text", "text_pair")]
        self.serving_default = graph_function(self._classify_texts, input_signature=texts[:1])
        self.pair = graph_function(self._classify_pairs, input_signature=texts)

    @property
    def is_regression(self) -> bool:
        """Whether a text gets a number instead of a label."""
        return self.model.num_labels == 1

    # In Python.

    def __call__(
        self, texts: Sequence[str], text_pairs: Sequence[str] | None = None
    ) -> list[str] | list[float]:
        """The label of each text, or its number; empty, or 0, for a blank one.

        Args:
            texts: the texts, or the first of each pair.
            text_pairs: the second of each pair.

        Raises:
            ValueError: when the arguments are anything but lists of strings, as many in both.
        """
        outputs = self._outputs(texts, text_pairs)
        if self.is_regression:
            return outputs["score"].numpy().tolist()
        return [label.decode("utf-8") for label in outputs["label"].numpy()]

    def classify(
        self, texts: Sequence[str], text_pairs: Sequence[str] | None = None
    ) -> list[Classification] | list[Regression]:
        """Like a call, with all scores, and with what was cut."""
        found = classifications(plain(self._outputs(texts, text_pairs)))
        if self.is_regression:
            return found
        return [
            row._replace(scores=dict(zip(self.labels, row.scores, strict=True))) for row in found
        ]

    def _outputs(self, texts: Any, text_pairs: Any) -> dict[str, tf.Tensor]:
        if text_pairs is None:
            return self.serving_default(as_texts(texts))
        return self.pair(*as_text_pairs(texts, text_pairs, ("texts", "text_pairs")))

    # In the graph.

    def signatures(self) -> dict[str, Any]:
        """`serving_default`: of a text; `pair`: of a text and a second one."""
        return {"serving_default": self.serving_default, "pair": self.pair}

    def _classify_texts(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        return self._classify(self.reading(text), is_blank(text))

    def _classify_pairs(self, text: tf.Tensor, text_pair: tf.Tensor) -> dict[str, tf.Tensor]:
        text, text_pair = same_rows(text=text, text_pair=text_pair)
        blank = is_blank(text) & is_blank(text_pair)
        return self._classify(self.reading(text, text_pair), blank)

    def _classify(self, reading: BertReading, blank: tf.Tensor) -> dict[str, tf.Tensor]:
        batch, _, truncated = reading

        def logits(ids: tf.Tensor, segments: tf.Tensor, lengths: tf.Tensor) -> tuple[tf.Tensor]:
            width = tf.reduce_max(lengths)
            inputs = {"token_ids": ids[:, :width], "segment_ids": segments[:, :width]}
            return (tf.cast(self.model(inputs, training=False), tf.float32),)

        spec = tf.TensorSpec([None, self.model.num_labels])
        (found,) = run_in_chunks(logits, tuple(batch), batch.lengths, (spec,))
        if self.is_regression:
            return {"score": tf.where(blank, 0.0, found[:, 0]), "truncated": truncated}
        scores = tf.where(blank[:, None], 0.0, tf.nn.softmax(found))  # [batch, num_labels]
        label = tf.gather(tf.constant(self.labels), tf.argmax(found, axis=1))  # [batch]
        return {
            "label": tf.where(blank, "", label),
            "score": tf.reduce_max(scores, axis=1),
            "scores": scores,
            "truncated": truncated,
        }

    # Saving.

    def _head(self) -> dict[str, Any]:
        return {"num_labels": self.model.num_labels, "pooling": self.model.pooling}

    def _options(self) -> dict[str, Any]:
        return {"labels": self.labels and list(self.labels), "max_length": self.max_length}
