"""Clauses of the built-in grammar about what things are, how, where and whose they are."""

from __future__ import annotations

from typing import NamedTuple

from keras_transformer.data.grammar.choices import Choices
from keras_transformer.data.grammar.function_words import BE, FEW, NUMBERS, PLURAL, PRONOUNS, THIRD
from keras_transformer.data.grammar.lexicon import ADJECTIVES, NOUNS, STATES, Noun, nouns
from keras_transformer.data.grammar.phrases import (
    COUNTED,
    IT,
    PEOPLE,
    TOPIC,
    Combinations,
    Phrase,
    described,
    located,
    possessive,
    possessor,
    subject,
    thing,
    with_article,
)
from keras_transformer.data.grammar.verbs import PLACE_LIST


class Sentence(NamedTuple):
    """A finished sentence pair with the combinations of content words in it."""

    zh: str
    en: str
    combinations: Combinations


def statement(zh: str, en: str, combinations: Combinations = ()) -> Sentence:
    """A sentence that ends with a full stop."""
    return Sentence(zh + "。", en[0].upper() + en[1:] + ".", combinations)


def question(zh: str, en: str, combinations: Combinations = ()) -> Sentence:
    """A sentence that ends with a question mark."""
    return Sentence(zh + "？", en[0].upper() + en[1:] + "?", combinations)


DEMONSTRATIVES = (
    Phrase("这", "this"),
    Phrase("这", "this"),
    Phrase("那", "that"),
    Phrase("那", "that"),
    Phrase("这些", "these", PLURAL),
    Phrase("那些", "those", PLURAL),
)
COUNTABLE = tuple(noun for noun in NOUNS if not noun.portion[0])
OWNED = nouns("carry,clothes,device,vehicle,furniture,container,house,pet")
JOBS = nouns("job")
DRY_PLACES = PLACE_LIST[:-1]  # not the pool
PREDICABLE = tuple(noun for noun in NOUNS if noun.predicates)
COLOURFUL = tuple(noun for noun in NOUNS if noun.colours)
KINDS = frozenset(  # what is compared with its like
    "food animal clothes pair furniture vehicle container device print person".split()
)
COMPARED = tuple(
    (adjective, [noun for noun in PREDICABLE if adjective in noun.predicates])
    for adjective in ADJECTIVES
    if adjective.comparative
)
PERSONAL = STATES + tuple(a for a in ADJECTIVES if a.predicate and "person" in a.suits)


def is_a(choices: Choices, who: Phrase, noun_phrase: Phrase, negative: float = 0.2) -> Sentence:
    """`who` is what the noun phrase says; asked or denied at times."""
    be = BE[who.agreement]
    combinations = who.combinations + noun_phrase.combinations
    if who.zh[0] != "我" and choices.chance(0.2):
        return question(
            f"{who.zh}是{noun_phrase.zh}吗", f"{be} {who.en} {noun_phrase.en}", combinations
        )
    if choices.chance(negative):
        zh, en = f"{who.zh}不是{noun_phrase.zh}", f"{who.en} {be} not {noun_phrase.en}"
        return statement(zh, en, combinations)
    return statement(f"{who.zh}是{noun_phrase.zh}", f"{who.en} {be} {noun_phrase.en}", combinations)


def identity(choices: Choices) -> Sentence:
    """This is an apple. Those are not red cups. Is this your book? Whose pen is that?"""
    this = choices.pick(DEMONSTRATIVES)
    owned = choices.chance(0.3)
    noun = choices.pick(OWNED if owned else COUNTABLE)
    zh, en, combinations = described(choices, noun, 0.35, short=owned)
    combinations += (("identity", this.en, noun.singular),)
    zh += noun.zh
    en += noun.plural if this.agreement == PLURAL else noun.singular
    if owned and choices.chance(0.15):
        return question(
            f"{this.zh}是谁的{zh}", f"whose {en} {BE[this.agreement]} {this.en}", combinations
        )
    if owned:
        owner = possessor(choices)
        zh, en = owner.zh + zh, f"{owner.en} {en}"
    elif this.agreement == THIRD:
        zh, en = f"一{noun.measure}{zh}", with_article(en)
    return is_a(choices, this, Phrase(zh, en, this.agreement, combinations))


def profession(choices: Choices) -> Sentence:
    """She is a good doctor. We are not teachers. Is Tom a student?"""
    who = subject(choices)
    while who.combinations or who.en.startswith(("the ", "those ")):  # not "the nurse is a nurse"
        who = subject(choices)
    noun = choices.pick(JOBS)
    zh, en, combinations = described(choices, noun, 0.4)
    combinations += (("profession", who.en, noun.singular),) if who.zh in _PRONOUN_ZH else ()
    if who.agreement == PLURAL and who.en != "you":
        what = Phrase(zh + noun.zh, en + noun.plural, PLURAL, combinations)
    else:
        what = Phrase(f"一{noun.measure}{zh}{noun.zh}", with_article(en + noun.singular))
        what = what._replace(combinations=combinations)
    return is_a(choices, who, what)


_PRONOUN_ZH = frozenset(pronoun.zh for pronoun in PRONOUNS)


def _degrees(
    choices: Choices, who: Phrase, zh: str, en: str, combinations: Combinations, too: bool
):
    """Somebody or something is, is very, is not or is too so; or is it?"""
    be = BE[who.agreement]
    kind = choices.pick(("is", "is", "very", "not", "asked", "too" if too else "is"))
    if kind == "asked" and who.zh[0] != "我":
        return question(f"{who.zh}{zh}吗", f"{be} {who.en} {en}", combinations)
    if kind == "too":
        return statement(f"{who.zh}太{zh}了", f"{who.en} {be} too {en}", combinations)
    if kind == "not":
        return statement(f"{who.zh}不{zh}", f"{who.en} {be} not {en}", combinations)
    if kind == "very":
        return statement(f"{who.zh}非常{zh}", f"{who.en} {be} very {en}", combinations)
    return statement(f"{who.zh}很{zh}", f"{who.en} {be} {en}", combinations)


def quality(choices: Choices) -> Sentence:
    """This apple is very sweet. My bag is not heavy. Is the book interesting?"""
    noun = choices.pick(PREDICABLE)
    who = thing(choices, noun, TOPIC, adjectives=0.0)
    adjective = choices.pick(noun.predicates)
    combinations = who.combinations + (("quality", adjective.english, noun.singular),)
    too = bool(adjective.comparative)
    return _degrees(choices, who, adjective.predicate, adjective.english, combinations, too)


def state(choices: Choices) -> Sentence:
    """I am tired. Her mother is very friendly. Are you busy?"""
    who = subject(choices)
    while who.combinations:
        who = subject(choices)
    adjective = choices.pick(PERSONAL)
    return _degrees(choices, who, adjective.predicate, adjective.english, (), False)


def colour(choices: Choices) -> Sentence:
    """That hat is red. These chairs are not white. Is your car black?"""
    noun = choices.pick(COLOURFUL)
    who = thing(choices, noun, TOPIC, adjectives=0.0)
    shade = choices.pick(noun.colours)
    what = Phrase(f"{shade.attribute}色的", shade.english)
    combinations = (("quality", shade.english, noun.singular),)
    return is_a(choices, who, what._replace(combinations=combinations))


def comparison(choices: Choices) -> Sentence:
    """This watch is more expensive than that coat. My dog is bigger than his dog."""
    adjective, candidates = choices.pick(COMPARED)
    first = choices.pick(candidates)
    second = first if choices.chance(0.6) else choices.pick(_alike(first, candidates))
    if choices.chance(0.7) or first.portion[0] or second.portion[0]:
        one, other = ("this",), ("that",)
        if choices.chance(0.3):
            one, other = other, one
        one_zh, one_en = _pointed(first, one[0])
        other_zh, other_en = _pointed(second, other[0])
    else:
        mine, theirs = possessor(choices), possessor(choices)
        while mine == theirs:
            theirs = possessor(choices)
        one_zh, one_en = mine.zh + first.zh, f"{mine.en} {first.singular}"
        other_zh, other_en = theirs.zh + second.zh, f"{theirs.en} {second.singular}"
    return statement(
        f"{one_zh}比{other_zh}{adjective.predicate}",
        f"{one_en} is {adjective.comparative} than {other_en}",
        (
            ("quality", adjective.english, first.singular),
            ("quality", adjective.english, second.singular),
        ),
    )


def _alike(noun: Noun, candidates: list[Noun]) -> list[Noun]:
    """The candidates of the noun's kind: one compares animals with animals."""
    return [other for other in candidates if KINDS & noun.tags & other.tags] or [noun]


def _pointed(noun: Noun, demonstrative: str) -> tuple[str, str]:
    """This thing or that thing."""
    zh = {"this": "这", "that": "那"}[demonstrative]
    return f"{zh}{noun.measure}{noun.zh}", f"{demonstrative} {noun.portion[0]}{noun.singular}"


_POINTED = ("this", "that", "these", "those")


def belonging(choices: Choices) -> Sentence:
    """This book is mine. The red cup on the table is Tom's. Are those keys yours?"""
    if choices.chance(0.5):
        place = located(choices)
        zh, en, combinations = described(choices, place.noun, 0.6, short=True)
        who = Phrase(
            f"{place.zh}的{zh}{place.noun.zh}",
            f"the {en}{place.noun.singular} {place.en}",
            THIRD,
            combinations + (place.combination,),
        )
    else:
        who = thing(choices, choices.pick(OWNED), _POINTED)
    owner = possessive(choices)
    return is_a(choices, who, Phrase(owner.zh, owner.en))


def location(choices: Choices) -> Sentence:
    """The red cup is on the table. Her dog is not under the bed. Where are those keys?"""
    if choices.chance(0.25):
        who = subject(choices)
        place = choices.pick(PLACE_LIST)
        there_zh, there_en, combinations = place.zh, place.english, who.combinations
    else:
        place = located(choices)
        there_zh, there_en = place.zh, place.en
        if choices.chance(0.1):
            who, combinations = IT, ()
        else:
            who = thing(choices, place.noun, TOPIC)
            combinations = who.combinations + (place.combination,)
    be = BE[who.agreement]
    mine = who.zh in ("我", "我们")
    kind = choices.pick(("is", "is", "is", "not", "asked", "where"))
    if kind == "where" and not mine:
        return question(f"{who.zh}在哪里", f"where {be} {who.en}", who.combinations)
    if kind == "asked" and not mine:
        return question(f"{who.zh}在{there_zh}吗", f"{be} {who.en} {there_en}", combinations)
    if kind == "not":
        return statement(f"{who.zh}不在{there_zh}", f"{who.en} {be} not {there_en}", combinations)
    return statement(f"{who.zh}在{there_zh}", f"{who.en} {be} {there_en}", combinations)


def existence(choices: Choices) -> Sentence:
    """There are two apples on the table. Are there any boys in the park? How many ...?"""
    if choices.chance(0.2):
        noun, place = choices.pick(PEOPLE), choices.pick(DRY_PLACES)
        there_zh, there_en = place.zh, place.english
        combination = ("location", there_en, noun.singular)
    else:
        there_zh, there_en, noun, combination = located(choices)
    if choices.chance(0.5):
        what = thing(choices, noun, COUNTED, FEW if noun.tags & {"person", "animal"} else NUMBERS)
        be = "is" if what.agreement == THIRD else "are"
        return statement(
            f"{there_zh}有{what.zh}",
            f"there {be} {what.en} {there_en}",
            what.combinations + (combination,),
        )
    zh, en, combinations = described(choices, noun, 0.3)
    zh, en, combinations = zh + noun.zh, en + noun.plural, combinations + (combination,)
    kind = choices.pick(("many", "no", "any", "how many"))
    if kind == "many":
        return statement(f"{there_zh}有很多{zh}", f"there are many {en} {there_en}", combinations)
    if kind == "no":
        return statement(f"{there_zh}没有{zh}", f"there are no {en} {there_en}", combinations)
    if kind == "any":
        return question(f"{there_zh}有{zh}吗", f"are there any {en} {there_en}", combinations)
    return question(
        f"{there_zh}有几{noun.measure}{zh}", f"how many {en} are there {there_en}", combinations
    )
