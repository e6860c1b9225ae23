"""Scores of labels, numbers, tags and answers."""

import numpy as np
import pytest

from keras_transformer.tasks.answer_scores import answer_scores, answer_tokens
from keras_transformer.tasks.label_scores import (
    entity_scores,
    label_scores,
    number_scores,
    word_scores,
)


def test_f1_of_two_labels_is_that_of_the_second():
    right = ["no", "yes", "yes", "no", "no"]
    found = label_scores(["no", "yes", "no", "yes", "no"], right, ["no", "yes"])
    assert found.accuracy == pytest.approx(3 / 5)
    assert found.f1 == pytest.approx(1 / 2)  # precision 1/2, recall 1/2
    # (tp tn - fp fn) / sqrt((tp + fp)(tp + fn)(tn + fp)(tn + fn))
    assert found.matthews == pytest.approx((1 * 2 - 1 * 1) / 36**0.5)


def test_f1_of_more_labels_is_their_mean_and_counts_labels_never_predicted():
    found = label_scores(["a", "a", "b"], ["a", "b", "b"], ["a", "b", "c"])
    assert found.f1 == pytest.approx((2 / 3 + 2 / 3 + 0) / 3)


def test_pearson_is_nought_where_nothing_changes():
    assert number_scores([1.0, 1.0], [1.0, 2.0]) == (0.0, 0.5)
    numbers = np.random.default_rng(0).normal(size=20)
    assert number_scores(numbers, 3 * numbers + 1).pearson == pytest.approx(1)


def test_an_entity_is_right_only_as_a_whole_and_may_begin_with_i():
    right = [["B-PER", "I-PER", "O", "B-LOC"], ["B-ORG"]]
    # I- at the beginning, or after another type, begins an entity.
    predicted = [["I-PER", "I-PER", "O", "I-LOC"], ["B-LOC"]]
    found = entity_scores(predicted, right)
    assert found.precision == found.recall == pytest.approx(2 / 3)
    assert found.word_accuracy == pytest.approx(2 / 5)


def test_tags_that_mark_no_entities_are_scored_by_words():
    with pytest.raises(ValueError, match="The tag 'N' marks no entity: tags must be O, B-TYPE"):
        entity_scores([["N", "V"]], [["N", "V"]])
    with pytest.raises(ValueError, match="The tag 'B-' marks no entity"):
        entity_scores([["O"]], [["B-"]])
    assert word_scores([["N", "V"], ["V"]], [["N", "N"], ["V"]]).word_accuracy == 2 / 3


def test_a_tag_too_few_is_refused():
    with pytest.raises(ValueError, match="Sentence 1 has 2 words, but 1 tags"):
        entity_scores([["O"], ["O"]], [["O"], ["O", "O"]])


def test_answers_are_compared_without_articles_case_and_punctuation():
    scores = answer_scores(["The  Beatles!", "1066"], [["beatles"], ["in 1066", "1066 AD"]])
    assert scores.exact_match == 0.5
    assert scores.f1 == pytest.approx((1 + 2 / 3) / 2)


def test_chinese_answers_are_compared_by_characters():
    assert answer_tokens("《红楼梦》 of 1791") == ["红", "楼", "梦", "of", "1791"]
    assert answer_scores(["北京市"], [["北京"]]).f1 == pytest.approx(4 / 5)


def test_no_answer_is_right_only_where_there_is_none():
    assert answer_scores(["", "x", ""], [[], [], ["x"]]).exact_match == pytest.approx(1 / 3)


@pytest.mark.parametrize("score", [number_scores, entity_scores, answer_scores])
def test_numbers_that_differ_are_refused(score):
    with pytest.raises(ValueError, match="There are 1 .* 2 "):
        score([[]], [[], []])
    with pytest.raises(ValueError, match="at least one"):
        score([], [])
