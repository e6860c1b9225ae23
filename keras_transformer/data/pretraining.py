"""Documents -> batches for BERT's pretraining: masked tokens, and which texts follow each other."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import chain, islice, repeat
from typing import Any

import numpy as np

from keras_transformer.checks import check_at_least

from .documents import DocumentReport, TextDocuments
from .example_batches import Example, ExampleBatches
from .masking import Masking
from .sentence_pairs import Document, SentencePairs, single_texts
from .text_segments import join_segments
from .token_arrays import check_special_ids, token_arrays

FOLLOWS, DOES_NOT_FOLLOW, NO_ROW = 0, 1, -1  # labels of "next_sentence"
LEAST_SHARE = 0.25  # of the pairs; fewer that follow each other are worth a warning


def pretraining_batches(
    documents: TextDocuments,
    tokenizer: Any,
    *,
    max_length: int = 128,
    next_sentence: bool = True,
    masked_share: float = 0.15,
    whole_words: bool = False,
    short_share: float = 0.1,
    training: bool = True,
    seed: int = 0,
    **options: Any,
) -> ExampleBatches:
    """Batches for `BertPretraining`, or without sentence pairs for `BertMaskedLM`.

    A batch is `({"token_ids", "segment_ids": int32 [batch, length], "masked_positions": int32
    [batch, predictions]}, {"masked_tokens": int32 [batch, predictions], "next_sentence": int32
    [batch]})`. Rows with fewer masked tokens than others are filled up with position 0 and label
    0, which `TokenCrossEntropy` leaves out. "next_sentence" is 0 where the second text follows
    the first one, 1 where it does not, -1 in rows that only fill a batch up. Without sentence
    pairs the labels are the masked tokens alone.

    In training every epoch draws its texts and its masks anew, as many texts as in the first one,
    from the seed and the number of the epoch; otherwise all epochs are the same.

    Args:
        documents: the texts; all their tokens are held in memory.
        tokenizer: has [CLS], [SEP] and [MASK].
        max_length: most ids of an example, special ones included.
        next_sentence: make pairs of texts.
        masked_share: share of the tokens to guess.
        whole_words: mask all pieces of a word or none.
        short_share: share of the examples that are made shorter at random.
        training: whether to shuffle and to draw anew.
        seed: seed of texts, masks and order.
        **options: of `ExampleBatches`.

    Raises:
        ValueError: what the documents raise; too few documents for pairs; impossible arguments.

    Example:
        >>> batches = pretraining_batches(documents, tokenizer)  # doctest: +SKIP
        >>> model.fit(batches.dataset, epochs=3)  # doctest: +SKIP
    """
    least = 5 if next_sentence else 3
    check_at_least(least, max_length=max_length)
    check_special_ids(tokenizer, "cls_id", "sep_id", "mask_id")
    masking = Masking(tokenizer, masked_share, whole_words)
    texts, report = _tokenised(documents, tokenizer)
    if next_sentence:
        pairs = SentencePairs(texts, max_length - 3, short_share)

    def one_pass(rng: np.random.Generator) -> Iterator[Example]:
        if next_sentence:
            for first, second, follows in pairs.one_pass(rng):
                label = FOLLOWS if follows else DOES_NOT_FOLLOW
                yield _masked(first, second, rng) | {"next_sentence": label}
        else:
            for text in single_texts(texts, max_length - 2, rng, short_share):
                yield _masked(text, None, rng)

    def _masked(first, second, rng) -> dict[str, Any]:
        example = join_segments(first, second, tokenizer)
        token_ids, positions, labels = masking(example["token_ids"], rng)
        example |= {"token_ids": token_ids, "masked_positions": positions}
        return example | {"masked_tokens": labels}

    count: int | None = None  # of texts in an epoch

    def examples(epoch: int) -> list[Example]:
        nonlocal count
        # The third number keeps this sequence apart from that of the shuffling.
        rng = np.random.default_rng([seed, epoch, 1])
        if count is None:
            made = list(one_pass(rng))
            count = len(made)
            if next_sentence:
                _judge_labels(made, documents.name)
            return made
        # Passes have about as many texts as the first one; what a short one lacks, the next has.
        passes = chain.from_iterable(one_pass(rng) for _ in repeat(None))
        return list(islice(passes, count))

    return ExampleBatches(
        examples if training else examples(0),
        ("masked_tokens", "next_sentence") if next_sentence else "masked_tokens",
        fillers={"next_sentence": NO_ROW} if next_sentence else None,
        training=training,
        seed=seed,
        texts=report,
        **options,
    )


def _tokenised(documents: TextDocuments, tokenizer: Any) -> tuple[list[Document], DocumentReport]:
    """The ids of all sentences, and the counts with those dropped that have no tokens."""
    report = documents.check()
    sizes, texts = [], []
    for document in documents:
        sizes.append(len(document))
        texts += document
    ids = token_arrays(texts, tokenizer)
    tokenised = [[i for i in islice(ids, size) if len(i)] for size in sizes]
    tokenised = [document for document in tokenised if document]
    kept = sum(map(len, tokenised))
    if kept < report.kept:
        report.dropped["no tokens"] += report.kept - kept
        report.kept, report.documents = kept, len(tokenised)
    if not kept:
        raise ValueError(f"{report}; there is nothing to work with.")
    return tokenised, report


def _judge_labels(examples: list[Example], name: str) -> None:
    following = sum(example["next_sentence"] == FOLLOWS for example in examples)
    if following < LEAST_SHARE * len(examples):
        warnings.warn(
            f"{name}: only {following:,} of {len(examples):,} pairs follow each other, because "
            "most documents have a single sentence; put blank lines between documents only.",
            stacklevel=4,
        )
