"""The rules of a search for translations: equal texts, and options of the wrong kind."""

import math

import numpy as np
import pytest
import small_translators
import tensorflow as tf

from keras_transformer.tasks import TranslationOptions, translation_search
from keras_transformer.tasks.translation_search import without_repeats
from keras_transformer.text import SentencePieceTokenizer

INFINITE = -math.inf


@pytest.mark.parametrize(
    ("texts", "scores", "kept", "kept_scores"),
    [
        (["a", "b", "c"], [-1, -2, -3], ["a", "b", "c"], [-1, -2, -3]),
        (["a", "b", "a"], [-1, -2, -3], ["a", "b", ""], [-1, -2, INFINITE]),
        (["a", "a", "b"], [-1, -2, -3], ["a", "b", ""], [-1, -3, INFINITE]),
        (["a", "a", "a"], [-1, -2, -3], ["a", "", ""], [-1, INFINITE, INFINITE]),
        # A blank text is a text; a filler is not.
        (["", "a", ""], [-1, -2, INFINITE], ["", "a", ""], [-1, -2, INFINITE]),
        (["a", "", ""], [-1, INFINITE, INFINITE], ["a", "", ""], [-1, INFINITE, INFINITE]),
        (["a", "", ""], [-1, -2, -3], ["a", "", ""], [-1, -2, INFINITE]),
    ],
)
def test_of_equal_texts_the_best_stays_and_fillers_follow(texts, scores, kept, kept_scores):
    other = ["x", "y", "z"]
    found, found_scores = without_repeats(
        tf.constant([texts, other]), tf.constant([scores, [-1.0, -2, -3]], tf.float32)
    )
    assert found.numpy().tolist() == [[t.encode() for t in row] for row in (kept, other)]
    assert found_scores.numpy().tolist() == [kept_scores, [-1, -2, -3]]


def several(**options):
    """Translations by a random model over few subwords, each of which is bytes too."""
    translator = small_translators.make_translator(
        SentencePieceTokenizer.train(["ab abab ab"] * 9, 300, hard_vocab_limit=False),
        options=TranslationOptions(beam_size=8, n_best=8, **options),
        encoder_layers=1,
        decoder_layers=1,
    )
    table = translator.model.target_embedding.weights[0]
    favoured = [translator.target_tokenizer.token_to_id(token) for token in ("a", "<0x61>", "b")]
    emphasis = np.ones([translator.target_tokenizer.vocab_size, 1], "float32")
    emphasis[favoured] = 9.0
    table.assign(table.numpy() * emphasis)
    return translator.translate(["ab", "ba", "abba"], n_best=8)


def test_several_translations_differ_though_tokens_can_spell_a_text_in_several_ways(monkeypatch):
    found = several(max_target_length=4)
    with monkeypatch.context() as context:
        context.setattr(translation_search, "without_repeats", lambda *found: found)
        all_of_them = several(max_target_length=4)
    repeats = 0
    for kept, hypotheses in zip(found, all_of_them, strict=True):
        best = dict(zip(hypotheses.texts[::-1], hypotheses.scores[::-1], strict=True))
        assert sorted(kept.texts) == sorted(best)
        assert kept.scores == sorted(best.values(), reverse=True)
        assert kept.truncated == hypotheses.truncated
        repeats += len(hypotheses.texts) - len(best)
    assert repeats  # else this shows nothing


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_length": 3.5}, "max_length must be a whole number, not 3.5"),
        ({"min_length": "1"}, "min_length must be a whole number, not '1'"),
        ({"beam_size": 2.0}, "beam_size must be a whole number, not 2.0"),
        ({"n_best": None}, "n_best must be a whole number, not None"),
        ({"length_penalty": "1"}, "length_penalty must be a number, not '1'"),
    ],
)
def test_options_of_another_kind_are_refused(spelling, options, words):
    with pytest.raises(ValueError, match=words):
        spelling.translate(["red"], **options)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"max_source_length": 9.5}, "max_source_length must be a whole number, not 9.5"),
        ({"length_factor": None}, "length_factor must be a number, not None"),
    ],
)
def test_default_options_of_another_kind_are_refused(option, words):
    with pytest.raises(ValueError, match=words):
        TranslationOptions(**option)
