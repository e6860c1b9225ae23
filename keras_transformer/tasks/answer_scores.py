"""Scores of answers to questions: exact match and F1 (Rajpurkar et al. 2016, 6.1)."""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

_ARTICLES = re.compile(r"\b(a|an|the)\b")


class AnswerScores(NamedTuple):
    """Means over the questions, from 0 to 1."""

    exact_match: float
    f1: float
    """Of the words, or Chinese characters, that an answer and a right one share."""

    def __str__(self) -> str:
        return f"exact match {self.exact_match:.4f}, F1 {self.f1:.4f}"


def answer_scores(predicted: Sequence[str], right: Sequence[Sequence[str]]) -> AnswerScores:
    """Exact match and F1 by the rules of SQuAD's own script, extended to Chinese.

    Texts are compared in lower case, without punctuation, without the articles a, an, the, and
    whatever their white space. Han characters count as words of their own, as in the script of
    CMRC 2018; text without any is scored as by SQuAD's script. The best of several right answers
    counts. Where there is no right answer, only an empty prediction is right (SQuAD 2.0).

    Args:
        predicted: an answer for each question; empty for none.
        right: the right answers of each question; none where there is no answer.

    Raises:
        ValueError: for numbers of answers that differ.

    >>> print(answer_scores(["the big cat", "北京"], [["Big cat!"], ["北京市"]]))
    exact match 0.5000, F1 0.9000
    """
    if len(predicted) != len(right) or not len(right):
        raise ValueError(
            f"There are {len(predicted)} answers and {len(right)} questions: there must be as "
            "many, and at least one."
        )
    exact, f1 = [], []
    for answer, rights in zip(predicted, right, strict=True):
        tokens = answer_tokens(answer)
        candidates = [answer_tokens(one) for one in rights] or [[]]
        exact.append(max(tokens == one for one in candidates))
        f1.append(max(_f1(tokens, one) for one in candidates))
    return AnswerScores(sum(exact) / len(exact), sum(f1) / len(f1))


def answer_tokens(text: str) -> list[str]:
    """What is compared of an answer.

    >>> answer_tokens("The year 1949, 北京。")
    ['year', '1949', '北', '京']
    """
    text = "".join(character for character in text.lower() if not _is_punctuation(character))
    text = _ARTICLES.sub(" ", text)
    text = "".join(f" {c} " if _is_han(c) else c for c in text)
    return text.split()


def _f1(one: list[str], other: list[str]) -> float:
    if not one or not other:
        return float(one == other)
    shared = sum((Counter(one) & Counter(other)).values())
    return 2 * shared / (len(one) + len(other))


def _is_punctuation(character: str) -> bool:
    return character in string.punctuation or unicodedata.category(character).startswith("P")


def _is_han(character: str) -> bool:
    return unicodedata.name(character, "").startswith("CJK")
