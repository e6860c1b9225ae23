"""Blocks of tokens -> batches for a language model, the same in every run of a seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from .blocks import DocumentBlocks, StreamBlocks
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
        on_disk: whether the tokens lie in a temporary file, because they are too many for memory.
    """

    text_bytes: int = 0
    on_disk: bool = False

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
        return f"{text}, in a temporary file" if self.on_disk else text


class BlockBatches:
    """Batches for training or evaluating a causal language model; see `language_model_batches`.

    It is used as `ExampleBatches` is: batch `i` of epoch `e` is a function of the data, the
    arguments and `(seed, e, i)` alone, every epoch has the same number of batches, and `clock`
    says with which epoch and batch the next iterator of `dataset` begins.

    Blocks are shuffled by their numbers, all of them together, whether the stream is in memory or
    in a file; each is read when its batch is made.

    Args:
        stream: the tokens.
        block_size: tokens of a row.
        batch_size: rows of every batch; the last batch is filled up with rows of padding.
        packing: "stream" or "documents".
        start_id: stands before the first token of a document, where documents are packed whole.
        pad_id: fills up the inputs.
        ignored_label: fills up the labels.
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
        self._packed: DocumentBlocks | None = None
        self._dataset: tf.data.Dataset | None = None

    @property
    def dataset(self) -> tf.data.Dataset:
        """A `tf.data.Dataset` of known cardinality; each iterator of it is one epoch.

        All batches have one shape. To count them, the documents are read when this is first asked
        for.
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
            not self._stream.is_held,
        )

    @property
    def count_examples(self) -> int:
        """Number of blocks of every epoch; the first call reads the documents."""
        return len(self._blocks())

    def count_batches(self) -> int:
        """Number of batches of every epoch; the first call reads the documents.

        Raises:
            ValueError: the documents are not what they should be, or have no tokens.
        """
        return -(-self.count_examples // self.batch_size)

    def batches(self, epoch: int = 0, skip: int = 0) -> Iterator[Batch]:
        """The batches of one epoch as numpy arrays, without the first `skip` of them."""
        rng = np.random.default_rng([self.seed, epoch]) if self.training else None
        tokens = self._stream.count_tokens()
        shift = 0 if rng is None else int(rng.integers(min(self.block_size, tokens)))
        blocks = self._blocks(shift)
        order = np.arange(len(blocks)) if rng is None else rng.permutation(len(blocks))
        for start in range(skip * self.batch_size, len(blocks), self.batch_size):
            yield self._batch(blocks, order[start : start + self.batch_size])

    def _blocks(self, shift: int = 0) -> StreamBlocks | DocumentBlocks:
        stream = self._stream
        if self.packing == "stream":
            return StreamBlocks(stream.tokens, self.block_size, shift)
        if self._packed is None:
            self._packed = DocumentBlocks(
                stream.tokens, stream.chunks(), self.block_size, stream.eos_id, self._start_id
            )
        return self._packed

    def _batch(self, blocks: StreamBlocks | DocumentBlocks, numbers: np.ndarray) -> Batch:
        shape = (self.batch_size, self.block_size)
        inputs = np.full(shape, self._pad_id, np.int32)
        labels = np.full(shape, self.ignored_label, np.int32)
        segments = np.zeros(shape, np.int32)
        for row, number in enumerate(numbers.tolist()):
            blocks.write(number, inputs[row], labels[row], segments[row])
        features: dict[str, Any] = {"token_ids": inputs}
        if self.packing == "documents":
            features["segment_ids"] = segments
        return features, labels
