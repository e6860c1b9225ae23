"""What byte-level BPE promises: every text comes back, offsets, special tokens, bounded words."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from text import byte_pairs
from text.byte_pairs import CORPUS, HARD, decoded, tokens

from keras_transformer.text import ByteLevelBPETokenizer
from keras_transformer.text.byte_level_bpe_words import LONGEST_WORD, cut_into_words

UNICODE = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@pytest.fixture(scope="module")
def trained():
    return byte_pairs.trained()


@pytest.fixture(scope="module")
def there_and_back(trained):
    spec = tf.TensorSpec([None], tf.string)
    return tf.function(lambda t: trained.detokenize(trained.tokenize(t)), input_signature=[spec])


@pytest.fixture(scope="module")
def all_of_it(trained):
    def run(texts):
        ids, starts, ends = trained.tokenize_with_offsets(texts)
        return trained.tokenize(texts), ids, starts, ends, trained.detokenize(ids)

    return tf.function(run, input_signature=[tf.TensorSpec([None], tf.string)])


# There and back.


def test_every_hard_text_comes_back_exactly(trained):
    assert decoded(trained.detokenize(trained.tokenize(HARD))) == HARD


@settings(max_examples=40, deadline=None)
@given(texts=st.lists(UNICODE, min_size=1, max_size=4))
def test_any_text_comes_back_exactly(there_and_back, texts):
    assert decoded(there_and_back(tf.constant(texts))) == texts


def test_chinese_comes_back_without_blanks(trained):
    assert trained.detokenize(trained.tokenize("中文文本")).numpy().decode() == "中文文本"


def test_composed_and_decomposed_accents_agree_under_nfc_only(trained):
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    ids = trained.tokenize([composed, decomposed]).to_list()
    assert ids[0] != ids[1] and decoded(trained.detokenize(ids)) == [composed, decomposed]
    nfc = ByteLevelBPETokenizer.train([*CORPUS, decomposed], 400, normalization="nfc")
    ids, starts, ends = nfc.tokenize_with_offsets([composed, decomposed])
    assert ids[0].numpy().tolist() == ids[1].numpy().tolist()
    assert decoded(nfc.detokenize(ids)) == [composed, composed]
    assert (int(ends[0][-1]), int(ends[1][-1])) == (4, 5)


@settings(max_examples=25, deadline=None)
@given(text=st.binary(max_size=12))
def test_invalid_utf8_reads_as_replacement_characters(all_of_it, text):
    expected = text.decode(errors="replace")
    same_ids, ids, starts, ends, back = all_of_it(tf.constant([text, b"a", expected]))
    assert ids.to_list() == same_ids.to_list()
    assert ids[0].numpy().tolist() == ids[2].numpy().tolist()
    assert decoded(back) == [expected, "a", expected]
    spans = zip(starts[0].numpy(), ends[0].numpy(), strict=True)
    assert all(0 <= start < end <= len(expected) for start, end in spans)


def test_ids_that_spell_no_utf8_print_as_replacement_characters(trained):
    emoji = trained.tokenize("🙂").numpy().tolist()
    assert len(emoji) == 4
    assert decoded(trained.detokenize([emoji, emoji[:3]])) == ["🙂", "\ufffd"]
    assert decoded(trained.detokenize([emoji[1:]])) == ["\ufffd" * 3]
    (a,) = trained.tokenize("a").numpy()
    for impossible in (-1, trained.vocab_size, 2**40):
        ids = tf.constant([[a, impossible], [a, trained.pad_id]], tf.int64)
        assert decoded(trained.detokenize(ids)) == ["a\ufffd", "a"]


# Shapes.


def test_tokenize_adds_one_ragged_axis_to_any_shape(trained):
    scalar = trained.tokenize("the fox")
    assert isinstance(scalar, tf.Tensor) and scalar.shape.rank == 1 and scalar.dtype == tf.int32
    expected = scalar.numpy().tolist()
    assert trained.tokenize(["the fox", ""]).to_list() == [expected, []]
    block = trained.tokenize([["the fox", "a"], ["", "the fox"]])
    assert block.shape.as_list() == [2, 2, None] and block.dtype == tf.int32
    assert block[1, 1].numpy().tolist() == expected
    assert trained.tokenize([["the fox"], []]).to_list() == [[expected], []]
    assert trained.tokenize([]).to_list() == []
    assert trained.tokenize(tf.zeros([2, 0], tf.string)).shape.as_list() == [2, 0, None]


def test_detokenize_takes_away_one_axis_always(trained):
    ids = trained.tokenize("the fox").numpy().tolist()
    short = trained.tokenize("a").numpy().tolist()
    assert trained.detokenize(ids).shape == ()
    assert trained.detokenize(ids).numpy() == b"the fox"
    assert trained.detokenize([ids, short, []]).numpy().tolist() == [b"the fox", b"a", b""]
    assert trained.detokenize(np.array([[ids], [ids]])).numpy().tolist() == [[b"the fox"]] * 2
    nested = tf.ragged.constant([[ids, short], [], [short]], dtype=tf.int64)
    assert trained.detokenize(nested).to_list() == [[b"the fox", b"a"], [], [b"a"]]
    assert trained.detokenize([]).numpy() == b""
    assert trained.detokenize(tf.zeros([0, 5], tf.int32)).shape == (0,)


# Offsets.


def test_offsets_count_unicode_characters(trained):
    ids, starts, ends = trained.tokenize_with_offsets(HARD)
    assert ids.to_list() == trained.tokenize(HARD).to_list()
    for text, row_starts, row_ends in zip(HARD, starts.to_list(), ends.to_list(), strict=True):
        covered = {i for s, e in zip(row_starts, row_ends, strict=True) for i in range(s, e)}
        assert covered == set(range(len(text)))
        assert all(s < e for s, e in zip(row_starts, row_ends, strict=True))
        assert row_starts == sorted(row_starts) and row_ends == sorted(row_ends)


def test_tokens_that_share_a_character_all_cover_it(trained):
    ids, starts, ends = trained.tokenize_with_offsets("é🙂 fox")
    assert list(zip(starts.numpy().tolist(), ends.numpy().tolist(), strict=True)) == [
        *([(0, 1)] * (len(ids) - 5)),
        *([(1, 2)] * 4),
        (2, 6),
    ]


def test_byte_offsets_cover_whole_characters(trained):
    text = "é🙂 fox"
    raw = text.encode()
    ids, starts, ends = trained.tokenize_with_byte_offsets(text)
    pieces = [raw[s:e].decode() for s, e in zip(starts.numpy(), ends.numpy(), strict=True)]
    _, starts, ends = trained.tokenize_with_offsets(text)
    assert pieces == [text[s:e] for s, e in zip(starts.numpy(), ends.numpy(), strict=True)]
    for part in trained.tokenize_with_byte_offsets([["fox", "é fox"], ["", "中 fox"]]):
        assert part.dtype == tf.int32 and part.shape.as_list() == [2, 2, None]


def test_offsets_of_no_texts_and_of_empty_texts(trained):
    for texts in ([], ["", ""], tf.zeros([0, 2], tf.string)):
        for part in trained.tokenize_with_offsets(texts):
            assert part.flat_values.shape == (0,)
    assert [part.shape for part in trained.tokenize_with_offsets("")] == [(0,)] * 3


# Words.


@pytest.mark.parametrize("unit", ["a", "é", "中", "🙂", "a中", "é🙂b", "\n", "4"])
def test_long_words_are_cut_into_bounded_parts_and_come_back(trained, unit):
    for count in (63, 64, 85, 86, 128, 129, 256, 257, 2_000):
        text = unit * count
        parts = cut_into_words(tf.constant([text])).strings.numpy()
        assert b"".join(parts).decode() == text
        assert max(map(len, parts)) <= LONGEST_WORD
        assert all(part.decode() for part in parts), "cut between characters"
        if len(set(unit)) == 1 and len(text.encode()) <= LONGEST_WORD:
            assert len(parts) == 1
    assert trained.detokenize(trained.tokenize(text)).numpy().decode() == text


def test_a_row_of_100000_characters_ends(trained):
    letters = np.random.default_rng(0).choice(list("thequickbrownfoxisazydgmv"), 100_000)
    texts = ["".join(letters), "a" * 100_000, " " * 100_000, "fox " * 25_000]
    ids = trained.tokenize(texts)
    assert decoded(trained.detokenize(ids)) == texts
    assert ids[3].numpy().tolist()[-4:-1] == trained.tokenize(" fox fox fox").numpy().tolist()


# Special tokens.


def test_ids_of_special_tokens(trained):
    assert (trained.pad_id, trained.bos_id, trained.eos_id, trained.unk_id) == (0, 1, 1, -1)
    assert (trained.cls_id, trained.sep_id, trained.mask_id) == (1, 1, -1)
    assert trained.special_ids == (0, 1) and trained.special_tokens == ("<pad>", "<|endoftext|>")
    assert [trained.token_to_id(trained.id_to_token(i)) for i in range(trained.vocab_size)] == [
        *range(trained.vocab_size)
    ]
    with pytest.raises(ValueError, match="id 2000 is not in the vocabulary of"):
        trained.id_to_token(2_000)
    with pytest.raises(ValueError, match="'no such token' is not in the vocabulary"):
        trained.token_to_id("no such token")


def test_text_never_yields_a_control_id(trained):
    typed = ["<|endoftext|>", "<pad>", "<<pad>>", "a <|endoftext|><|endoftext|> b"]
    ids = trained.tokenize(typed)
    assert not set(ids.flat_values.numpy()) & set(trained.special_ids)
    assert decoded(trained.detokenize(ids)) == typed


def test_special_tokens_can_be_typed_where_that_is_asked_for():
    typing = ByteLevelBPETokenizer.train(CORPUS, 400, special_tokens=["<|a|>", "<|a|>b"])
    typing.match_control_symbols = True
    assert tokens(typing, "~<|a|>~ <|a|>b <pad><|a|") == [
        "~",
        "<|a|>",
        *("~", "Ġ"),
        "<|a|>b",  # the longest
        *("Ġ", "<", "p", "a", "d", ">", "<", "|", "a", "|"),  # padding is never typed
    ]
    text = "é<|a|>🙂 <|endoftext|>"
    ids, starts, ends = typing.tokenize_with_offsets([text, "", "<|a|>"])
    assert ids.to_list() == typing.tokenize([text, "", "<|a|>"]).to_list()
    spans = list(zip(starts[0].numpy().tolist(), ends[0].numpy().tolist(), strict=True))
    assert sorted(set(spans)) == [(0, 1), (1, 6), (6, 7), (7, 8), (8, 21)]
    assert (starts[2].numpy().tolist(), ends[2].numpy().tolist()) == ([0], [5])


def test_one_token_for_several_roles_can_be_typed_though_it_pads(trained):
    one = ByteLevelBPETokenizer(
        trained.vocabulary[1:],
        trained.merges,
        pad_token="<|endoftext|>",
        match_control_symbols=True,
    )
    assert (one.pad_id, one.bos_id, one.eos_id) == (0, 0, 0)
    assert one.tokenize("<|endoftext|>").numpy().tolist() == [0]


def test_a_prefix_blank_makes_the_first_word_one_from_inside():
    tokenizer = ByteLevelBPETokenizer.train(CORPUS, 500, add_prefix_space=True)
    assert tokens(tokenizer, "fox fox") == ["Ġfox", "Ġfox"]
    assert tokenizer.tokenize(["fox", " fox", ""]).to_list() == [
        [tokenizer.token_to_id("Ġfox")],
        [tokenizer.token_to_id("Ġfox")],
        [],
    ]
    _, starts, ends = tokenizer.tokenize_with_offsets("fox fox")
    assert (starts.numpy().tolist(), ends.numpy().tolist()) == ([0, 3], [3, 7])
    assert tokenizer.detokenize(tokenizer.tokenize("fox")).numpy() == b" fox"


# Learning.


def test_special_tokens_are_the_first_ids_and_nothing_is_learned_from_their_names():
    texts = ["<|user|> hi <|endoftext|>[x]"] * 50 + ["hi"] * 50
    tokenizer = ByteLevelBPETokenizer.train(
        texts, 300, bos_token="<|user|>", pad_token=None, special_tokens=["[x]"]
    )
    assert tokenizer.vocabulary[:3] == ("<|user|>", "<|endoftext|>", "[x]")
    assert (tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id) == (-1, 0, 1)
    assert tokenizer.special_ids == (0, 1, 2)
    assert not any("x" in left + right or "use" in left + right for left, right in tokenizer.merges)
    assert tokens(tokenizer, "hi hi") == ["hi", "Ġhi"]


def test_the_same_texts_give_the_same_tokenizer():
    one, two = (ByteLevelBPETokenizer.train(CORPUS, 400) for _ in range(2))
    assert (one.vocabulary, one.merges) == (two.vocabulary, two.merges)
    backwards = ByteLevelBPETokenizer.train(CORPUS[::-1], 400)
    assert (one.vocabulary, one.merges) == (backwards.vocabulary, backwards.merges)


def test_texts_may_be_files_and_give_at_most_what_they_support(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(CORPUS[:3] * 4), encoding="utf-8")
    tokenizer = ByteLevelBPETokenizer.train(path, 100_000)
    assert tokenizer.vocab_size < 1_000
    assert len(tokenizer.tokenize(" quick brown fox")) == 3


@pytest.mark.parametrize(
    ("texts", "size", "options", "message"),
    [
        ([], 300, {}, "texts hold nothing to learn from"),
        (["", ""], 300, {}, "texts hold nothing to learn from"),
        (["a"], 257, {}, "vocab_size=257 is too small: 2 special tokens and 256 bytes need 258"),
        (["a"], 300, {"min_count": 0}, "min_count must be at least 1, got 0"),
        (["a"], 300, {"normalization": "nfd"}, "normalization must be one of .* got 'nfd'"),
        (["a"], 300, {"special_tokens": "abc"}, "special_tokens must be a list of strings"),
        (["a"], 300, {"special_tokens": [""]}, r"special_tokens\[0\] must be a string, not empty"),
        ("a", 300, {}, "texts must be a list"),
    ],
)
def test_training_says_what_is_wrong(texts, size, options, message):
    with pytest.raises(ValueError, match=message):
        ByteLevelBPETokenizer.train(texts, size, **options)
