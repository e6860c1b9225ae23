"""Clauses of the built-in grammar about what people have, give, want, like and know."""

from __future__ import annotations

from keras_transformer.data.grammar.actions import NOW, act, asked_or_denied, person
from keras_transformer.data.grammar.choices import Choices
from keras_transformer.data.grammar.clauses import Sentence, question, statement
from keras_transformer.data.grammar.function_words import DO, HAVE, NUMBERS, THIRD
from keras_transformer.data.grammar.lexicon import NOUNS, nouns
from keras_transformer.data.grammar.phrases import (
    COUNTED,
    DEFINITE,
    OBJECT,
    Combinations,
    Phrase,
    described,
    subject,
    thing,
    with_article,
)
from keras_transformer.data.grammar.verbs import ACTIVITIES

HAD = nouns("carry,pet,device,vehicle,clothes,furniture,container")
LIKED = nouns("food,drink,animal,beast,flower,print,bowlful,shoes,bicycle,car,skirt")
WANTED = nouns("food,drink,bowlful,carry,device,vehicle,clothes,container,pair,cat,dog,flower")
GIVEN = nouns("food,carry,cat,dog,rabbit,flower,coffee,tea,bread,clothes,shoes")


def wish(
    who: Phrase,
    mode: str,
    zh: str,
    base: str,
    what_zh: str,
    what_en: str,
    combinations: Combinations,
) -> Sentence:
    """A present-tense sentence with a verb of mind: likes, wants, needs, knows."""
    combinations = who.combinations + combinations
    do = DO[who.agreement]
    if mode == "asked":
        return question(f"{who.zh}{zh}{what_zh}吗", f"{do} {who.en} {base} {what_en}", combinations)
    if mode == "denied":
        return statement(
            f"{who.zh}不{zh}{what_zh}", f"{who.en} {do} not {base} {what_en}", combinations
        )
    form = base + "s" if who.agreement == THIRD else base
    return statement(f"{who.zh}{zh}{what_zh}", f"{who.en} {form} {what_en}", combinations)


def want_to(choices: Choices) -> Sentence:
    """She wants to buy a new skirt. I do not want to sell this car. Do you want to drink water?"""
    mode = asked_or_denied(choices)
    who = subject(choices, asked=mode == "asked")
    verb = choices.pick(NOW)
    what = act(choices, verb, DEFINITE if mode == "denied" else OBJECT)
    doing = f"to {verb.base} {what.en}"
    return wish(who, mode, "想", "want", verb.zh + what.zh, doing, what.combinations)


def want(choices: Choices) -> Sentence:
    """He wants a cup of hot coffee. We need two tables. Does she need a pen?"""
    mode = choices.pick(("stated", "stated", "stated", "asked"))
    who = subject(choices, asked=mode == "asked")
    zh, base = choices.pick((("想要", "want"), ("需要", "need")))
    noun = choices.pick(WANTED)
    what = thing(choices, noun, COUNTED if choices.chance(0.7) else DEFINITE)
    combinations = what.combinations + (("action", base, noun.singular),)
    return wish(who, mode, zh, base, what.zh, what.en, combinations)


def like(choices: Choices) -> Sentence:
    """She likes cats. Tom does not like this movie. Do you like coffee?"""
    mode = asked_or_denied(choices)
    who = subject(choices, asked=mode == "asked")
    noun = choices.pick(LIKED)
    if choices.chance(0.5):
        zh, en, combinations = described(choices, noun, 0.3)
        what = Phrase(zh + noun.zh, en + noun.plural, THIRD, combinations)
    else:
        noun = choices.pick(NOUNS)
        what = thing(choices, noun, DEFINITE)
    combinations = what.combinations + (("action", "like", noun.singular),)
    return wish(who, mode, "喜欢", "like", what.zh, what.en, combinations)


def know(choices: Choices) -> Sentence:
    """I know your father. Do you know that doctor? She does not know him."""
    mode = asked_or_denied(choices)
    who = subject(choices, asked=mode == "asked")
    whom = person(choices, who, ("this", "that", "that", "those"))
    return wish(who, mode, "认识", "know", whom.zh, whom.en, whom.combinations)


def have(choices: Choices) -> Sentence:
    """She has a cat and two dogs. We do not have a car. Do you have a red pen?"""
    mode = asked_or_denied(choices)
    who = subject(choices, asked=mode == "asked")
    noun = choices.pick(HAD)
    combinations = who.combinations + (("action", "have", noun.singular),)
    if mode == "stated":
        amount = choices.pick(("counted", "counted", "two", "many"))
        if amount == "many":
            zh, en, more = described(choices, noun, 0.3)
            zh, en = f"很多{zh}{noun.zh}", f"many {en}{noun.plural}"
        else:
            zh, en, _, more = thing(choices, noun, COUNTED, NUMBERS)
        if amount == "two":
            other = choices.pick(HAD)
            while other is noun:
                other = choices.pick(HAD)
            second = thing(choices, other, COUNTED, NUMBERS, 0.2)
            zh, en = f"{zh}和{second.zh}", f"{en} and {second.en}"
            more += second.combinations + (("action", "have", other.singular),)
        return statement(
            f"{who.zh}有{zh}", f"{who.en} {HAVE[who.agreement]} {en}", combinations + more
        )
    zh, en, more = described(choices, noun, 0.4)
    zh, en, do = zh + noun.zh, with_article(en + noun.singular), DO[who.agreement]
    if mode == "asked":
        return question(f"{who.zh}有{zh}吗", f"{do} {who.en} have {en}", combinations + more)
    return statement(f"{who.zh}没有{zh}", f"{who.en} {do} not have {en}", combinations + more)


def give(choices: Choices) -> Sentence:
    """My mother gave me an apple. He gave Anna three flowers."""
    who = subject(choices)
    whom = person(choices, who, ("this", "that"))
    noun = choices.pick(GIVEN)
    what = thing(choices, noun, COUNTED)
    combinations = who.combinations + whom.combinations + what.combinations
    combinations += (("action", "give", noun.singular),)
    zh, en = f"{who.zh}给了{whom.zh}{what.zh}", f"{who.en} gave {whom.en} {what.en}"
    return statement(zh, en, combinations)


def like_to(choices: Choices) -> Sentence:
    """She likes to dance. I do not like to run. Does Tom like to swim?"""
    mode = asked_or_denied(choices)
    who = subject(choices, asked=mode == "asked")
    verb = choices.pick(ACTIVITIES)
    return wish(who, mode, "喜欢", "like", verb.zh, f"to {verb.base}", ())
