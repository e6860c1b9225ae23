"""Vectors of texts and of their tokens."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.models import BertEmbedder
from keras_transformer.tasks.answer_rows import token_vectors
from keras_transformer.tasks.answers import TokenVectors
from keras_transformer.tasks.bert_task import BertTask
from keras_transformer.tasks.chunks import run_in_chunks
from keras_transformer.tasks.graph_function import graph_function
from keras_transformer.tasks.requests import plain
from keras_transformer.tasks.text_bounds import beginnings, most_bytes
from keras_transformer.tasks.texts import as_texts, is_blank
from keras_transformer.text import Tokenizer


class TextEmbedder(BertTask):
    """Turns texts into vectors: texts of like meaning, into near ones.

    How token vectors become one, and whether it gets length one, is the model's. A blank text gets
    the zero vector, and no tokens.

    Args:
        model: the embedder.
        tokenizer: of the same ids.
        max_length: most tokens of a text, special ones included; as many as the model takes by
            default.

    Raises:
        ValueError: when model and tokenizer do not have the same ids, or `max_length` is out of
            range.

    >>> embedder = TextEmbedder.load("runs/minilm")  # doctest: +SKIP
    >>> embedder(["A dog runs.", "A hound is running."]).shape  # doctest: +SKIP
    (2, 384)
    """

    model_classes = (BertEmbedder,)

    def __init__(self, model: BertEmbedder, tokenizer: Tokenizer, max_length: int | None = None):
        super().__init__(model, tokenizer, max_length, name="text_embedder")
        self.hidden_size = model.config.hidden_size
        tokens = [tokenizer.id_to_token(index) for index in range(tokenizer.vocab_size)]
        self._tokens = np.array([token.encode() for token in tokens], object)  # [vocab_size]
        text = [tf.TensorSpec([None], tf.string, name="text")]
        self.serving_default = graph_function(self._embed, input_signature=text)
        self.tokens = graph_function(self._embed_tokens, input_signature=text)

    # In Python.

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """One vector for each text, float32 `[texts, hidden_size]`; warns of texts that are cut.

        Raises:
            ValueError: when ``texts`` is anything but a list of strings.
        """
        outputs = self.serving_default(as_texts(texts))
        if cut := np.flatnonzero(outputs["truncated"]).tolist():
            warnings.warn(
                f"{len(cut)} of the texts, the first of them texts[{cut[0]}], are longer than "
                f"max_length={self.max_length} tokens: what follows is not read.",
                stacklevel=2,
            )
        return outputs["embedding"].numpy()

    def token_vectors(self, texts: Sequence[str]) -> list[TokenVectors]:
        """One vector for each token of each text."""
        return token_vectors(plain(self.tokens(as_texts(texts))))

    # In the graph.

    def signatures(self) -> dict[str, Any]:
        """`serving_default`: a vector for each text; `tokens`: one for each of its tokens."""
        return {"serving_default": self.serving_default, "tokens": self.tokens}

    def _embed(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        batch, _, truncated = self.reading(text)

        def embed(ids: tf.Tensor, segments: tf.Tensor, lengths: tf.Tensor) -> tuple[tf.Tensor]:
            width = tf.reduce_max(lengths)
            inputs = {"token_ids": ids[:, :width], "segment_ids": segments[:, :width]}
            return (tf.cast(self.model(inputs, training=False), tf.float32),)

        spec = tf.TensorSpec([None, self.hidden_size])
        (vectors,) = run_in_chunks(embed, tuple(batch), batch.lengths, (spec,))
        return {
            "embedding": tf.where(is_blank(text)[:, None], 0.0, vectors),
            "truncated": truncated,
        }

    def _embed_tokens(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        text, too_long = beginnings(text, most_bytes(self.max_length))
        found = self.tokenizer.tokenize_with_offsets(text)  # [batch, (tokens)] each
        tokens, starts, ends = (part[:, : self.max_length - 2] for part in found)
        batch = self._inputs.single(tokens)
        longest = tf.reduce_max(tf.concat([batch.lengths, [2]], 0))

        def embed(ids: tf.Tensor, segments: tf.Tensor, lengths: tf.Tensor) -> tuple[tf.Tensor]:
            width = tf.reduce_max(lengths)
            inputs = {"token_ids": ids[:, :width], "segment_ids": segments[:, :width]}
            hidden = self.model.bert(inputs, training=False)[:, 1:-1]
            hidden = tf.pad(hidden, [[0, 0], [0, longest - width], [0, 0]])
            return (tf.cast(hidden, tf.float32),)  # [rows, longest - 2, hidden_size]

        spec = tf.TensorSpec([None, None, self.hidden_size])
        (vectors,) = run_in_chunks(embed, tuple(batch), batch.lengths, (spec,))
        real = tf.where(is_blank(text), 0, batch.lengths - 2)  # [batch]
        inside = tf.sequence_mask(real, longest - 2)  # [batch, longest - 2]

        def dense(part: tf.RaggedTensor) -> tf.Tensor:
            return part.to_tensor(shape=[None, None])

        names = tokens.with_values(tf.gather(self._tokens, tokens.values))
        return {
            "vectors": tf.where(inside[..., None], vectors, 0.0),
            "tokens": tf.where(inside, dense(names), ""),
            "starts": tf.where(inside, dense(starts), 0),
            "ends": tf.where(inside, dense(ends), 0),
            "length": real,
            "truncated": too_long | (found[0].row_lengths() > self.max_length - 2),
        }

    # Saving.

    def _head(self) -> dict[str, Any]:
        return {"pooling": self.model.pooling, "normalize": self.model.normalize}

    def _options(self) -> dict[str, Any]:
        return {"max_length": self.max_length}
