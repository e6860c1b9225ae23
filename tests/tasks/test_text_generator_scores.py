"""How likely a text generator finds given texts."""

import math

import numpy as np
import pytest
from small_berts import eagerly
from small_generators import KINDS, PROMPTS, WINDOW, SlowGenerator, generator, slow_generator

from keras_transformer.tasks import TextGenerator
from keras_transformer.tasks.text_generator import TextScore

SPELLING = generator("characters")


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_the_log_probabilities_of_full_passes(kind):
    slow = slow_generator(kind)
    texts = [*PROMPTS, "the cat sees a dog. " * 4]
    for text, score in zip(texts, generator(kind).score(texts), strict=True):
        expected = slow.log_probabilities(text)
        assert score.tokens == len(expected)
        assert score.log_probability == pytest.approx(sum(expected), abs=1e-3)
        if expected:
            assert score.perplexity == pytest.approx(math.exp(-np.mean(expected)), rel=1e-4)
        else:
            assert math.isnan(score.perplexity)


def test_a_text_scores_what_it_scored_as_it_was_generated():
    options = {"min_new_tokens": 3 * WINDOW, "seed": 1}
    for prompt, found in zip(PROMPTS[:7], SPELLING.generate(PROMPTS[:7], **options), strict=True):
        before, after = SPELLING.score([prompt, found.full_text])
        assert after.tokens - before.tokens == found.tokens
        assert after.log_probability - before.log_probability == pytest.approx(
            found.score, abs=1e-3
        )


def test_of_a_text_over_the_limit_the_first_tokens_are_scored(monkeypatch):
    monkeypatch.setattr("keras_transformer.tasks.text_scoring.MOST_TOKENS", 2 * WINDOW)
    limited = TextGenerator(SPELLING.model, SPELLING.tokenizer, SPELLING.options)
    texts = ["ab" * WINDOW, "ab" * WINDOW + "the cat", ""]
    with eagerly():
        most, over, empty = limited.score(texts)
    assert [most.truncated, over.truncated, empty.truncated] == [False, True, False]
    assert most.tokens == over.tokens == 2 * WINDOW and empty.tokens == 0
    assert over.log_probability == pytest.approx(most.log_probability, abs=1e-4)
    assert most.log_probability == pytest.approx(SPELLING.score(texts)[0].log_probability, abs=1e-4)


def test_without_a_start_the_first_token_is_not_scored():
    bare = TextGenerator(SPELLING.model, SPELLING.tokenizer, start_id=None)
    slow = SlowGenerator(bare)
    for text, score in zip(["", "a", "a dog"], bare.score(["", "a", "a dog"]), strict=True):
        assert score.tokens == max(len(text) - 1, 0)
        assert score.log_probability == pytest.approx(sum(slow.log_probabilities(text)), abs=1e-4)


def test_texts_are_scored_the_same_a_few_at_a_time(monkeypatch):
    texts = [*PROMPTS, "the cat sees a dog. " * 4]
    expected = SPELLING.score(texts)
    monkeypatch.setattr("keras_transformer.tasks.text_scoring.TOKENS_AT_A_TIME", 3 * WINDOW)
    few = TextGenerator(SPELLING.model, SPELLING.tokenizer, SPELLING.options)
    for score, right in zip(few.score(texts), expected, strict=True):
        assert score.tokens == right.tokens
        assert score.log_probability == pytest.approx(right.log_probability, abs=1e-3)


def test_a_perplexity_that_no_number_holds_is_infinite():
    assert TextScore(-2800.0, 4).perplexity == pytest.approx(math.exp(700))
    assert TextScore(-4000.0, 4).perplexity == math.inf
