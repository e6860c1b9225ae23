"""Learning a WordPiece vocabulary."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from tokenizers import Tokenizer as WordCutter
from tokenizers import models, pre_tokenizers, trainers

from keras_transformer.text.corpus import TrainingTexts, iterate_texts
from keras_transformer.text.wordpiece_rules import CharacterRules
from keras_transformer.text.wordpiece_vocabulary import (
    LONGEST_TOKEN,
    LONGEST_WORD,
    SUFFIX,
    UNK,
)

# Repeated words are handed to the trainer in pieces of about so many characters.
PIECE_CHARACTERS = 1 << 16


def learn_vocabulary(
    texts: TrainingTexts | os.PathLike[str],
    rules: CharacterRules,
    *,
    vocab_size: int,
    reserved_tokens: Sequence[str],
    character_coverage: float,
    min_count: int,
) -> list[str]:
    """Learns a vocabulary; see `WordPieceTokenizer.train`.

    Words are counted first and handed over sorted, with the whole alphabet fixed, since the
    trainer of `tokenizers` numbers what it finds in the order of a hash table, and settles ties
    between merges by these numbers.
    """
    if not 0 < character_coverage <= 1:
        raise ValueError(f"character_coverage must lie in (0, 1], got {character_coverage}.")
    if min_count < 1:
        raise ValueError(f"min_count must be at least 1, got {min_count}.")
    words = _count_words(texts, rules, reserved_tokens)
    if not words:
        raise ValueError("texts hold nothing to learn from: every one is empty, or there is none.")
    characters = _frequent_characters(words, character_coverage)
    alphabet = _alphabet(characters, rules)
    room = vocab_size - len(reserved_tokens)
    if room < len(alphabet):
        raise ValueError(
            f"vocab_size={vocab_size} is too small for these texts: {len(reserved_tokens)} "
            f"reserved tokens and {len(characters)} characters need "
            f"{len(reserved_tokens) + len(alphabet)} ids; raise vocab_size or lower "
            f"character_coverage."
        )
    known = set(characters)
    cutter = WordCutter(models.WordPiece(unk_token=UNK))
    cutter.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordPieceTrainer(
        vocab_size=room,
        min_frequency=min_count,
        special_tokens=alphabet,  # the first ids, in this order
        continuing_subword_prefix=SUFFIX,
        show_progress=False,
    )
    spelled = {word: count for word, count in words.items() if known.issuperset(word)}
    cutter.train_from_iterator(_repeated(spelled), trainer)
    numbered = cutter.get_vocab(with_added_tokens=True)
    learned = sorted(numbered, key=numbered.__getitem__)
    short = [token for token in learned if len(token.encode()) <= LONGEST_TOKEN]
    return [*reserved_tokens, *short]


def _count_words(
    texts: TrainingTexts | os.PathLike[str], rules: CharacterRules, reserved: Sequence[str]
) -> Counter[str]:
    """Counts words, reserved tokens apart: they need no pieces, and are none."""
    split = re.compile("|".join(map(re.escape, reserved)) or r"(?!)").split
    words: Counter[str] = Counter()
    for text in iterate_texts(texts):
        for part in split(text):
            words.update(word for word in rules.words(part) if len(word) <= LONGEST_WORD)
    return words


def _frequent_characters(words: Counter[str], coverage: float) -> list[str]:
    """The most frequent characters, as many as make up this share; ties by code point."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    missing = coverage * counts.total()
    kept = []
    for character, count in ordered:
        if missing <= 0:
            break
        kept.append(character)
        missing -= count
    return kept


def _alphabet(characters: Sequence[str], rules: CharacterRules) -> list[str]:
    """Every character can begin a word, and go on with one unless it always stands alone."""
    inside = (character for character in characters if " " not in rules.becomes(character))
    return [*characters, *(SUFFIX + character for character in inside)]


def _repeated(words: dict[str, int]) -> Iterator[str]:
    for word in sorted(words):
        count = words[word]
        at_once = max(1, PIECE_CHARACTERS // (len(word) + 1))
        while count > 0:
            yield f"{word} " * min(count, at_once)
            count -= at_once
