"""Documents -> batches for BERT's pretraining: masked tokens, and which texts follow each other."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import chain, islice, repeat
from typing import Any

import numpy as np

from keras_transformer.checks import check_at_least

from .documents import TextDocuments
from .example_batches import Example, ExampleBatches
from .masking import Masking
from .sentence_pairs import SentencePairs, single_texts
from .stored_array import HOLD_BYTES
from .text_segments import join_segments
from .token_arrays import check_special_ids
from .token_documents import tokenised_documents

FOLLOWS, DOES_NOT_FOLLOW, NO_ROW = 0, 1, -1  # labels of "next_sentence"
LEAST_SHARE = 0.25  # of the pairs; fewer that follow each other are worth a warning
HOLD_POSITIONS = 2**23  # of examples in memory at a time, ten bytes each


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
    hold_bytes: int = HOLD_BYTES,
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
    from the seed and the number of the epoch; otherwise all epochs are the same. The documents come
    in random order. Examples are made as they are needed, and some 65,000 of 128 tokens are
    shuffled together; to continue inside an epoch of more means making those before.

    Args:
        documents: the texts, of any size: they are read and tokenised once.
        tokenizer: has [CLS], [SEP] and [MASK].
        max_length: most ids of an example, special ones included.
        next_sentence: make pairs of texts.
        masked_share: share of the tokens to guess.
        whole_words: mask all pieces of a word or none.
        short_share: share of the examples that are made shorter at random.
        training: whether to shuffle and to draw anew.
        seed: seed of texts, masks and order.
        hold_bytes: most bytes of ids to keep in memory; more are kept in a temporary file, in the
            folder that the environment variable TMPDIR names.
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
    texts, report = tokenised_documents(documents, tokenizer, hold_bytes)
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
    following = 0  # of those of the first pass

    def examples(epoch: int) -> Iterator[Example]:
        nonlocal count, following
        # The third number keeps this sequence apart from that of the shuffling.
        rng = np.random.default_rng([seed, epoch, 1])
        # Passes have about as many texts as the first one; what a short one lacks, the next has.
        passes = chain.from_iterable(one_pass(rng) for _ in repeat(None))
        if count is not None:
            yield from islice(passes, count)
            return
        made = follow = 0
        for example in one_pass(rng):
            made += 1
            follow += example.get("next_sentence") == FOLLOWS
            yield example
        count, following = made, follow

    batches = ExampleBatches(
        examples,
        ("masked_tokens", "next_sentence") if next_sentence else "masked_tokens",
        fillers={"next_sentence": NO_ROW} if next_sentence else None,
        training=training,
        seed=seed,
        texts=report,
        hold=max(1, HOLD_POSITIONS // max_length),
        **options,
    )
    if next_sentence and following < LEAST_SHARE * count:
        warnings.warn(
            f"{documents.name}: only {following:,} of {count:,} pairs follow each other, because "
            "most documents have a single sentence; put blank lines between documents only.",
            stacklevel=2,
        )
    return batches
