"""WordPiece vocabularies: files, and learning them."""

import gzip
from collections import Counter

import pytest

from keras_transformer.text import WordPieceTokenizer
from keras_transformer.text.wordpiece_vocabulary import read_vocabulary

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CORPUS = ["the lower the newer", "newer and wider, the lowest!", "中文文本 and 中文", "an é"] * 3


def write(path, content):
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        b"[PAD]\n[UNK]\na\n##b\n",
        b"[PAD]\n[UNK]\na\n##b",
        b"[PAD]\r\n[UNK]\r\na\r\n##b\r\n",
        b"\xef\xbb\xbf[PAD]\n[UNK]\na\n##b\n",
    ],
    ids=["plain", "no final newline", "windows", "byte-order mark"],
)
def test_line_ends_and_byte_order_marks_are_accepted(tmp_path, content):
    path = write(tmp_path / "vocab.txt", content)
    assert read_vocabulary(path) == ["[PAD]", "[UNK]", "a", "##b"]
    assert WordPieceTokenizer.from_vocab(path).tokenize("ab").numpy().tolist() == [2, 3]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[PAD]\n\n[UNK]\n", r"vocab.txt, line 2 is blank"),
        (b"[PAD]\n[UNK]\n  \n", r"vocab.txt, line 3 is blank"),
        (b"[UNK]\na\n\n", r"vocab.txt, line 3 is blank"),
        (b"[UNK]\na\nb\na\n", r"vocab.txt, line 4 repeats the token 'a' of .*vocab.txt, line 2"),
        (b"[UNK]\n\xe9\n", r"vocab.txt, line 2: not valid UTF-8"),
        (b"[UNK]\n" + b"a" * 257, r"vocab.txt, line 2: the token 'a+'\.\.\. is longer than 256"),
        (b"a\nb\n", r"vocab.txt lacks the token \[UNK\]"),
        (b"", r"vocab.txt lacks the token \[UNK\]"),
    ],
)
def test_faults_of_a_vocabulary_file_are_named_with_their_line(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        WordPieceTokenizer.from_vocab(write(tmp_path / "vocab.txt", content))


def test_a_vocabulary_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ValueError, match="cannot read the vocabulary .*none.txt: No such file"):
        WordPieceTokenizer.from_vocab(tmp_path / "none.txt")


def test_the_same_texts_give_the_same_vocabulary():
    first = WordPieceTokenizer.train(CORPUS, 48)
    assert first.vocabulary == WordPieceTokenizer.train(iter(CORPUS), 48).vocabulary
    assert first.vocabulary == WordPieceTokenizer.train(CORPUS[::-1], 48).vocabulary


def test_the_vocabulary_is_what_was_asked_for():
    tokenizer = WordPieceTokenizer.train(CORPUS, 52)
    assert tokenizer.vocab_size == 52 and len(set(tokenizer.vocabulary)) == 52
    assert list(tokenizer.vocabulary[:5]) == SPECIAL
    assert "the" in tokenizer.vocabulary and "##er" in tokenizer.vocabulary
    assert WordPieceTokenizer.train(CORPUS, 5000).vocab_size < 100, "no more than there is"
    assert tokenizer.unk_id not in tokenizer.tokenize(CORPUS).flat_values.numpy()


def test_chinese_characters_are_tokens_of_their_own():
    tokenizer = WordPieceTokenizer.train(CORPUS, 5000)
    chinese = [token for token in tokenizer.vocabulary if any("一" <= c <= "鿿" for c in token)]
    assert sorted(chinese) == sorted("中文本")


def test_reserved_tokens_come_first_in_their_order_and_are_neither_split_nor_repeated():
    reserved = ["[PAD]", "[UNK]", "[unused1]", "<e>", "[MASK]"]
    tokenizer = WordPieceTokenizer.train(
        ["[unused1] a [unused1]<e>b [MASK]", "unuse"] * 9, 60, reserved_tokens=reserved
    )
    assert list(tokenizer.vocabulary[:5]) == reserved
    counts = Counter(tokenizer.vocabulary)
    assert all(counts[token] == 1 for token in reserved)
    assert not any("MASK" in token.upper() for token in tokenizer.vocabulary[5:])
    assert "unused" not in tokenizer.vocabulary and "[" not in tokenizer.vocabulary
    assert tokenizer.mask_id == 4 and tokenizer.cls_id == -1
    matching = WordPieceTokenizer(
        tokenizer.vocabulary, special_tokens=reserved, match_control_symbols=True
    )
    assert matching.tokenize("[unused1]<e>").numpy().tolist() == [2, 3]


def test_rare_characters_are_left_out_and_their_words_are_unknown():
    texts = ["aaaa bbbb " * 200, "bbbz"]
    tokenizer = WordPieceTokenizer.train(texts, 60, character_coverage=0.99)
    assert "z" not in tokenizer.vocabulary and "##z" not in tokenizer.vocabulary
    assert tokenizer.tokenize("bbbz").numpy().tolist() == [tokenizer.unk_id]
    assert "z" in WordPieceTokenizer.train(texts, 60, character_coverage=1.0).vocabulary


def test_every_character_of_the_alphabet_begins_and_continues_words():
    tokenizer = WordPieceTokenizer.train(["ab cx\u0302"] * 2, 60)
    for text in ("xab", "bca", "cx\u0302a"):
        assert tokenizer.unk_id not in tokenizer.tokenize(text).numpy()


def test_texts_may_be_files(tmp_path):
    path = tmp_path / "corpus.txt.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("\n".join(CORPUS))
    assert (
        WordPieceTokenizer.train(path, 48).vocabulary
        == WordPieceTokenizer.train(CORPUS, 48).vocabulary
    )


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        ([], {}, "texts hold nothing to learn from"),
        (["", " \u200d"], {}, "texts hold nothing to learn from"),
        (["abc"], {"vocab_size": 10}, "vocab_size=10 is too small .* 3 characters need 11 ids"),
        (["abc"], {"reserved_tokens": ["[PAD]"]}, r"reserved_tokens must hold '\[UNK\]'"),
        (["abc"], {"reserved_tokens": ["[UNK]", "pad"]}, r"reserved_tokens\[1\] must be one word"),
        (["abc"], {"reserved_tokens": "[UNK]"}, "reserved_tokens must be a list of strings"),
        (["abc"], {"character_coverage": 0}, r"character_coverage must lie in \(0, 1\], got 0"),
        (["abc"], {"min_count": 0}, "min_count must be at least 1, got 0"),
        (["abc"], {"normalization": "nfc"}, "normalization must be one of"),
        ("abc", {}, "texts must be a list"),
    ],
)
def test_impossible_training_is_refused(texts, options, message):
    with pytest.raises(ValueError, match=message):
        WordPieceTokenizer.train(texts, **{"vocab_size": 100, **options})


def test_long_words_and_long_tokens_do_no_harm():
    tokenizer = WordPieceTokenizer.train(["𝒶" * 90 + " ab " + "x" * 500] * 5, 100)
    assert "ab" in tokenizer.vocabulary and "x" not in tokenizer.vocabulary
    assert tokenizer.unk_id not in tokenizer.tokenize("𝒶" * 90).numpy()
