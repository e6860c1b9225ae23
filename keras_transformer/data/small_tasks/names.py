"""Sentences with names of people, places and organizations, all of them invented."""

from __future__ import annotations

from functools import cache
from itertools import product

from keras_transformer.data.conll import TaggedSentence, TaggedSentences
from keras_transformer.data.grammar.choices import Choices
from keras_transformer.data.small_tasks.splits import Split, choices_of, part_of

COUNTS = {"train": 3000, "valid": 300, "test": 600}

ONSETS = "b d f g h k l m n p r s t v br dr gr kl pl st tr".split()
VOWELS = "a e i o u ai ei".split()
CODAS = "l n r s t k m nd rt sk lm".split()
STEMS = tuple("".join(parts).capitalize() for parts in product(ONSETS, VOWELS, CODAS))

FIRST_ENDINGS = ("a", "o", "ie", "us")
LAST_ENDINGS = ("er", "son", "mann", "ov", "ski")
TOWN_ENDINGS = ("ford", "burg", "ton", "dorf", "field", "ham")
FIRMS = ("Bank", "Motors", "Airlines", "Group", "Brothers", "Press")
SCHOOLS = ("University", "College", "Museum", "Hospital")

# PER, LOC and ORG stand for names; all other words are tagged O.
TEMPLATES = (
    "PER lives in LOC .",
    "PER was born in LOC and works for ORG .",
    "PER and PER met at ORG in LOC .",
    "The head of ORG , PER , will speak in LOC on Monday .",
    "ORG has sold its office in LOC to ORG .",
    "On Friday PER left ORG .",
    "My uncle PER moved from LOC to LOC in April .",
    "Yesterday it rained in LOC , says PER .",
    "ORG will build a new school near LOC .",
    "Have you heard of ORG ?",
    "Nobody in LOC knows PER .",
    '" We are leaving LOC , " said PER of ORG .',
    "The train from LOC to LOC is late .",
    "PER has written a book about LOC .",
    "In LOC , ORG pays well .",
    "PER called PER , but nobody answered .",
    "Shares of ORG fell on Tuesday .",
    "The English teacher , PER , comes from LOC .",
    "Last May ORG hired PER .",
    "Where is LOC ?",
    "The meeting on Monday was short .",
    "Nobody works on Sunday .",
)


def _name(choices: Choices, kind: str, stems: list[str]) -> list[str]:
    """The words of a name; parts of one kind appear in others, so that the whole must be seen."""
    stem = choices.pick(stems)
    if kind == "LOC":
        town = stem + choices.pick(TOWN_ENDINGS)
        return choices.pick(([town], [town], ["New", town], [town, "Bay"]))
    last = stem + choices.pick(LAST_ENDINGS)
    if kind == "PER":
        first = choices.pick(stems) + choices.pick(FIRST_ENDINGS)
        return choices.pick(([first, last], [first, last], [first], [last]))
    return choices.pick(
        (
            [last, choices.pick(FIRMS)],
            [stem + choices.pick(TOWN_ENDINGS), choices.pick(SCHOOLS)],
            ["University", "of", stem + choices.pick(TOWN_ENDINGS)],
            [stem.upper()],
        )
    )


def _sentence(choices: Choices, stems: list[str]) -> TaggedSentence:
    words: list[str] = []
    tags: list[str] = []
    for word in choices.pick(TEMPLATES).split():
        if word in ("PER", "LOC", "ORG"):
            name = _name(choices, word, stems)
            words += name
            tags += [f"B-{word}"] + [f"I-{word}"] * (len(name) - 1)
        else:
            words.append(word)
            tags.append("O")
    return TaggedSentence(tuple(words), tuple(tags))


@cache
def _sentences(split: Split) -> tuple[TaggedSentence, ...]:
    choices = choices_of(split)
    stems = part_of(split, STEMS)
    with_names: dict[TaggedSentence, None] = {}
    while len(with_names) < COUNTS[split]:
        with_names.setdefault(_sentence(choices, stems))
    return tuple(with_names)


def builtin_tagged(split: Split = "train") -> TaggedSentences:
    """Sentences with the entities PER, LOC and ORG in BIO tags.

    Args:
        split: "train" (3,000 sentences), "valid" (300) or "test" (600).

    Raises:
        ValueError: there is no such split.

    Example:
        >>> builtin_tagged("valid").tag_names()
        ['O', 'B-LOC', 'I-LOC', 'B-ORG', 'I-ORG', 'B-PER', 'I-PER']
    """
    choices_of(split)  # refuses what is no split
    return TaggedSentences(f"builtin:{split}", lambda: iter(_sentences(split)))
