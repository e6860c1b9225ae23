"""The WordPiece tokenizer's special tokens, and the way back to text."""

import pytest
import tensorflow as tf
from text import wordpieces
from text.wordpieces import SPECIAL, round_trip, slices, tokens

from keras_transformer.text import WordPieceTokenizer


@pytest.fixture(scope="module")
def trained():
    return wordpieces.trained()


@pytest.fixture(scope="module")
def reference():
    return wordpieces.reference()


# Special tokens.


def test_ids_of_special_tokens_are_the_vocabularys():
    tokenizer = WordPieceTokenizer(["a", "[MASK]", "[SEP]", "[UNK]", "[CLS]", "b", "[PAD]"])
    assert (tokenizer.pad_id, tokenizer.unk_id, tokenizer.mask_id) == (6, 3, 1)
    assert tokenizer.cls_id == tokenizer.bos_id == 4
    assert tokenizer.sep_id == tokenizer.eos_id == 2
    assert sorted(tokenizer.special_ids) == [1, 2, 4, 6]
    assert WordPieceTokenizer(["[UNK]"]).mask_id == -1
    with pytest.raises(ValueError, match=r"the vocabulary lacks the token \[UNK\]"):
        WordPieceTokenizer(["a"])


@pytest.mark.parametrize("normalization", ["default", "bert"])
def test_text_yields_a_control_id_only_when_asked_to(normalization):
    vocabulary = [*SPECIAL, "going", "to", "study", "[", "]", "mask", "MASK"]
    options = {"normalization": normalization}
    plain = WordPieceTokenizer(vocabulary, **options)
    assert tokens(plain, "going to [MASK] study") == ["going", "to", "[", "mask", "]", "study"]
    typed = "[PAD] [UNK] [CLS][SEP] [MASK] [[MASK]] x[MASK]x ##[MASK]"
    assert not set(plain.tokenize(typed).numpy()) & set(plain.special_ids)

    matching = WordPieceTokenizer(vocabulary, match_control_symbols=True, **options)
    text = "going to [MASK]study[MASK][[MASK]] [mask] [MASK"
    assert tokens(matching, text) == [
        *("going", "to", "[MASK]", "study", "[MASK]", "[", "[MASK]", "]"),
        *("[", "mask", "]", "[", "mask"),
    ]
    assert slices(matching, "é [MASK]to") == ["é", "[MASK]", "to"]
    masks = {matching.mask_id}
    assert set(matching.tokenize(typed).numpy()) & set(matching.special_ids) == masks
    assert matching.tokenize(["[MA", "SK]"]).to_list() == plain.tokenize(["[MA", "SK]"]).to_list()


def test_symbols_come_out_of_both_ends_of_a_batch():
    tokenizer = WordPieceTokenizer([*SPECIAL, "a"], match_control_symbols=True)
    ids, starts, ends = tokenizer.tokenize_with_offsets(["[MASK]", "", "a[MASK]", "[MASK]a"])
    assert ids.to_list() == [[4], [], [5, 4], [4, 5]]
    assert starts.to_list() == [[0], [], [0, 1], [0, 6]]
    assert ends.to_list() == [[6], [], [1, 7], [6, 7]]


def test_special_tokens_that_text_could_spell_are_refused():
    with pytest.raises(ValueError, match=r"special_tokens\[1\] must be one word in brackets"):
        WordPieceTokenizer(["[UNK]", "pad"], special_tokens=["[UNK]", "pad"])
    with pytest.raises(ValueError, match="holds '<s>' more than once"):
        WordPieceTokenizer(["[UNK]", "<s>"], special_tokens=["<s>", "<s>"])


# The way back.


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("中文文本", "中文文本"),
        ("中文 text 中文", "中文 text 中文"),
        ("日本語、です。", "日本語、です。"),
        ("他说：“你好，Bob！”《书》 (好)", "他说：“你好，bob！”《书》(好)"),
        ('Well-known (it\'s 50%), "no"!', 'well-known (it\'s 50%), " no "!'),
        ("  two   blanks\t", "two blanks"),
        ("", ""),
    ],
)
def test_the_rule_of_blanks(text, again):
    tokenizer = WordPieceTokenizer.train([text + " text"] * 2, 200)
    assert round_trip(tokenizer, text) == again


def test_detokenize_skips_special_ids_and_shows_unknown_ones(reference):
    un, ing = reference.token_to_id("un"), reference.token_to_id("##ing")
    ids = [
        [reference.cls_id, un, ing, reference.sep_id, 0, 0],
        [reference.mask_id, ing, 1, un, -1, 99],
    ]
    assert [text.decode() for text in reference.detokenize(ids).numpy()] == [
        *("uning", "ing \ufffd un \ufffd \ufffd")
    ]


def test_detokenize_takes_away_one_axis(trained):
    ids = trained.tokenize(["un café", "중국어"])
    assert trained.detokenize(ids[0]).shape == ()
    assert trained.detokenize(ids).shape == (2,)
    assert (
        trained.detokenize(ids.to_tensor()).numpy().tolist()
        == trained.detokenize(ids).numpy().tolist()
    )
    assert trained.detokenize(tf.ragged.stack([ids, ids])).to_list()[1][0] == "un café".encode()
    assert trained.detokenize(tf.zeros([0, 5], tf.int32)).shape == (0,)
