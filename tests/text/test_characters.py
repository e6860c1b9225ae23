"""The character tokenizer's vocabulary."""

import pytest

from keras_transformer.text import CharacterTokenizer, load_tokenizer


def test_the_most_frequent_characters_come_first_and_ties_by_code_point():
    tokenizer = CharacterTokenizer.train(iter(["cbbaaa", "c中"]))
    assert [tokenizer.id_to_token(index) for index in range(4, 8)] == ["a", "b", "c", "中"]
    assert tokenizer.vocab_size == 8
    assert tokenizer.tokenize("abc中z").numpy().tolist() == [4, 5, 6, 7, 3]


def test_vocab_size_and_min_count_limit_the_vocabulary():
    assert CharacterTokenizer.train(["aaabbc"], vocab_size=6).vocab_size == 6
    assert CharacterTokenizer.train(["aaabbc"], vocab_size=1000).vocab_size == 7
    assert CharacterTokenizer.train(["aaabbc"], min_count=2).vocab_size == 6
    with pytest.raises(ValueError, match="vocab_size=4 leaves no room"):
        CharacterTokenizer.train(["abc"], vocab_size=4)
    with pytest.raises(ValueError, match="no character to learn: the texts hold 3 different"):
        CharacterTokenizer.train(["abc"], min_count=2)
    with pytest.raises(ValueError, match="no character to learn"):
        CharacterTokenizer.train([])


def test_unknown_characters_are_unk_on_both_sides_of_the_vocabulary():
    """The binary search must not take a neighbour, least of all beyond the last code."""
    tokenizer = CharacterTokenizer("my")
    assert tokenizer.tokenize("amnyz\0\U0010ffff").numpy().tolist() == [3, 4, 3, 5, 3, 3, 3]
    assert tokenizer.detokenize([3, 4, 3]).numpy().decode() == "\ufffdm\ufffd"


def test_impossible_vocabularies_are_refused():
    with pytest.raises(ValueError, match="'a' is given more than once"):
        CharacterTokenizer("aba")
    with pytest.raises(ValueError, match="at least one character"):
        CharacterTokenizer("")


def test_a_mask_is_a_control_id_that_no_text_yields(tmp_path):
    tokenizer = CharacterTokenizer.train(["<mask>中文"], mask=True)
    assert (tokenizer.mask_id, tokenizer.cls_id, tokenizer.sep_id) == (4, 1, 2)
    ids = tokenizer.tokenize("<mask>中").numpy()
    assert 4 not in ids and tokenizer.detokenize(ids).numpy().decode() == "<mask>中"
    assert tokenizer.id_to_token(4) == "<mask>" and tokenizer.token_to_id("<mask>") == 4
    assert tokenizer.detokenize([4, ids[-1]]).numpy().decode() == "中"
    tokenizer.save(tmp_path)
    assert load_tokenizer(tmp_path).mask_id == 4
    assert CharacterTokenizer.train(["中"]).mask_id == -1
