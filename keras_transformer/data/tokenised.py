"""Text pairs as token ids: tokenised in graph, in parallel, many pairs at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import tensorflow as tf

from .pairs import TextPairs


@dataclass
class TokenChunk:
    """The tokens of some consecutive texts, end to end.

    Attributes:
        ids: int32 `[tokens]`.
        lengths: int64 `[texts]`, tokens of each text.
        starts: int64 `[texts]`, where each text's tokens begin in `ids`.
    """

    ids: np.ndarray
    lengths: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, ids: np.ndarray, lengths: np.ndarray) -> TokenChunk:
        return cls(ids, lengths, np.cumsum(lengths) - lengths)

    def padded(self, rows: np.ndarray, length: int, most: int, end: int) -> np.ndarray:
        """The first `most` tokens of the texts numbered `rows`, each followed by the id `end`.

        Returns:
            int32 `[rows, length]`, padded with 0.
        """
        lengths = np.minimum(self.lengths[rows], most)
        columns = np.arange(length)
        is_token = columns < lengths[:, None]  # [rows, length]
        padded = np.zeros((len(rows), length), np.int32)
        padded[is_token] = self.ids[(self.starts[rows, None] + columns)[is_token]]
        padded[np.arange(len(rows)), lengths] = end
        return padded


class TokenisedPairs:
    """A re-iterable stream of (source, target) `TokenChunk`s, in the order of the pairs.

    Args:
        pairs: the texts.
        source_tokenizer: gives `tokenize(string [texts]) -> RaggedTensor int32 [texts, (tokens)]`.
        target_tokenizer: the same for the target.
        chunk_size: pairs tokenised by one call.
    """

    def __init__(self, pairs: TextPairs, source_tokenizer, target_tokenizer, chunk_size=512):
        self._pairs = pairs
        self._chunk_size = chunk_size

        def tokenise(source, target):
            return (
                *_flat(source_tokenizer.tokenize(source)),
                *_flat(target_tokenizer.tokenize(target)),
            )

        text = tf.TensorSpec([None], tf.string)
        workers = min(16, max(2, os.cpu_count() or 2))
        with tf.device("cpu:0"):
            dataset = tf.data.Dataset.from_generator(
                self._text_chunks, output_signature=(text, text)
            )
            dataset = dataset.map(tokenise, num_parallel_calls=workers, deterministic=True)
            dataset = dataset.prefetch(2 * workers)
        # Threads of its own: the dataset that waits for this one may hold all shared threads.
        options = tf.data.Options()
        options.threading.private_threadpool_size = workers + 1
        self._dataset = dataset.with_options(options)

    def __iter__(self) -> Iterator[tuple[TokenChunk, TokenChunk]]:
        with tf.device("cpu:0"):
            chunks = self._dataset.as_numpy_iterator()
        for source_ids, source_lengths, target_ids, target_lengths in chunks:
            yield (
                TokenChunk.of(source_ids, source_lengths),
                TokenChunk.of(target_ids, target_lengths),
            )

    def _text_chunks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        pairs = iter(self._pairs)
        while chunk := list(islice(pairs, self._chunk_size)):
            sources, targets = zip(*chunk, strict=True)
            yield _encoded(sources), _encoded(targets)


def _encoded(texts: tuple[str, ...]) -> np.ndarray:
    return np.array([text.encode("utf-8") for text in texts], dtype=object)


def _flat(tokens: tf.RaggedTensor) -> tuple[tf.Tensor, tf.Tensor]:
    return tf.cast(tokens.flat_values, tf.int32), tokens.row_lengths()
