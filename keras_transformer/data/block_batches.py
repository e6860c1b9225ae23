"""Blocks of tokens -> batches for a language model, the same in every run of a seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import log
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from .blocks import Blocks, document_blocks, stream_blocks
from .epoch_clock import EpochClock
from .epoch_dataset import epoch_dataset
from .example_batches import Batch, BatchReport
from .token_stream import TokenStream

Packing = Literal["stream", "documents"]


@dataclass
class BlockReport(BatchReport):
    """The counts of one epoch of `BlockBatches`; the examples are blocks.

    Attributes:
        text_bytes: UTF-8 bytes of the documents; `tokens` counts an end marker for each, too.
        shuffled_tokens: tokens that are shuffled together; None for all of them.
    """

    text_bytes: int = 0
    shuffled_tokens: int | None = None

    def bits_per_byte(self, loss: float) -> float:
        """The mean loss of a token, in nats, as bits for each byte of the text.

        Example:
            >>> report = BlockReport(None, 1, 1, tokens=50, padded=64, longest=64, text_bytes=100)
            >>> round(report.bits_per_byte(log(4)), 3)  # 2 bits a token of 2 bytes
            1.0
        """
        return loss / log(2) * self.tokens / self.text_bytes

    def __str__(self) -> str:
        text = f"{super().__str__()}; {self.tokens:,} tokens of {self.text_bytes:,} bytes"
        if self.shuffled_tokens is not None:
            text += f", read anew in every epoch, {self.shuffled_tokens:,} tokens at a time"
        return text


class BlockBatches:
    """Batches for training or evaluating a causal language model; see `language_model_batches`.

    It is used as `ExampleBatches` is: batch `i` of epoch `e` is a function of the data, the
    arguments and `(seed, e, i)` alone, every epoch has the same number of batches, and `clock`
    says with which epoch and batch the next iterator of `dataset` begins.

    A stream that is held in memory is shuffled as a whole. Of a longer one, blocks of
    `shuffle_tokens` tokens in a row are shuffled together, one such window after the other.

    Args:
        stream: the tokens.
        block_size: tokens of a row.
        batch_size: rows of every batch; the last batch is filled up with rows of padding.
        packing: "stream" or "documents".
        start_id: stands before the first token of a document, where documents are packed whole.
        pad_id: fills up the inputs.
        ignored_label: fills up the labels.
        shuffle_tokens: most tokens to shuffle together where the stream is not held.
        replicas: of the model; they share the rows of every batch.
        seed: seed of shuffling and of where blocks begin.
        training: False keeps the order of the documents, the same in every epoch.
    """

    def __init__(
        self,
        stream: TokenStream,
        *,
        block_size: int,
        batch_size: int,
        packing: Packing,
        start_id: int,
        pad_id: int,
        ignored_label: int,
        shuffle_tokens: int,
        replicas: int = 1,
        seed: int = 0,
        training: bool = True,
    ):
        self.block_size = block_size
        self.batch_size = batch_size
        self.packing = packing
        self.ignored_label = ignored_label
        self.replicas = replicas
        self.seed = seed
        self.training = training
        self.clock = EpochClock()
        self._stream = stream
        self._start_id = start_id
        self._pad_id = pad_id
        # Whole batches, so that only the last one of an epoch can lack rows.
        self._window = max(1, shuffle_tokens // (block_size * batch_size)) * batch_size  # blocks
        self._count: int | None = None  # of blocks
        self._packed: list[Blocks] | None = None  # documents of a stream that is held
        self._dataset: tf.data.Dataset | None = None

    @property
    def dataset(self) -> tf.data.Dataset:
        """A `tf.data.Dataset` of known cardinality; each iterator of it is one epoch.

        All batches have one shape. Counting them costs one pass over the documents when this is
        first asked for.
        """
        if self._dataset is None:
            ids = tf.TensorSpec([self.batch_size, self.block_size], tf.int32)
            features = {"token_ids": ids}
            if self.packing == "documents":
                features["segment_ids"] = ids
            self._dataset = epoch_dataset(
                self.batches, self.count_batches(), self.clock, (features, ids)
            )
        return self._dataset

    @property
    def report(self) -> BlockReport:
        """The counts of every epoch."""
        batches = self.count_batches()
        return BlockReport(
            self._stream.report,
            self.count_examples,
            batches,
            self._stream.count_tokens(),
            batches * self.batch_size * self.block_size,
            self.block_size,
            self._stream.text_bytes,
            None if self._stream.is_held else self._window * self.block_size,
        )

    @property
    def count_examples(self) -> int:
        """Number of blocks of every epoch; the first call reads the documents."""
        if self._count is None:
            if self.packing == "stream":
                return -(-self._stream.count_tokens() // self.block_size)
            # One pass for both counts; reading alone comes first, for its errors are plain.
            self._stream.documents.check()
            packed = document_blocks(
                self._stream, self.block_size, self._window, self._stream.eos_id, self._start_id
            )
            count = sum(len(blocks.lengths) for blocks in packed)
            self._stream.count_tokens()  # refuses a stream without tokens
            self._count = count
        return self._count

    def count_batches(self) -> int:
        """Number of batches of every epoch; the first call reads the documents.

        Raises:
            ValueError: the documents are not what they should be, or have no tokens.
        """
        return -(-self.count_examples // self.batch_size)

    def batches(self, epoch: int = 0, skip: int = 0) -> Iterator[Batch]:
        """The batches of one epoch as numpy arrays, without the first `skip` of them."""
        for blocks, rows in islice(self._ordered(epoch), skip, None):
            yield self._batch(blocks, rows)

    def _ordered(self, epoch: int) -> Iterator[tuple[Blocks, np.ndarray]]:
        """Blocks, and which of them make up a batch."""
        rng = np.random.default_rng([self.seed, epoch]) if self.training else None
        tokens = self._stream.count_tokens()
        shift = 0 if rng is None else int(rng.integers(min(self.block_size, tokens)))
        for blocks in self._blocks(shift):
            count = len(blocks.lengths)
            order = np.arange(count) if rng is None else rng.permutation(count)
            for start in range(0, count, self.batch_size):
                yield blocks, order[start : start + self.batch_size]

    def _blocks(self, shift: int) -> Iterator[Blocks]:
        held, eos_id = self._stream.is_held, self._stream.eos_id
        # As many blocks as there are tokens: all at a time.
        most = self._stream.count_tokens() if held else self._window
        if self.packing == "stream":
            return stream_blocks(self._stream, self.block_size, most, eos_id, shift)
        if self._packed is not None:
            return iter(self._packed)
        blocks = document_blocks(self._stream, self.block_size, most, eos_id, self._start_id)
        if held:
            self._packed = list(blocks)
            return iter(self._packed)
        return blocks

    def _batch(self, blocks: Blocks, rows: np.ndarray) -> Batch:
        shape = (self.batch_size, self.block_size)
        count = len(rows)
        is_token = np.arange(self.block_size) < blocks.lengths[rows, None]  # [rows, block_size]

        def filled(values: np.ndarray, filler: int) -> np.ndarray:
            array = np.full(shape, filler, np.int32)
            array[:count][is_token] = values[rows][is_token]
            return array

        features: dict[str, Any] = {"token_ids": filled(blocks.inputs, self._pad_id)}
        if blocks.segments is not None:
            features["segment_ids"] = filled(blocks.segments, 0)
        return features, filled(blocks.labels, self.ignored_label)
