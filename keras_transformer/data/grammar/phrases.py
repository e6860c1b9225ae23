"""Phrases of the built-in grammar: who, what, whose, where and when.

Every phrase carries the combinations of content words in it (`("quality", "red", "cup")`), from
which the splits are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from keras_transformer.data.grammar.choices import Choices
from keras_transformer.data.grammar.function_words import (
    FEW,
    HE,
    KIN,
    NAMES,
    PLURAL,
    PRONOUNS,
    SHE,
    THEY,
    THIRD,
    YOU,
    I,
    Word,
)
from keras_transformer.data.grammar.lexicon import Adjective, Noun, nouns

Combination = tuple[str, str, str]
Combinations = tuple[Combination, ...]


# The first letter shows the sound in all but these words.
_VOWEL_LETTER_CONSONANT_SOUND = ("useful", "uniform", "university")
_CONSONANT_LETTER_VOWEL_SOUND = ("honest",)


class Phrase(NamedTuple):
    """A phrase in both languages; `agreement` is FIRST, THIRD or PLURAL."""

    zh: str
    en: str
    agreement: int = THIRD
    combinations: Combinations = ()


IT = Phrase("它", "it")
PEOPLE = nouns("person")

# Determiners, each as often as it stands here.
OBJECT = ("a", "a", "a", "a", "number", "number", "this", "that", "these", "those", "owner")
ONE_OBJECT = ("a", "a", "a", "this", "that", "owner")
DEFINITE = ("this", "that", "these", "those", "owner")
TOPIC = ("the", "the", "this", "that", "these", "those", "owner")
COUNTED = ("a", "a", "number", "number", "number")
_DEMONSTRATIVES = {
    "this": ("这", THIRD),
    "that": ("那", THIRD),
    "these": ("这些", PLURAL),
    "those": ("那些", PLURAL),
}


@cache
def _suitable(determiners: tuple[str, ...], noun: Noun) -> tuple[str, ...]:
    """The determiners that go well with the noun."""
    if noun.portion[0]:  # neither owner nor "the", and no plural without a count
        return tuple(d for d in determiners if d in ("a", "number", "this", "that"))
    if "person" in noun.tags and "job" not in noun.tags:  # bare 男人 would be men in general
        return tuple(d for d in determiners if d not in ("the", "owner"))
    return determiners


def with_article(english: str) -> str:
    """The phrase with *a* or *an*, by the sound that it starts with."""
    vowel = english[0] in "aeiou" and not english.startswith(_VOWEL_LETTER_CONSONANT_SOUND)
    return ("an " if vowel or english.startswith(_CONSONANT_LETTER_VOWEL_SOUND) else "a ") + english


def described(
    choices: Choices, noun: Noun, probability: float = 0.4, short: bool = False
) -> tuple[str, str, Combinations]:
    """The adjectives before a noun: Chinese, English, combinations; `short`: none with 的."""
    adjectives: tuple[Adjective, ...] = ()
    if choices.chance(probability):
        attributes = noun.short_attributes if short else noun.attributes
        colour = noun.colours and choices.chance(0.6)
        # Two adjectives: a size or a quality with 的 goes well before a colour (小白猫).
        if attributes and (not colour or choices.chance(0.15)):
            first = choices.pick(attributes)
            if not colour or first.english in ("big", "small") or first.attribute[-1] == "的":
                adjectives += (first,)
        if colour:
            adjectives += (choices.pick(noun.colours),)
    return (
        "".join(a.attribute for a in adjectives),
        "".join(a.english + " " for a in adjectives),
        tuple(("quality", a.english, noun.singular) for a in adjectives),
    )


def thing(
    choices: Choices,
    noun: Noun,
    determiners: tuple[str, ...] = OBJECT,
    numbers: Sequence[Word] = FEW,
    adjectives: float = 0.4,
) -> Phrase:
    """A noun phrase: an apple, three big dogs, these red cups, my mother's car, the book."""
    determiner = choices.pick(_suitable(determiners, noun))
    owned = determiner == "owner"
    zh, en, combinations = described(choices, noun, adjectives, short=owned)
    zh += noun.zh
    one = noun.portion[0] + en + noun.singular
    several = noun.portion[1] + en + noun.plural
    if determiner == "a":
        return Phrase(f"一{noun.measure}{zh}", with_article(one), THIRD, combinations)
    if determiner == "number":
        number = choices.pick(numbers)
        combinations += (("number", number.en, noun.singular),)
        return Phrase(
            f"{number.zh}{noun.measure}{zh}", f"{number.en} {several}", PLURAL, combinations
        )
    if owned:
        owner = possessor(choices)
        return Phrase(f"{owner.zh}{zh}", f"{owner.en} {one}", THIRD, combinations)
    if determiner == "the":
        return Phrase(zh, f"the {one}", THIRD, combinations)
    demonstrative, agreement = _DEMONSTRATIVES[determiner]
    if agreement == PLURAL:
        return Phrase(f"{demonstrative}{zh}", f"{determiner} {several}", PLURAL, combinations)
    return Phrase(f"{demonstrative}{noun.measure}{zh}", f"{determiner} {one}", THIRD, combinations)


def kin(choices: Choices) -> Phrase:
    """A relative: my mother, Tom's son."""
    relative = choices.pick(KIN)
    if choices.chance(0.25):
        name = choices.pick(NAMES)
        return Phrase(f"{name.zh}的{relative.zh}", f"{name.en}'s {relative.en}")
    owner = choices.pick((I, I, YOU, HE, SHE))
    return Phrase(owner.zh + relative.zh, f"{owner.determiner} {relative.en}")


def possessor(choices: Choices) -> Word:
    """Whose, before a noun: my, Tom's, my mother's."""
    if choices.chance(0.65):
        owner = choices.pick(PRONOUNS)
        return Word(f"{owner.zh}的", owner.determiner)
    person = choices.pick(NAMES) if choices.chance(0.6) else kin(choices)
    return Word(f"{person.zh}的", f"{person.en}'s")


def possessive(choices: Choices) -> Word:
    """Whose, alone: mine, Tom's."""
    if choices.chance(0.7):
        owner = choices.pick(PRONOUNS)
        return Word(f"{owner.zh}的", owner.possessive)
    name = choices.pick(NAMES)
    return Word(f"{name.zh}的", f"{name.en}'s")


def subject(choices: Choices, asked: bool = False) -> Phrase:
    """Who acts; someone who is asked about is neither I nor we."""
    if choices.chance(0.5):
        pronoun = choices.pick((YOU, YOU, HE, SHE, THEY) if asked else PRONOUNS)
        return Phrase(pronoun.zh, pronoun.en, pronoun.agreement)
    if choices.chance(0.4):
        name = choices.pick(NAMES)
        if choices.chance(0.15):
            other = choices.pick([n for n in NAMES if n is not name])
            return Phrase(f"{name.zh}和{other.zh}", f"{name.en} and {other.en}", PLURAL)
        return Phrase(name.zh, name.en)
    if choices.chance(0.5):
        return kin(choices)
    person = choices.pick(PEOPLE)
    return thing(choices, person, ("the", "the", "this", "that", "those"), adjectives=0.1)


class Landmark(NamedTuple):
    """A thing beside which other things are found, and where exactly."""

    zh: str
    en: str
    sides: tuple[Word, ...]


ON, UNDER, INSIDE = Word("上", "on"), Word("下面", "under"), Word("里", "in")
BESIDE, BEHIND = Word("旁边", "next to"), Word("后面", "behind")
LANDMARKS = (
    Landmark("桌子", "table", (ON, ON, UNDER, BESIDE)),
    Landmark("椅子", "chair", (ON, UNDER, BEHIND)),
    Landmark("床", "bed", (ON, UNDER, BESIDE)),
    Landmark("沙发", "sofa", (ON, BEHIND, BESIDE)),
    Landmark("盒子", "box", (INSIDE, INSIDE, BEHIND, BESIDE)),
    Landmark("篮子", "basket", (INSIDE, INSIDE, BESIDE)),
    Landmark("门", "door", (BEHIND, BESIDE)),
    Landmark("电脑", "computer", (BEHIND, BESIDE)),
    Landmark("树", "tree", (UNDER, BEHIND, BESIDE)),
    Landmark("房子", "house", (INSIDE, BEHIND, BESIDE)),
)
SMALL_LANDMARKS = LANDMARKS[:8]  # where small things lie
ANIMAL_LANDMARKS = LANDMARKS[:4] + LANDMARKS[8:]


class Located(NamedTuple):
    """A place beside a landmark and the kind of thing that is there; `zh` goes after 在."""

    zh: str
    en: str
    noun: Noun
    combination: Combination


SMALL_THINGS = nouns("carry,food")
PETS = nouns("cat,dog,bird,rabbit,mouse")


def located(choices: Choices) -> Located:
    """A small thing or an animal, and where it is: on the table, in the box, behind the door."""
    if choices.chance(0.75):
        noun, landmark = choices.pick(SMALL_THINGS), choices.pick(SMALL_LANDMARKS)
        while noun.singular == landmark.en:
            landmark = choices.pick(SMALL_LANDMARKS)
    else:
        noun, landmark = choices.pick(PETS), choices.pick(ANIMAL_LANDMARKS)
    side = choices.pick(landmark.sides)
    return Located(
        landmark.zh + side.zh,
        f"{side.en} the {landmark.en}",
        noun,
        ("location", landmark.en, noun.singular),
    )
