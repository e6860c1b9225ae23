"""What alignments have in common: the tokens of two texts, and how attention joins them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.tasks.text_bounds import beginnings, most_bytes
from keras_transformer.text import Tokenizer

LONGEST = 500
"""Most tokens of each text in an alignment: the weights are as many as both lengths multiplied."""


class Side(NamedTuple):
    """The tokens of one of two texts, for a batch of these."""

    ids: tf.RaggedTensor  # int32 [batch, (tokens)]
    starts: tf.RaggedTensor  # int32 [batch, (tokens)], first character
    ends: tf.RaggedTensor  # int32 [batch, (tokens)], one past the last character

    def ended_by(self, index: int, where: tf.Tensor) -> Side:
        """Each row followed by a token that stands for no character, where it is said to be.

        Args:
            index: the token.
            where: bool `[batch]`.

        >>> side = Side(*(tf.ragged.constant([[value], []], tf.int32) for value in (7, 0, 3)))
        >>> [part.to_list() for part in side.ended_by(2, tf.constant([True, True]))]
        [[[7, 2], [2]], [[0, 3], [0]], [[3, 3], [0]]]
        """
        end = tf.reduce_max(self.ends.to_tensor(shape=[None, None]), axis=1)  # [batch]
        end = tf.boolean_mask(tf.maximum(end, 0), where)  # [rows]; of no token the maximum is low
        added = tf.cast(where, tf.int64)  # [batch], how many tokens

        def ended(part: tf.RaggedTensor, values: tf.Tensor) -> tf.RaggedTensor:
            more = tf.RaggedTensor.from_row_lengths(values, added, validate=False)
            return tf.concat([part, more], axis=1)

        more = (tf.fill(tf.shape(end), index), end, end)  # [rows] each
        return Side(*(ended(part, values) for part, values in zip(self, more, strict=True)))

    def lengths(self) -> tf.Tensor:
        """int32 `[batch]`."""
        return tf.cast(self.ids.row_lengths(), tf.int32)

    def outputs(self, name: str, tokenizer: Tokenizer) -> dict[str, tf.Tensor]:
        """What a signature says of them, named after the text: `source_tokens`, say."""

        def dense(part: tf.RaggedTensor) -> tf.Tensor:
            return part.to_tensor(shape=[None, None])  # [batch, tokens]

        tokens = self.ids.with_values(tf.gather(token_names(tokenizer), self.ids.values))
        return {
            f"{name}_tokens": dense(tokens),
            f"{name}_starts": dense(self.starts),
            f"{name}_ends": dense(self.ends),
            f"{name}_length": self.lengths(),
        }


def read_tokens(tokenizer: Tokenizer, texts: tf.Tensor, most: int) -> tuple[Side, tf.Tensor]:
    """The first tokens of texts `[batch]`, and which texts have more of them `[batch]`."""
    texts, too_long = beginnings(texts, most_bytes(most))
    found = tokenizer.tokenize_with_offsets(texts)  # [batch, (tokens)] each
    cut = too_long | (found[0].row_lengths() > most)  # [batch]
    return Side(*(part[:, :most] for part in found)), cut


def token_names(tokenizer: Tokenizer) -> np.ndarray:
    """How the vocabulary spells each id: bytes `[vocab_size]`."""
    names = [tokenizer.id_to_token(index) for index in range(tokenizer.vocab_size)]
    return np.array([name.encode() for name in names], object)


def mean_attention(captured: Mapping[str, tf.Tensor], ending: str) -> tf.Tensor:
    """The mean over the heads of all layers whose path ends like this.

    Args:
        captured: weights `[rows, heads, queries, keys]` by the paths of their layers, as
            `layers.capture_attention` has them.
        ending: of the paths.

    Returns:
        float32 `[rows, queries, keys]`.

    >>> layers = {"a/self": tf.ones([1, 2, 1, 1]), "b/self": tf.zeros([1, 2, 1, 1])}
    >>> mean_attention(layers, "/self").numpy().tolist()
    [[[0.5]]]
    """
    layers = [
        tf.reduce_mean(tf.cast(weights, tf.float32), axis=1)  # [rows, queries, keys]
        for path, weights in captured.items()
        if path.endswith(ending)
    ]
    return tf.add_n(layers) / len(layers)
