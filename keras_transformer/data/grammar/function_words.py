"""Pronouns, names, kinship, numbers and times of the built-in grammar, and agreement."""

from __future__ import annotations

from typing import NamedTuple

FIRST, THIRD, PLURAL = range(3)  # agreement classes: I / he, she, it, one thing / you, several
BE = ("am", "is", "are")
DO = ("do", "does", "do")
HAVE = ("have", "has", "have")


class Word(NamedTuple):
    """A word, or several that act as one, in both languages."""

    zh: str
    en: str


class Pronoun(NamedTuple):
    """A pronoun with its English cases and its agreement class."""

    zh: str
    en: str
    object: str
    determiner: str
    possessive: str
    agreement: int


I = Pronoun("我", "I", "me", "my", "mine", FIRST)  # noqa: E741
YOU = Pronoun("你", "you", "you", "your", "yours", PLURAL)
HE = Pronoun("他", "he", "him", "his", "his", THIRD)
SHE = Pronoun("她", "she", "her", "her", "hers", THIRD)
WE = Pronoun("我们", "we", "us", "our", "ours", PLURAL)
THEY = Pronoun("他们", "they", "them", "their", "theirs", PLURAL)
PRONOUNS = (I, YOU, HE, SHE, WE, THEY)
NAMES = tuple(
    Word(*pair.split())
    for pair in ("汤姆 Tom", "玛丽 Mary", "安娜 Anna", "杰克 Jack", "彼得 Peter", "莉莉 Lily")
)
KIN = (
    Word("妈妈", "mother"),
    Word("爸爸", "father"),
    Word("爷爷", "grandfather"),
    Word("奶奶", "grandmother"),
    Word("哥哥", "older brother"),
    Word("妹妹", "younger sister"),
    Word("儿子", "son"),
    Word("女儿", "daughter"),
)
NUMBERS = tuple(
    Word(*pair.split())
    for pair in (
        "两 two",
        "三 three",
        "四 four",
        "五 five",
        "六 six",
        "七 seven",
        "八 eight",
        "九 nine",
        "十 ten",
    )
)
FEW = NUMBERS[:4]

DAILY = (
    Word("每天", "every day"),
    Word("每天早上", "every morning"),
    Word("每天晚上", "every evening"),
    Word("每个星期天", "every Sunday"),
)
PAST = (
    Word("昨天", "yesterday"),
    Word("昨天", "yesterday"),
    Word("今天早上", "this morning"),
    Word("昨天晚上", "last night"),
    Word("上个星期", "last week"),
)
FUTURE = (
    Word("明天", "tomorrow"),
    Word("明天", "tomorrow"),
    Word("今天晚上", "tonight"),
    Word("下个星期", "next week"),
)
