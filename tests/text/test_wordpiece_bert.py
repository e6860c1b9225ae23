"""The "bert" normalization gives the ids of Hugging Face's tokenizers."""

import itertools
import unicodedata

import pytest
from text.real_lines import few_lines, many_lines
from tokenizers import BertWordPieceTokenizer

from keras_transformer.text import WordPieceTokenizer
from keras_transformer.text import wordpiece_unicode as unicode8

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
FORMS = [(True, None), (True, False), (False, None), (False, True)]
# Capitals that are newer than Python's Unicode: see wordpiece_unicode.
ASSIGNED = [
    chr(code)
    for code in itertools.chain(range(0x323B0), range(0xE0000, 0xE0200))
    if unicodedata.category(chr(code)) not in ("Cs", "Cn")
]


def hugging_face(vocabulary, lowercase, strip_accents):
    ids = {token: index for index, token in enumerate(vocabulary)}
    return BertWordPieceTokenizer(ids, lowercase=lowercase, strip_accents=strip_accents)


def ours(vocabulary, lowercase, strip_accents):
    return WordPieceTokenizer(vocabulary, lowercase, strip_accents, normalization="bert")


def spelling_vocabulary(lines):
    """Every character that the reference's normalization can leave: nothing hides as unknown."""
    characters = set()
    for lowercase, strip_accents in FORMS:
        normalizer = hugging_face(SPECIAL, lowercase, strip_accents).normalizer
        characters.update(*(normalizer.normalize_str(line) for line in lines))
    characters = sorted(characters - {" "})
    return [*SPECIAL, *characters, *("##" + character for character in characters)]


def assert_same_ids(vocabulary, lines, forms=FORMS):
    for lowercase, strip_accents in forms:
        reference = hugging_face(vocabulary, lowercase, strip_accents)
        expected = [
            encoding.ids for encoding in reference.encode_batch(lines, add_special_tokens=False)
        ]
        found = ours(vocabulary, lowercase, strip_accents).tokenize(lines).to_list()
        wrong = [index for index, line in enumerate(lines) if found[index] != expected[index]]
        assert not wrong, (lowercase, strip_accents, len(wrong), lines[wrong[0]])


def inside_words(characters):
    """Lines in which each character stands inside, before and behind letters."""
    words = [f"a{character}b {character}a b{character}" for character in characters]
    return [" ".join(words[start : start + 20]) for start in range(0, len(words), 20)]


def test_characters_of_every_kind_get_hugging_faces_ids():
    special = [
        chr(code)
        for code in (
            *unicode8.FORMATS,
            *unicode8.UNDECOMPOSED,
            *range(0x300),
            *sorted(unicode8.NONSPACING_MARKS)[::7],
            *sorted(unicode8.PUNCTUATION)[::3],
            *(code for span in unicode8.CHINESE_CHARACTERS for code in (*span, span[0] - 1)),
        )
    ]
    lines = inside_words([*special, *ASSIGNED[::97], "\ufffd", "\U000f0000", "\U0010ffff"])
    assert_same_ids(spelling_vocabulary(lines), lines)


@pytest.mark.slow
def test_every_character_gets_hugging_faces_ids():
    lines = inside_words(ASSIGNED)
    assert_same_ids(spelling_vocabulary(lines), lines)


def test_words_and_texts_of_awkward_lengths_get_hugging_faces_ids():
    lines = ["", " ", "a" * 100, "a" * 101, "é" * 100 + " b", "e\u0301" * 60, "한" * 40, "한" * 30]
    lines += [
        "##a a##b",
        "[CLS",
        "a [ MASK ] b",
        "中" * 150,
        "a\u200d" * 101,
        "\u0301\u0301 \u0301a",
    ]
    assert_same_ids(spelling_vocabulary(lines), lines)


def test_offsets_are_hugging_faces():
    lines = ["Ünï CAFÉ中文,\u200b 한국 a\u00adb \u00ada b\u00ad", "don't  stop", "中 x" * 3]
    vocabulary = spelling_vocabulary(lines)
    for form in FORMS:
        reference = hugging_face(vocabulary, *form)
        _, starts, ends = ours(vocabulary, *form).tokenize_with_offsets(lines)
        for line, *spans in zip(lines, starts.to_list(), ends.to_list(), strict=True):
            expected = reference.encode(line, add_special_tokens=False).offsets
            assert list(zip(*spans, strict=True)) == expected


def test_real_lines_of_several_languages_get_hugging_faces_ids():
    lines = few_lines()
    for lowercase in (True, False):
        vocabulary = WordPieceTokenizer.train(
            lines[::2], 4000, lowercase=lowercase, normalization="bert", character_coverage=1.0
        ).vocabulary
        assert_same_ids(vocabulary, lines, [(lowercase, None)])


@pytest.mark.slow
def test_more_than_10000_real_lines_get_hugging_faces_ids(tmp_path):
    transformers = pytest.importorskip("transformers")
    lines = many_lines()
    for lowercase in (True, False):
        trained = WordPieceTokenizer.train(
            lines[::2], 12_000, lowercase=lowercase, normalization="bert"
        )
        trained.save(tmp_path)
        reference = transformers.BertTokenizer(
            vocab={token: index for index, token in enumerate(trained.vocabulary)},
            do_lower_case=lowercase,
        )
        loaded = WordPieceTokenizer.from_vocab(
            tmp_path / "vocab.txt", lowercase=lowercase, normalization="bert"
        )
        expected = reference(lines, add_special_tokens=False)["input_ids"]
        found = [
            row
            for start in range(0, len(lines), 500)
            for row in loaded.tokenize(lines[start : start + 500]).to_list()
        ]
        wrong = [index for index, line in enumerate(lines) if found[index] != expected[index]]
        assert not wrong, (len(wrong), lines[wrong[0]])
