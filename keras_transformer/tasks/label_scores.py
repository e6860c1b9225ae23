"""Scores of labels, numbers and tags, by the field's own measures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from seqeval.metrics import f1_score as entity_f1_score
from seqeval.metrics import precision_score as entity_precision_score
from seqeval.metrics import recall_score as entity_recall_score
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

_ENTITY_TAG = re.compile(r"O|[BI]-.+", re.S)


class LabelScores(NamedTuple):
    """How predicted labels agree with the right ones."""

    accuracy: float
    f1: float
    """Of the second label where there are two (that of GLUE's tasks), else the mean over all
    labels."""
    matthews: float
    """Matthews' correlation (Matthews 1975): 0 for a guess, whatever the labels' shares."""

    def __str__(self) -> str:
        return (
            f"accuracy {self.accuracy:.4f}, F1 {self.f1:.4f}, "
            f"Matthews correlation {self.matthews:.4f}"
        )


class NumberScores(NamedTuple):
    """How predicted numbers agree with the right ones."""

    pearson: float
    """Pearson's correlation; 0 where either side never changes."""
    mean_absolute_error: float

    def __str__(self) -> str:
        return (
            f"Pearson correlation {self.pearson:.4f}, "
            f"mean absolute error {self.mean_absolute_error:.4f}"
        )


class EntityScores(NamedTuple):
    """How predicted entities agree with the right ones: same words, same type, or wrong."""

    f1: float
    precision: float
    recall: float
    word_accuracy: float
    """Share of the words with the right tag, O included."""

    def __str__(self) -> str:
        return (
            f"entity F1 {self.f1:.4f} (precision {self.precision:.4f}, recall {self.recall:.4f}), "
            f"word accuracy {self.word_accuracy:.4f}"
        )


class WordScores(NamedTuple):
    """How predicted tags of words agree with the right ones, where tags mark no entities."""

    word_accuracy: float
    """Share of the words with the right tag."""

    def __str__(self) -> str:
        return f"word accuracy {self.word_accuracy:.4f}"


def label_scores(
    predicted: Sequence[str], right: Sequence[str], label_names: Sequence[str]
) -> LabelScores:
    """Accuracy, F1 and Matthews' correlation.

    Args:
        predicted: the predicted labels; one that is none of `label_names` is wrong.
        right: the right labels.
        label_names: all labels, in the order of their ids.

    Raises:
        ValueError: for numbers of labels that differ.

    >>> print(label_scores(["a", "b", "b"], ["a", "b", "a"], ["a", "b"]))
    accuracy 0.6667, F1 0.6667, Matthews correlation 0.5000
    """
    _check(predicted, right)
    names = list(label_names)
    if len(names) == 2:
        f1 = f1_score(right, predicted, labels=[names[1]], average="macro", zero_division=0)
    else:
        f1 = f1_score(right, predicted, labels=names, average="macro", zero_division=0)
    return LabelScores(
        float(accuracy_score(right, predicted)),
        float(f1),
        float(matthews_corrcoef(right, predicted)),
    )


def number_scores(predicted: Sequence[float], right: Sequence[float]) -> NumberScores:
    """Pearson's correlation and the mean absolute error.

    Raises:
        ValueError: for numbers of numbers that differ.

    >>> round(number_scores([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]).pearson, 4)
    1.0
    """
    _check(predicted, right)
    x, y = np.asarray(predicted, np.float64), np.asarray(right, np.float64)
    error = float(np.abs(x - y).mean())
    if x.std() == 0 or y.std() == 0:
        return NumberScores(0.0, error)
    return NumberScores(float(np.corrcoef(x, y)[0, 1]), error)


def entity_scores(
    predicted: Sequence[Sequence[str]], right: Sequence[Sequence[str]]
) -> EntityScores:
    """Entity scores by seqeval, as of conlleval: an I- after another type begins an entity.

    Args:
        predicted: tags O, B-X or I-X of the words of each sentence.
        right: the right ones.

    Raises:
        ValueError: when a sentence has not one tag for each word, or a tag marks no entity.

    >>> print(entity_scores([["B-PER", "I-PER", "O"]], [["B-PER", "O", "O"]]))
    entity F1 0.0000 (precision 0.0000, recall 0.0000), word accuracy 0.6667
    """
    accuracy = word_scores(predicted, right).word_accuracy
    predicted, right = [list(tags) for tags in predicted], [list(tags) for tags in right]
    for tags in (*predicted, *right):
        for tag in tags:
            if not marks_entities(tag):
                raise ValueError(
                    f"The tag {tag!r} marks no entity: tags must be O, B-TYPE or I-TYPE. "
                    "(word_scores takes any.)"
                )
    return EntityScores(
        float(entity_f1_score(right, predicted, zero_division=0)),
        float(entity_precision_score(right, predicted, zero_division=0)),
        float(entity_recall_score(right, predicted, zero_division=0)),
        accuracy,
    )


def word_scores(predicted: Sequence[Sequence[str]], right: Sequence[Sequence[str]]) -> WordScores:
    """The share of the words with the right tag, whatever the tags mean.

    Args:
        predicted: a tag for each word of each sentence.
        right: the right ones.

    Raises:
        ValueError: when a sentence has not one tag for each word.

    >>> word_scores([["NOUN", "VERB"]], [["NOUN", "NOUN"]])
    WordScores(word_accuracy=0.5)
    """
    _check(predicted, right)
    for number, (one, other) in enumerate(zip(predicted, right, strict=True)):
        if len(one) != len(other):
            raise ValueError(
                f"Sentence {number} has {len(other)} words, but {len(one)} tags were predicted."
            )
    pairs = [pair for one in zip(predicted, right, strict=True) for pair in zip(*one, strict=True)]
    return WordScores(sum(one == other for one, other in pairs) / max(len(pairs), 1))


def marks_entities(tag: str) -> bool:
    """Whether a tag is one of those by which entities are marked: O, B-TYPE or I-TYPE.

    >>> marks_entities("B-PER"), marks_entities("NOUN")
    (True, False)
    """
    return _ENTITY_TAG.fullmatch(tag) is not None


def _check(predicted: Sequence, right: Sequence) -> None:
    if len(predicted) != len(right) or not len(right):
        raise ValueError(
            f"There are {len(predicted)} predictions and {len(right)} right answers: there must "
            "be as many, and at least one."
        )
