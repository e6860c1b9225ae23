"""What WordPiece's default rules make of characters, and the words they leave."""

import unicodedata

import pytest

from keras_transformer.text.wordpiece_rules import CharacterRules


def words(text, lowercase=False, strip_accents=False, normalization="default"):
    return CharacterRules(normalization, lowercase, strip_accents).words(text)


def test_words_stand_between_blanks_punctuation_symbols_and_chinese_characters():
    assert words("It's 3.5€ (中文)!\tnext\u3000one\u00a0two\u2028three") == [
        *("It", "'", "s", "3", ".", "5", "€", "(", "中", "文", ")", "!"),
        *("next", "one", "two", "three"),
    ]
    assert words("great👍👍🏽 x^2 ｆ，ｇ 〇一 𠮷") == [
        *("great", "👍", "👍", "🏽", "x", "^", "2", "ｆ", "，", "ｇ", "〇", "一", "𠮷")
    ]
    assert words("かな カタカナ ภาษาไทย") == ["かな", "カタカナ", "ภาษาไทย"]


def test_what_shows_nothing_vanishes_and_a_zero_width_space_is_a_blank():
    assert words("\ufeffa\u00adb\u200dc\0d\ufe0f e\u200bf") == ["abcd", "e", "f"]
    assert words("a\ufffdb") == ["a", "\ufffd", "b"], "what was broken is not hidden"


@pytest.mark.parametrize("letter", ["é", "ñ", "Å", "ü", "ç", "ế", "ά", "Ἄ", "ǰ"])
def test_latin_and_greek_letters_lose_their_accents_when_asked_to(letter):
    base = unicodedata.normalize("NFD", letter)[0]
    decomposed = unicodedata.normalize("NFD", letter)
    for text in (letter, decomposed):
        assert words(text, strip_accents=True) == [base]
        assert words(text, strip_accents=True, lowercase=True) == [base.lower()]
        assert words(text) == [letter]


@pytest.mark.parametrize(
    "text", ["й", "ї", "ё", "हिन्दी", "한국어", "がパ", "שָׁלוֹם", "مَرْحَبًا", "ไม้", "க்"]
)
def test_letters_of_other_scripts_keep_what_belongs_to_them(text):
    composed = unicodedata.normalize("NFC", text)
    for lowercase in (True, False):
        for strip_accents in (True, False):
            assert words(text, lowercase, strip_accents) == [composed]
            assert words(unicodedata.normalize("NFD", text), lowercase, strip_accents) == [composed]


def test_a_stress_mark_on_a_letter_that_has_no_composed_form_is_an_accent():
    assert words("за\u0301мок", strip_accents=True) == ["замок"]
    assert words("за\u0301мок") == ["за\u0301мок"]


def test_lower_casing_knows_capitals_of_every_script_and_leaves_accents():
    assert words("ÉÀ ÖL ЙЇ ΆΣ Ა Ａ", lowercase=True) == ["éà", "öl", "йї", "άσ", "ა", "ａ"]
    assert words("É", lowercase=False, strip_accents=True) == ["E"]
    assert words("ΣΟΦΟΣ σοφος", lowercase=True) == ["σοφοσ", "σοφοσ"]
    assert words("σοφος") == ["σοφος"]


def test_small_letters_of_capitals_without_a_composed_form_agree():
    for capital, small in [("J\u030c", "ǰ"), ("H\u0331", "ẖ"), ("Ϊ\u0301", "ΐ")]:
        assert words(capital, lowercase=True) == words(small, lowercase=True)


def test_bert_rules_are_those_of_bert():
    assert words("한É中й", True, True, "bert") == [
        unicodedata.normalize("NFD", "한") + "e",
        "中",
        "и",
    ]
    assert words("한É中й", False, False, "bert") == ["한É", "中", "й"]
    assert words("É", True, False, "bert") == ["é"]
    assert words("a\ufffd\u00adb 5€", True, True, "bert") == ["ab", "5€"]
