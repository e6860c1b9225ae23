"""The ids are those of Hugging Face's byte-level BPE."""

import random

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from text import byte_pairs
from text.byte_pairs import CORPUS, HARD, library
from text.real_lines import few_lines, many_lines, novel_lines
from tokenizers import pre_tokenizers

from keras_transformer.text import ByteLevelBPETokenizer
from keras_transformer.text.byte_level_bpe_unicode import class_table
from keras_transformer.text.byte_level_bpe_vocabulary import BYTE_CHARACTERS
from keras_transformer.text.byte_level_bpe_words import LONGEST_WORD

SPEC = [tf.TensorSpec([None], tf.string)]


@pytest.fixture(scope="module")
def trained():
    return byte_pairs.trained()


def assert_same(tokenizer, lines, special_tokens=()):
    theirs = library(tokenizer, special_tokens).encode_batch(lines)
    ids, starts, ends = tokenizer.tokenize_with_offsets(lines)
    found = tokenizer.tokenize(lines).to_list()
    assert found == ids.to_list()
    wrong = [index for index, line in enumerate(lines) if found[index] != theirs[index].ids]
    assert not wrong, (len(wrong), lines[wrong[0]])
    starts, ends = starts.to_list(), ends.to_list()
    for index, encoding in enumerate(theirs):
        spans = list(zip(starts[index], ends[index], strict=True))
        assert spans == encoding.offsets, lines[index]


def test_hard_texts_get_hugging_faces_ids_and_offsets(trained):
    assert_same(trained, HARD)
    assert_same(ByteLevelBPETokenizer.train(HARD * 2, 900), HARD)


def test_typed_special_tokens_and_prefix_blanks_are_hugging_faces():
    special = ["<|a|>", "<|a|>b", "中", ".."]
    lines = [
        *HARD,
        "<|a|>",
        "fox<|a|>fox <|a|> fox<|a|>\n<|a|>\tfox",
        "<|a|><|a|>b<|a|b",
        "中文中 中.. <|endoftext|>'s.'s",
        "'s",
        "\u3000x",
    ]
    for prefix in (False, True):
        tokenizer = ByteLevelBPETokenizer.train(
            CORPUS, 500, special_tokens=special, add_prefix_space=prefix
        )
        assert_same(tokenizer, lines)
        tokenizer.match_control_symbols = True
        assert_same(tokenizer, lines, ["<|endoftext|>", *special])


@settings(max_examples=40, deadline=None)
@given(
    texts=st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
        | st.text(st.sampled_from(" \n\t\u3000'stmdrevlLaé1²中!🙂\u0301\u200d"), max_size=20),
        min_size=1,
        max_size=6,
    )
)
def test_any_text_gets_hugging_faces_ids(tokenize, texts):
    theirs = [encoding.ids for encoding in TRAINED_LIBRARY.encode_batch(texts)]
    assert tokenize(tf.constant(texts)).to_list() == theirs


TRAINED_LIBRARY = library(byte_pairs.trained())


@pytest.fixture(scope="module")
def tokenize(trained):
    return tf.function(trained.tokenize, input_signature=SPEC)


@pytest.mark.parametrize("seed", range(6))
def test_merges_in_any_order_and_from_several_pairs_are_made_as_hugging_face_makes_them(seed):
    """Trained merges are tidy; those of a file need not be: one token may come of several pairs,
    and a pair may come before those that make its parts."""
    draw = random.Random(seed)
    made, merges = list("abc"), set()
    while len(merges) < 40:
        left, right = draw.choice(made), draw.choice(made)
        if len(left + right) > 6:
            continue
        merges.add((left, right))
        if left + right not in made:
            made.append(left + right)
    merges = sorted(merges)
    draw.shuffle(merges)
    vocabulary = [*dict.fromkeys([*BYTE_CHARACTERS, *made]), "<|endoftext|>"]
    lines = ["".join(draw.choices("abc", k=length)) for length in range(1, 60) for _ in range(3)]
    assert_same(ByteLevelBPETokenizer(vocabulary, merges), lines)


def library_class(character):
    """LETTER, NUMBER, BLANK or OTHER: with which of three characters it stays in one word."""
    cut = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str
    joined = [len(cut(probe + character)) == 1 for probe in "a1!"]
    return (0, 1, 3)[joined.index(True)] if True in joined else 2


def assert_classes(codes):
    table = class_table()
    wrong = [
        hex(code)
        for code in codes
        if library_class(chr(code)) != table.pages[table.page_of[code // 256] * 256 + code % 256]
    ]
    assert not wrong


CODES = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]


def test_characters_have_hugging_faces_classes():
    assert_classes([*range(0x300), *range(0x1FF0, 0x2070), 0x3000, 0x1680, *CODES[0x300::211]])


@pytest.mark.slow
def test_every_character_has_hugging_faces_class():
    assert_classes(CODES)


def without_long_words(lines):
    """Lines in which no word is longer than what is merged as a whole."""
    cut = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str
    return [line for line in lines if all(len(word) <= LONGEST_WORD for word, _ in cut(line))]


def test_real_lines_of_several_languages_get_hugging_faces_ids():
    lines = few_lines() + novel_lines()
    assert without_long_words(lines) == lines
    assert_same(ByteLevelBPETokenizer.train(lines[::2], 3_000), lines)
    # A book as one text, with the line ends in it.
    assert_same(ByteLevelBPETokenizer.train(lines[::2], 3_000), ["\n".join(lines)])


@pytest.mark.slow
def test_more_than_10000_real_lines_get_hugging_faces_ids(tmp_path):
    lines = many_lines()
    whole = without_long_words(lines)
    assert len(whole) > 10_000 and len(lines) - len(whole) < 20
    trained = ByteLevelBPETokenizer.train(lines[::2], 12_000)
    trained.save(tmp_path)
    loaded = ByteLevelBPETokenizer.load(tmp_path)
    for start in range(0, len(whole), 1_000):
        assert_same(loaded, whole[start : start + 1_000])
    found = loaded.detokenize(loaded.tokenize(lines))
    assert byte_pairs.decoded(found) == lines
