"""The built-in tasks: no overlap, always the same, and what they say is right."""

import collections
import hashlib

import pytest

from keras_transformer.data import (
    builtin_questions,
    builtin_reviews,
    builtin_tagged,
    entities,
    load_documents,
    load_labelled,
    load_questions,
    load_tagged,
)
from keras_transformer.data.small_tasks.stories import HAPPENINGS

SPLITS = ("train", "valid", "test")


def test_reviews_are_balanced_and_no_opinion_is_in_two_splits():
    splits = {split: list(builtin_reviews(split)) for split in SPLITS}
    assert [len(rows) for rows in splits.values()] == [6000, 400, 800]
    for rows in splits.values():
        assert len({row.text for row in rows}) == len(rows)
        labels = collections.Counter(row.label for row in rows)
        assert abs(labels["positive"] / len(rows) - 0.5) < 0.08
    train = {row.text for row in splits["train"]}
    said = {
        split: {row.text for row in rows if len(row.text.split()) == 4 and " was " in row.text}
        for split, rows in splits.items()
    }
    assert all(said.values())
    clauses = {text.rstrip(".").lower() for text in said["test"] | said["valid"]}
    assert not any(clause in text.lower() for clause in clauses for text in train)


def test_no_single_word_tells_a_review():
    rows = list(builtin_reviews("train"))
    by_word = collections.defaultdict(collections.Counter)
    for row in rows:
        for word in set(row.text.lower().strip(".").split()):
            by_word[word][row.label] += 1
    often = [counts for counts in by_word.values() if sum(counts.values()) > 100]
    assert max(max(c.values()) / sum(c.values()) for c in often) < 0.9


def test_names_of_one_split_are_in_no_other():
    names = {}
    for split in SPLITS:
        sentences = list(builtin_tagged(split))
        names[split] = {
            " ".join(sentence.words[first:end])
            for sentence in sentences
            for _, first, end in entities(sentence.tags)
        }
        kinds = collections.Counter(k for s in sentences for k, *_ in entities(s.tags))
        assert set(kinds) == {"PER", "LOC", "ORG"} and min(kinds.values()) > 100
    assert not names["train"] & names["test"] and not names["train"] & names["valid"]
    assert not names["valid"] & names["test"]
    assert builtin_tagged("train").report.kept == 3000


def test_stories_have_one_right_answer_each():
    contexts = {}
    for split in SPLITS:
        questions = list(builtin_questions(split))
        contexts[split] = {question.context for question in questions}
        unanswerable = sum(not question.has_answer for question in questions) / len(questions)
        assert 0.08 < unanswerable < 0.22
        assert len({question.id for question in questions}) == len(questions)
        for question in questions:
            for text, start in question.answers:
                assert question.context[start : start + len(text)] == text
                assert question.context.count(text) == 1
        assert not builtin_questions(split).report.dropped
    assert not contexts["train"] & contexts["test"] and not contexts["train"] & contexts["valid"]


def test_what_happened_in_one_split_happened_in_no_other():
    def happenings(split):
        """(verb, thing, place) of the stories."""
        for question in builtin_questions(split):
            for sentence in question.context.split(". "):
                for verb, _, thing, place in HAPPENINGS:
                    if f" {verb} the " in sentence and f" {thing} " in sentence:
                        if place in sentence:
                            yield verb, thing, place

    valid, test = set(happenings("valid")), set(happenings("test"))
    assert len(test) > 50 and not test & valid
    assert not (test | valid) & set(happenings("train"))


def test_stories_ask_for_all_kinds_of_things():
    questions = list(builtin_questions("train"))
    kinds = collections.Counter(question.question.split()[0] for question in questions)
    assert set(kinds) == {"Who", "What", "Where", "When", "Why", "How"}
    assert min(kinds.values()) > 0.02 * len(questions)
    # No kind of question always has an answer or never has one, where it may be left untold.
    for kind in ("When", "Why", "How"):
        answered = [q.has_answer for q in questions if q.question.startswith(kind)]
        assert 0.1 < sum(answered) / len(answered) < 0.95, kind


def test_the_tasks_are_the_same_on_every_machine():
    told = [
        *(f"{row.text}\t{row.label}" for row in builtin_reviews("valid")),
        *(f"{sentence.words}{sentence.tags}" for sentence in builtin_tagged("valid")),
        *(f"{q.context}{q.question}{q.answers}" for q in builtin_questions("valid")),
    ]
    assert hashlib.sha256("\n".join(told).encode()).hexdigest()[:16] == "b1da21e0cdf5045c"


@pytest.mark.parametrize("load", [load_documents, load_labelled, load_tagged, load_questions])
def test_one_door_opens_them_and_refuses_other_splits(load):
    for split in SPLITS:
        assert load("builtin", split).name == f"builtin:{split}"
    with pytest.raises(ValueError, match="no split 'dev'; it has: train, valid, test"):
        load("builtin", "dev")
