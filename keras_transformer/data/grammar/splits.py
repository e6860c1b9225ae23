"""Sampling the built-in grammar, and its split by combinations of words.

Sentences are sampled with a fixed seed. Of all combinations of two content words in them (quality
and thing, action and object, number and thing, thing and place, ...) a small share is held out for
validation and for test. A sentence with a held-out combination never gets into the training split.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Literal
from zlib import crc32

from keras_transformer.data.grammar import actions, clauses, wishes
from keras_transformer.data.grammar.choices import Choices
from keras_transformer.data.grammar.clauses import Sentence
from keras_transformer.data.grammar.phrases import Combination

Split = Literal["train", "valid", "test"]

SEED = 2017
SAMPLED = 44_000  # distinct sentence pairs, before the split
MOST_WORDS = 14  # in English
VALID_PAIRS, TEST_PAIRS = 500, 1_000
VALID_SHARE, TEST_SHARE = 0.03, 0.06  # of the combinations
MARKLESS_SHARE = 0.2  # of the training pairs: no final mark in Chinese
# A held-out word keeps at least these many, and this share, of its partners in training.
LEAST_PARTNERS, LEAST_PARTNERS_SHARE = 3, 0.7
ALWAYS_TEST: frozenset[Combination] = frozenset(
    {("identity", "this", "apple"), ("quality", "green", "apple")}
)

# How often each kind of clause is drawn, relative to the others.
WEIGHTS = {
    clauses.identity: 8,
    clauses.profession: 3,
    clauses.quality: 7,
    clauses.state: 2,
    clauses.colour: 3,
    clauses.comparison: 4,
    clauses.belonging: 5,
    clauses.location: 8,
    clauses.existence: 9,
    actions.progressive: 14,
    actions.activity: 5,
    wishes.like_to: 1,
    actions.habit: 5,
    actions.past: 9,
    actions.future: 5,
    wishes.want_to: 4,
    wishes.want: 4,
    wishes.like: 4,
    wishes.know: 2,
    actions.dealing: 2,
    wishes.give: 4,
    wishes.have: 6,
    actions.wear: 3,
    actions.request: 1,
    actions.nap: 2,
}
CLAUSES = tuple(clause for clause, weight in WEIGHTS.items() for _ in range(weight))


def sentence(choices: Choices) -> Sentence:
    """One sentence of the grammar."""
    return choices.pick(CLAUSES)(choices)


@cache
def sampled_sentences() -> tuple[Sentence, ...]:
    """Distinct sentences of the grammar, always the same ones."""
    choices = Choices(SEED)
    sentences: dict[str, Sentence] = {}
    while len(sentences) < SAMPLED:
        new = sentence(choices)
        if new.en.count(" ") >= MOST_WORDS:
            continue
        sentences.setdefault(new.zh, new)
    return tuple(sentences.values())


def _share(text: str) -> float:
    """A number in [0, 1) that depends on the text alone."""
    return crc32(text.encode()) / 2**32


@cache
def held_out() -> dict[Combination, Split]:
    """The combinations that no training sentence holds, with the split that does hold them."""
    known = {combination for new in sampled_sentences() for combination in new.combinations}
    partners: Counter[tuple[str, str, int]] = Counter()  # (relation, word, its side)
    for relation, left, right in known:
        partners[relation, left, 0] += 1
        partners[relation, right, 1] += 1
    remaining = partners.copy()
    splits: dict[Combination, Split] = {}

    def hold_out(combination: Combination, split: Split) -> None:
        relation, left, right = combination
        splits[combination] = split
        remaining[relation, left, 0] -= 1
        remaining[relation, right, 1] -= 1

    def spared(word: tuple[str, str, int]) -> bool:
        least = max(LEAST_PARTNERS, LEAST_PARTNERS_SHARE * partners[word])
        return remaining[word] - 1 >= least

    for combination in sorted(ALWAYS_TEST):
        hold_out(combination, "test")
    for share, combination in sorted((_share(" ".join(c)), c) for c in known - ALWAYS_TEST):
        if share >= TEST_SHARE + VALID_SHARE:
            break
        relation, left, right = combination
        if spared((relation, left, 0)) and spared((relation, right, 1)):
            hold_out(combination, "test" if share < TEST_SHARE else "valid")
    return splits


@cache
def split_sentences() -> dict[Split, tuple[Sentence, ...]]:
    """The sentences of each split; those with combinations of two held-out kinds are in none."""
    splits: dict[Split, list[Sentence]] = {"train": [], "valid": [], "test": []}
    held = held_out()
    for new in sampled_sentences():
        kinds = {held[c] for c in new.combinations if c in held}
        if len(kinds) < 2:
            splits[kinds.pop() if kinds else "train"].append(new)
    return {
        "train": tuple(splits["train"]),
        "valid": tuple(splits["valid"][:VALID_PAIRS]),
        "test": tuple(splits["test"][:TEST_PAIRS]),
    }


@cache
def _pairs(split: Split) -> tuple[tuple[str, str], ...]:
    sentences = split_sentences()[split]
    if split != "train":
        return tuple((new.zh, new.en) for new in sentences)
    return tuple(
        (new.zh[:-1] if _share(new.zh) < MARKLESS_SHARE else new.zh, new.en) for new in sentences
    )


def grammar_pairs(split: Split) -> list[tuple[str, str]]:
    """The (Chinese, English) sentence pairs of a split of the built-in corpus.

    Always the same pairs in the same order, on every machine; made in about a second, then cached.
    The training split has some 40,000 pairs, validation 500 and test 1,000.

    Args:
        split: "train", "valid" or "test".

    Raises:
        ValueError: there is no such split.

    >>> chinese, english = grammar_pairs("test")[0]
    >>> len(grammar_pairs("test"))
    1000
    """
    if split not in ("train", "valid", "test"):
        raise ValueError(f"split must be 'train', 'valid' or 'test', not {split!r}")
    return list(_pairs(split))
