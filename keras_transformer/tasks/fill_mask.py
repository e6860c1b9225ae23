"""Guessing a masked token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.checks import check_at_least, check_whole
from keras_transformer.models import Bert, BertMaskedLM, BertPretraining
from keras_transformer.tasks.answer_rows import guesses
from keras_transformer.tasks.answers import Guesses
from keras_transformer.tasks.bert_inputs import BertReading, slices
from keras_transformer.tasks.bert_task import BertTask
from keras_transformer.tasks.chunks import run_in_chunks
from keras_transformer.tasks.graph_function import graph_function
from keras_transformer.tasks.requests import plain
from keras_transformer.tasks.text_bounds import beginnings, most_bytes
from keras_transformer.tasks.texts import as_texts, is_blank
from keras_transformer.text import Tokenizer
from keras_transformer.text.ragged_rows import value_rows

MASK = "[MASK]"


class FillMask(BertTask):
    """Guesses what stands at the first ``[MASK]`` of each text.

    ``[MASK]``, spelled like this anywhere in a text, is the mask's id. Of several only the first
    is guessed, the others stay masked; a text with none, and a blank one, gets empty tokens with
    the score 0. Control tokens and the unknown token are never guessed. Of a text longer than
    `max_length` the part around its first mask is read.

    Args:
        model: a `BertMaskedLM` or `BertPretraining`.
        tokenizer: of the same ids, with a `mask_id`.
        max_length: most tokens read of a text, special ones included; as many as the model takes
            by default.
        top_k: guesses of each text; at most as many as there are tokens to guess.

    Raises:
        ValueError: when model and tokenizer do not have the same ids, when the tokenizer has no
            mask, or for an option out of range.

    >>> fill_mask = FillMask.load("runs/pretrained")  # doctest: +SKIP
    >>> fill_mask(["Paris is the [MASK] of France."])[0].tokens[0]  # doctest: +SKIP
    'capital'
    """

    model_classes = (BertMaskedLM, BertPretraining)

    def __init__(
        self,
        model: BertMaskedLM | BertPretraining,
        tokenizer: Tokenizer,
        max_length: int | None = None,
        top_k: int = 5,
    ):
        super().__init__(model, tokenizer, max_length, name="fill_mask")
        check_whole(top_k=top_k)
        check_at_least(1, top_k=top_k)
        self.mask_id = tokenizer.mask_id
        if self.mask_id < 0:
            raise ValueError("The tokenizer has no mask among its special tokens.")
        # NumPy, so that every graph gets constants of its own.
        tokens = [tokenizer.id_to_token(index) for index in range(tokenizer.vocab_size)]
        self._tokens = np.array([token.encode() for token in tokens], object)  # [vocab_size]
        self._guessable = np.ones(len(tokens), bool)  # [vocab_size]
        self._guessable[[*tokenizer.special_ids, tokenizer.unk_id, self.mask_id]] = False
        self.top_k = min(int(top_k), int(self._guessable.sum()))
        text = [tf.TensorSpec([None], tf.string, name="text")]
        self.serving_default = graph_function(self._fill, input_signature=text)

    def __call__(self, texts: Sequence[str]) -> list[Guesses]:
        """Guesses the first mask of each text.

        Raises:
            ValueError: when ``texts`` is anything but a list of strings.
        """
        return guesses(plain(self.serving_default(as_texts(texts))))

    def signatures(self) -> dict[str, Any]:
        """`serving_default`: tokens and their scores."""
        return {"serving_default": self.serving_default}

    def reading(self, texts: tf.Tensor, text_pairs: tf.Tensor | None = None) -> BertReading:
        """What the model is given of texts, or of pairs of them as in pretraining."""
        if text_pairs is not None:
            return self._inputs.reading(texts, text_pairs, self.max_length, self._tokenize)
        return self._around_the_mask(texts)[0]

    def _around_the_mask(self, text: tf.Tensor) -> tuple[BertReading, tf.Tensor, tf.Tensor]:
        """The part of each text that is read, where its mask is in it `[batch]`, and whether there
        is one `[batch]`."""
        text, too_long = beginnings(text, most_bytes(self.max_length))
        tokens = self._tokenize(text)  # [batch, (tokens)]
        masks = tf.where(tokens.values == self.mask_id)[:, 0]  # [masks], counted through the batch
        rows = tf.range(tokens.nrows())
        first = tf.math.unsorted_segment_min(
            masks, tf.gather(value_rows(tokens), masks), tokens.nrows()
        )  # [batch], beyond everything where there is none
        has_mask = first < tokens.row_limits()
        place = tf.where(has_mask, first - tokens.row_starts(), 0)  # [batch]
        length, most = tokens.row_lengths(), self.max_length - 2
        start = tf.clip_by_value(place - most // 2, 0, tf.maximum(length - most, 0))
        read = slices(tokens, rows, start, tf.minimum(start + most, length))
        position = tf.where(has_mask, tf.cast(place - start, tf.int32) + 1, 0)  # [batch]
        reading = BertReading(self._inputs.single(read), rows, too_long | (length > most))
        return reading, position, has_mask

    def _fill(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        (batch, _, truncated), position, has_mask = self._around_the_mask(text)
        best, scores = run_in_chunks(
            self._guess,
            (*batch, position),
            batch.lengths,
            (tf.TensorSpec([None, self.top_k], tf.int32), tf.TensorSpec([None, self.top_k])),
        )
        asked = has_mask & ~is_blank(text)
        return {
            "tokens": tf.where(asked[:, None], tf.gather(self._tokens, best), ""),
            "scores": tf.where(asked[:, None], scores, 0.0),
            "truncated": truncated,
        }

    def _guess(
        self, ids: tf.Tensor, segments: tf.Tensor, lengths: tf.Tensor, position: tf.Tensor
    ) -> tuple[tf.Tensor, ...]:
        """Best ids and their probabilities `[rows, top_k]` at one position of each row `[rows]`."""
        width = tf.reduce_max(lengths)
        inputs = {
            "token_ids": ids[:, :width],
            "segment_ids": segments[:, :width],
            "masked_positions": position[:, None],
        }
        logits = self.model(inputs, training=False)
        if isinstance(logits, dict):
            logits = logits["masked_tokens"]
        scores = tf.cast(tf.nn.softmax(logits[:, 0]), tf.float32)  # [rows, vocab_size]
        scores, best = tf.math.top_k(tf.where(self._guessable, scores, -1.0), self.top_k)
        return best, scores

    def _tokenize(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Texts to ids, with the mask's id wherever "[MASK]" stands: int32 [batch, (tokens)]."""
        parts = tf.strings.split(texts, MASK)  # [batch, (parts)]
        tokens = self.tokenizer.tokenize(parts)  # [batch, (parts), (tokens)]
        # A mask stands behind each part but the last of its text.
        last = parts.row_limits() - 1
        count = tf.size(parts.values, tf.int64)
        masks = tf.ones([count], tf.int64) - tf.scatter_nd(
            last[:, None], tf.ones_like(last), [count]
        )  # [all_parts]
        ids = tf.fill([tf.reduce_sum(masks)], self.mask_id)
        masks = tf.RaggedTensor.from_row_lengths(ids, masks, validate=False)
        parts = tf.concat([tokens.values, masks], axis=1)  # [all_parts, (tokens)]
        return tokens.with_values(parts).merge_dims(1, 2)

    def _head(self) -> dict[str, Any]:
        return {"next_sentence": isinstance(self.model, BertPretraining)}

    @classmethod
    def _model(cls, bert: Bert, next_sentence: bool) -> keras.Model:
        return (BertPretraining if next_sentence else BertMaskedLM)(bert)

    def _options(self) -> dict[str, Any]:
        return {"max_length": self.max_length, "top_k": self.top_k}
