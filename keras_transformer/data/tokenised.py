"""Texts as token ids: tokenised in graph, in parallel, many texts at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

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
                *flat_tokens(source_tokenizer.tokenize(source)),
                *flat_tokens(target_tokenizer.tokenize(target)),
            )

        text = tf.TensorSpec([None], tf.string)
        self._dataset = mapped_in_parallel(self._text_chunks, (text, text), tokenise)

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
            yield encoded(sources), encoded(targets)


def mapped_in_parallel(
    read: Callable[[], Iterator[Any]], signature: Any, function: Callable[..., Any]
) -> tf.data.Dataset:
    """A dataset of `function(*item)` of the items that `read` gives, in their order.

    Args:
        read: opens a source and yields its items.
        signature: `tf.TensorSpec`s in the structure of an item.
        function: runs in the graph, for several items at a time.
    """
    workers = min(16, max(2, os.cpu_count() or 2))
    with tf.device("cpu:0"):
        dataset = tf.data.Dataset.from_generator(read, output_signature=signature)
        dataset = dataset.map(function, num_parallel_calls=workers, deterministic=True)
        dataset = dataset.prefetch(2 * workers)
    # Threads of its own: the dataset that waits for this one may hold all shared threads.
    options = tf.data.Options()
    options.threading.private_threadpool_size = workers + 1
    return dataset.with_options(options)


def encoded(texts: Iterable[str]) -> np.ndarray:
    """Texts as UTF-8: bytes `[texts]`."""
    return np.array([text.encode("utf-8") for text in texts], dtype=object)


def flat_tokens(tokens: tf.RaggedTensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Ids int32 `[tokens]` of texts end to end, and the tokens of each: int64 `[texts]`."""
    return tf.cast(tokens.flat_values, tf.int32), tokens.row_lengths()
