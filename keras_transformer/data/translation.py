"""Text pairs -> batches of ids for an encoder-decoder, the same in every run of the same seed."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
import tensorflow as tf

from keras_transformer.checks import check_at_least

from .epoch_clock import EpochClock
from .epoch_dataset import epoch_dataset
from .length_buckets import BatchSize, BucketPool, Rows, check_rows, length_ladder
from .length_report import LengthReport
from .pairs import ReadReport, TextPairs
from .stored_array import HOLD_BYTES
from .tokenised import TokenChunk, TokenisedPairs

Batch = tuple[dict[str, np.ndarray], np.ndarray]
Chunks = Iterable[tuple[TokenChunk, TokenChunk]]  # source and target


class TranslationBatches:
    """Batches for training or evaluating a text-to-text model.

    A batch is `({"source": int32 [batch, source_length], "target": int32 [batch, target_length]},
    labels int32 [batch, target_length])`: source = tokens + EOS, target = BOS + tokens,
    labels = tokens + EOS, padded with 0 to lengths from `length_ladder`. Pairs of similar lengths
    share a batch (bucketing: Sutskever et al. 2014, section 3.4; batches of about equally many
    tokens: Vaswani et al. 2017, section 5.1).

    Batch `i` of epoch `e` is a function of the data, the arguments and `(seed, e, i)` alone, and
    every epoch has the same number of batches. `clock` says with which epoch and batch the next
    iterator of `dataset` begins.

    Args:
        pairs: the texts, read once. A fault in them is met in that pass, which `dataset` makes to
            count the batches.
        source_tokenizer: tokenizer of the sources (ids: pad 0).
        target_tokenizer: tokenizer of the targets; may be the same one.
        batch_tokens: most tokens of a side of a batch, padding included: bounds
            `batch * max(source_length, target_length)`. 4096 unless `batch_size` is given.
        batch_size: rows of a batch, instead of `batch_tokens`.
        max_source_length: most ids of a source, its EOS included.
        max_target_length: most ids of a target, its BOS included.
        overlong: "drop" pairs with a longer side or "truncate" that side; both are counted.
        length_multiple: padded lengths are multiples of it, or the longest length allowed.
        replicas: rows of every batch are a multiple of it; the last ones are filled up with rows
            of padding, which weigh nothing in a loss over real tokens.
        shuffle_buffer: pairs held for shuffling. Of more pairs, groups of some hundreds that stand
            side by side come in random order, and so many pairs of them are mixed at a time.
        hold_bytes: most bytes of a side's ids to keep in memory. The texts are read and tokenised
            once; the ids of more go to a temporary file (in TMPDIR), 4 bytes each.
        seed: seed of the shuffling.
        training: False keeps the order within a bucket, the same in every epoch.

    Raises:
        ValueError: arguments that contradict each other; when data is read, everything that
            `TextPairs` raises, and data of which no pair is kept.

    Example:
        >>> batches = TranslationBatches(pairs, tokenizer, tokenizer)  # doctest: +SKIP
        >>> model.fit(batches.dataset, epochs=3)  # doctest: +SKIP
    """

    def __init__(
        self,
        pairs: TextPairs,
        source_tokenizer,
        target_tokenizer,
        *,
        batch_tokens: int | None = None,
        batch_size: int | None = None,
        max_source_length: int = 256,
        max_target_length: int = 256,
        overlong: str = "drop",
        length_multiple: int = 8,
        replicas: int = 1,
        shuffle_buffer: int = 100_000,
        hold_bytes: int = HOLD_BYTES,
        seed: int = 0,
        training: bool = True,
    ):
        if batch_tokens is not None and batch_size is not None:
            raise ValueError(
                f"give batch_tokens ({batch_tokens}) or batch_size ({batch_size}), not both."
            )
        if overlong not in ("drop", "truncate"):
            raise ValueError(f'overlong is {overlong!r}; right are "drop" and "truncate".')
        check_at_least(2, max_source_length=max_source_length, max_target_length=max_target_length)
        check_at_least(
            1, length_multiple=length_multiple, replicas=replicas, shuffle_buffer=shuffle_buffer
        )
        check_at_least(0, hold_bytes=hold_bytes)
        for side, tokenizer in (("source", source_tokenizer), ("target", target_tokenizer)):
            if tokenizer.pad_id != 0:
                raise ValueError(
                    f"the {side} tokenizer's pad_id is {tokenizer.pad_id}, but padding must be 0."
                )
        self.pairs = pairs
        self.overlong = overlong
        self.replicas = replicas
        self.shuffle_buffer = shuffle_buffer
        self.seed = seed
        self.training = training
        self.clock = EpochClock()
        self._most = (max_source_length - 1, max_target_length - 1)  # tokens beside BOS or EOS
        self._ends = (source_tokenizer.eos_id, target_tokenizer.eos_id)
        self._bos_id = target_tokenizer.bos_id
        self._ladders = (
            length_ladder(max_source_length, length_multiple),
            length_ladder(max_target_length, length_multiple),
        )
        if batch_size is None:
            batch_tokens = 4096 if batch_tokens is None else batch_tokens
        self._batch_size = BatchSize(batch_tokens, batch_size, replicas)
        self._check_batch_size()
        self._tokenised = TokenisedPairs(pairs, source_tokenizer, target_tokenizer, hold_bytes)
        self._report: LengthReport | None = None
        self._dataset: tf.data.Dataset | None = None

    @property
    def dataset(self) -> tf.data.Dataset:
        """A finite `tf.data.Dataset` of the batches; each iterator of it is one epoch.

        Its cardinality is known, so that `fit` shows the steps of the first epoch too. Finding it
        costs one pass over the data when this is first asked for.
        """
        if self._dataset is None:
            ids = tf.TensorSpec([None, None], tf.int32)  # [batch, length]
            signature = ({"source": ids, "target": ids}, ids)
            self._dataset = epoch_dataset(self.batches, self.count_batches(), self.clock, signature)
        return self._dataset

    @property
    def report(self) -> LengthReport:
        """The counts of the last finished pass; makes one where there was none."""
        if self._report is None:
            self.count_batches()
        return self._report

    def count_batches(self) -> int:
        """Number of batches of an epoch, the same for every epoch; the first call reads the data.

        Raises:
            ValueError: the data is not what it should be, or no pair is kept.
        """
        if self._report is None:
            # How many batches of which shape there are does not hang on the order.
            pool = BucketPool(self._batch_size, self.shuffle_buffer, rng=None)
            report = LengthReport(ReadReport(self.pairs.name))
            for _ in self._grouped(self._tokenised, pool, report):
                pass
            self._judge_kept_share(report)
            self._report = report
        return self._report.batches

    def batches(self, epoch: int = 0, skip: int = 0) -> Iterator[Batch]:
        """The batches of one epoch as numpy arrays, without the first `skip` of them."""
        self.count_batches()
        rng = np.random.default_rng([self.seed, epoch]) if self.training else None
        chunks: Chunks = self._tokenised
        if rng is not None and self._report.kept > self.shuffle_buffer:
            chunks = self._tokenised.chunks(rng.permutation(len(self._tokenised)))
        pool = BucketPool(self._batch_size, self.shuffle_buffer, rng)
        report = LengthReport(ReadReport(self.pairs.name))
        for rows in islice(self._grouped(chunks, pool, report), skip, None):
            yield self._finish(rows)
        self._report = report

    def _grouped(self, chunks: Chunks, pool: BucketPool, report: LengthReport) -> Iterator[Rows]:
        for source, target in chunks:
            self._fill(pool, source, target, report)
            yield from self._counted(pool.full_batches(), report)
        yield from self._counted(pool.last_batches(), report)
        report.texts = self.pairs.report  # the texts were read to their end by now

    def _fill(
        self, pool: BucketPool, source: TokenChunk, target: TokenChunk, report: LengthReport
    ) -> None:
        """Puts the pairs of a chunk that are neither empty nor too long into their buckets."""
        sides = (source, target)
        is_empty = (source.lengths == 0) | (target.lengths == 0)
        too_long = (source.lengths > self._most[0]) | (target.lengths > self._most[1])
        too_long &= ~is_empty
        keep = ~is_empty
        if self.overlong == "drop":
            keep &= ~too_long
            report.dropped += {"too long": int(too_long.sum())}
        else:
            report.truncated += int(too_long.sum())
        report.dropped += {"no tokens": int(is_empty.sum())}
        report.read += len(keep)
        report.kept += int(keep.sum())

        rungs = []
        for side, most, ladder, lengths in zip(
            sides, self._most, self._ladders, (report.source, report.target), strict=True
        ):
            real = np.minimum(side.lengths, most) + 1  # with BOS or EOS
            lengths.add(real[keep])
            rungs.append(np.searchsorted(ladder, real))
        key = rungs[0] * len(self._ladders[1]) + rungs[1]
        for k in np.unique(key[keep]):
            rows = np.flatnonzero(keep & (key == k))
            i, j = divmod(int(k), len(self._ladders[1]))
            shape = (int(self._ladders[0][i]), int(self._ladders[1][j]))
            pool.add(
                shape,
                tuple(
                    side.padded(rows, length, most, end)
                    for side, length, most, end in zip(
                        sides, shape, self._most, self._ends, strict=True
                    )
                ),
            )

    def _counted(self, batches: Iterator[Rows], report: LengthReport) -> Iterator[Rows]:
        for rows in batches:
            missing = -len(rows[0]) % self.replicas
            source, labels = (np.pad(side, ((0, missing), (0, 0))) for side in rows)
            report.batches += 1
            report.source.padded += source.size
            report.target.padded += labels.size
            yield source, labels

    def _finish(self, rows: Rows) -> Batch:
        source, labels = rows
        target = np.empty_like(labels)
        target[:, 0] = self._bos_id
        target[:, 1:] = labels[:, :-1]
        target[labels == 0] = 0  # a target has as many ids as its labels
        return {"source": source, "target": target}, labels

    def _judge_kept_share(self, report: LengthReport) -> None:
        if not report.texts.kept:
            raise ValueError(f"{report.texts}; there is nothing to work with.")
        limits = f"max_source_length={self._most[0] + 1}, max_target_length={self._most[1] + 1}"
        if not report.kept:
            raise ValueError(
                f"{self.pairs.name}: read {report.read:,}, kept 0 ({limits}, "
                f"{_reasons(report)}); raise the lengths or use overlong='truncate'."
            )
        if report.kept_share < 0.5:
            warnings.warn(
                f"{self.pairs.name}: read {report.read:,}, kept {report.kept:,} "
                f"({report.kept_share:.1%}) ({limits}, {_reasons(report)}).",
                stacklevel=3,
            )

    def _check_batch_size(self) -> None:
        size, replicas = self._batch_size, self.replicas
        longest = (int(self._ladders[0][-1]), int(self._ladders[1][-1]))
        if size.batch_size is not None:
            check_rows(size.batch_size, replicas)
        elif size.rows(longest) < 1:
            raise ValueError(
                f"batch_tokens={size.batch_tokens} is too few for one pair of the longest padded "
                f"length ({max(longest)}) on each of {replicas} replicas: give at least "
                f"{max(longest) * replicas}, or smaller maximum lengths."
            )


def translation_dataset(
    pairs: TextPairs, source_tokenizer, target_tokenizer, **options
) -> tf.data.Dataset:
    """`TranslationBatches(...).dataset`, for a `fit` that need not be resumed.

    Example:
        >>> model.fit(translation_dataset(pairs, tokenizer, tokenizer))  # doctest: +SKIP
    """
    return TranslationBatches(pairs, source_tokenizer, target_tokenizer, **options).dataset


def _reasons(report: LengthReport) -> str:
    return "; ".join(f"{reason}: {n:,}" for reason, n in sorted(report.dropped.items()))
