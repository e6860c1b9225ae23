"""Learning the merges of byte-level BPE."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Iterator, Sequence

from tokenizers import Tokenizer as MergeLearner
from tokenizers import models, pre_tokenizers, trainers

from keras_transformer.text.byte_level_bpe_vocabulary import (
    BYTE_CHARACTERS,
    Merge,
    in_order,
    split_merge,
)
from keras_transformer.text.byte_level_bpe_words import LONGEST_WORD
from keras_transformer.text.corpus import TrainingTexts, iterate_texts
from keras_transformer.text.normalization import Normalization, normalize_text


def learn_merges(
    texts: TrainingTexts | os.PathLike[str],
    *,
    vocab_size: int,
    special_tokens: Sequence[str],
    add_prefix_space: bool,
    normalization: Normalization,
    min_count: int,
) -> tuple[list[str], list[Merge]]:
    """Learns a vocabulary and merges; see `ByteLevelBPETokenizer.train`.

    Since the alphabet is the 256 bytes, given in full, the trainer's numbering does not depend on
    the order of its hash tables, and neither do its merges.
    """
    if min_count < 1:
        raise ValueError(f"min_count must be at least 1, got {min_count}.")
    least = len(special_tokens) + len(BYTE_CHARACTERS)
    if vocab_size < least:
        raise ValueError(
            f"vocab_size={vocab_size} is too small: {len(special_tokens)} special tokens and 256 "
            f"bytes need {least} ids."
        )
    learner = MergeLearner(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=min_count,
        special_tokens=list(special_tokens),  # the first ids, in this order
        initial_alphabet=list(BYTE_CHARACTERS),
        max_token_length=LONGEST_WORD,
        show_progress=False,
    )
    parts = _plain_parts(texts, special_tokens, normalization)
    first = next(parts, None)
    if first is None:
        raise ValueError("texts hold nothing to learn from: every one is empty, or there is none.")
    learner.train_from_iterator(itertools.chain([first], parts), trainer)
    learned = json.loads(learner.to_str())["model"]
    merges = [
        split_merge(merge, f"the learned merge {rank}")
        for rank, merge in enumerate(learned["merges"])
    ]
    return in_order(learner.get_vocab(with_added_tokens=True), "the learned vocabulary"), merges


def _plain_parts(
    texts: TrainingTexts | os.PathLike[str], special: Sequence[str], normalization: Normalization
) -> Iterator[str]:
    """What stands between special tokens: they need no merges, and are none."""
    split = re.compile("|".join(map(re.escape, special)) or r"(?!)").split
    for text in iterate_texts(texts):
        yield from filter(None, split(normalize_text(text, normalization)))
