"""What every tokenizer promises."""

import json
import os

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keras_transformer.text import CharacterTokenizer, SentencePieceTokenizer, load_tokenizer

UNICODE = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
# Drawn often enough to meet each other.
AWKWARD = st.text(st.sampled_from(" ▁▅\x10\x0001\t\n<s>/é\u0301中🙂\u200b�"), max_size=20)


def decoded(strings):
    return [string.decode() for string in strings.numpy()]


def test_tricky_texts_come_back_exactly(tokenizer, tricky):
    assert decoded(tokenizer.detokenize(tokenizer.tokenize(tricky))) == tricky


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(texts=st.lists(UNICODE | AWKWARD, min_size=1, max_size=4))
def test_subwords_give_every_text_back(bpe, unigram, texts):
    for tokenizer in (bpe, unigram):
        assert decoded(tokenizer.detokenize(tokenizer.tokenize(texts))) == texts


def test_chinese_comes_back_without_blanks(tokenizer):
    assert tokenizer.detokenize(tokenizer.tokenize("中文文本")).numpy().decode() == "中文文本"


def test_text_never_yields_a_control_id(tokenizer):
    typed = ["<s>", "</s>", "<<s>>", "<pad>", "<unk>", "going to [MASK] study", "<s></s>"]
    ids = tokenizer.tokenize(typed)
    assert not set(ids.flat_values.numpy()) & {*tokenizer.special_ids, tokenizer.unk_id}
    assert ids[0].numpy().tolist() != ids[1].numpy().tolist()
    assert decoded(tokenizer.detokenize(ids)) == typed


def test_ids_of_control_tokens(tokenizer):
    assert (tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.unk_id) == (0, 1, 2, 3)
    assert tokenizer.special_ids[:3] == (0, 1, 2)
    assert [
        tokenizer.token_to_id(tokenizer.id_to_token(i)) for i in range(tokenizer.vocab_size)
    ] == [*range(tokenizer.vocab_size)]
    assert tokenizer.id_to_token(1) != tokenizer.id_to_token(2)
    with pytest.raises(ValueError, match="not in the vocabulary"):
        tokenizer.id_to_token(tokenizer.vocab_size)
    with pytest.raises(ValueError, match="not in the vocabulary"):
        tokenizer.token_to_id("no such token")


def test_tokenize_adds_one_ragged_axis_to_any_shape(tokenizer):
    scalar = tokenizer.tokenize("the fox")
    assert isinstance(scalar, tf.Tensor) and scalar.shape.rank == 1 and scalar.dtype == tf.int32
    expected = scalar.numpy().tolist()

    batch = tokenizer.tokenize(["the fox", ""])
    assert isinstance(batch, tf.RaggedTensor) and batch.dtype == tf.int32
    assert batch.to_list() == [expected, []]

    block = tokenizer.tokenize([["the fox", "a"], ["", "the fox"]])
    assert block.shape.as_list() == [2, 2, None]
    assert block[0, 0].numpy().tolist() == block[1, 1].numpy().tolist() == expected

    ragged = tokenizer.tokenize(tf.ragged.constant([["the fox"], [], ["", "the fox"]]))
    assert ragged.to_list() == [[expected], [], [[], expected]]
    assert tokenizer.tokenize([["the fox"], []]).to_list() == [[expected], []]

    assert tokenizer.tokenize([]).to_list() == []
    assert tokenizer.tokenize(tf.zeros([2, 0], tf.string)).shape.as_list() == [2, 0, None]


def test_detokenize_takes_away_one_axis_always(tokenizer):
    ids = tokenizer.tokenize("the fox").numpy().tolist()
    short = tokenizer.tokenize("a").numpy().tolist()
    assert tokenizer.detokenize(ids).shape == ()
    assert tokenizer.detokenize(ids).numpy() == b"the fox"
    assert tokenizer.detokenize([ids, ids]).numpy().tolist() == [b"the fox"] * 2
    assert tokenizer.detokenize([ids, short, []]).numpy().tolist() == [b"the fox", b"a", b""]
    assert tokenizer.detokenize(np.array([[ids], [ids]])).numpy().tolist() == [[b"the fox"]] * 2
    nested = tf.ragged.constant([[ids, short], [], [short]], dtype=tf.int64)
    assert tokenizer.detokenize(nested).to_list() == [[b"the fox", b"a"], [], [b"a"]]
    block = tokenizer.tokenize([["the fox", "a"], ["", "a"]])
    assert tokenizer.detokenize(block).numpy().tolist() == [[b"the fox", b"a"], [b"", b"a"]]
    assert tokenizer.detokenize([]).numpy() == b""
    assert tokenizer.detokenize(tf.zeros([2, 0], tf.int32)).numpy().tolist() == [b"", b""]
    assert tokenizer.detokenize(tf.zeros([0, 5], tf.int32)).shape == (0,)
    uniform_inside = tf.RaggedTensor.from_row_lengths(tf.constant([short * 2] * 3), [1, 2])
    assert tokenizer.detokenize(uniform_inside).to_list() == [[b"aa"], [b"aa", b"aa"]]


def test_detokenize_skips_control_ids_and_shows_impossible_ones(tokenizer):
    (a,) = tokenizer.tokenize("a").numpy()
    assert tokenizer.detokenize([[1, a, 2, 0, 0], [1, a, 0, a, 2]]).numpy().tolist() == [
        b"a",
        b"aa",
    ]
    for impossible in (3, -1, tokenizer.vocab_size, 2**40):
        ids = tf.constant([[a, impossible], [a, 0]], tf.int64)
        assert decoded(tokenizer.detokenize(ids)) == ["a\ufffd", "a"]


def test_offsets_count_unicode_characters(tokenizer, tricky):
    texts = [*tricky, "日本 🙂🙂 ▁x", "é" * 5]
    ids, starts, ends = tokenizer.tokenize_with_offsets(texts)
    assert ids.to_list() == tokenizer.tokenize(texts).to_list()
    for text, row_starts, row_ends in zip(texts, starts.to_list(), ends.to_list(), strict=True):
        covered = {i for s, e in zip(row_starts, row_ends, strict=True) for i in range(s, e)}
        assert covered == set(range(len(text)))
        assert all(s < e for s, e in zip(row_starts, row_ends, strict=True))
        assert row_starts == sorted(row_starts) and row_ends == sorted(row_ends)


def test_offsets_point_at_the_text_of_the_token(tokenizer):
    text = "🙂é the 中文 dog"
    ids, starts, ends = tokenizer.tokenize_with_offsets(text)
    at = text.index("dog")
    token = starts.numpy().tolist().index(max(s for s in starts.numpy() if s <= at))
    piece = tokenizer.id_to_token(int(ids[token])).replace("▁", " ")
    assert text[starts[token] : ends[token]] == piece


def test_scalar_offsets_are_vectors(tokenizer):
    for part in tokenizer.tokenize_with_offsets("the fox"):
        assert isinstance(part, tf.Tensor) and part.shape.rank == 1 and part.dtype == tf.int32


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=st.binary(max_size=12))
def test_invalid_utf8_reads_as_replacement_characters(bpe, characters, text):
    for tokenizer in (bpe, characters):
        ids, starts, ends = tokenizer.tokenize_with_offsets([text, b"a"])
        assert ids[1].numpy().tolist() == tokenizer.tokenize("a").numpy().tolist()
        size = len(text.decode(errors="replace"))
        assert all(
            0 <= s < e <= size for s, e in zip(starts[0].numpy(), ends[0].numpy(), strict=True)
        )
        tokenizer.detokenize(ids)[0].numpy().decode()  # valid UTF-8 whatever came in


@pytest.mark.parametrize("name", ["bpe", "characters"])
def test_composed_and_decomposed_accents_agree_under_nfc_only(name, corpus):
    kind = SentencePieceTokenizer if name == "bpe" else CharacterTokenizer
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    size = 360 if name == "bpe" else None
    nfc = kind.train([*corpus, decomposed], size, normalization="nfc")
    assert nfc.tokenize(composed).numpy().tolist() == nfc.tokenize(decomposed).numpy().tolist()
    assert nfc.detokenize(nfc.tokenize(decomposed)).numpy().decode() == composed
    plain = kind.train([*corpus, decomposed], size)
    assert plain.tokenize(composed).numpy().tolist() != plain.tokenize(decomposed).numpy().tolist()
    assert plain.detokenize(plain.tokenize(decomposed)).numpy().decode() == decomposed
    with pytest.raises(ValueError, match="normalization must be one of"):
        kind.train(corpus, size, normalization="nfd")


def test_offsets_under_normalization_refer_to_the_text_as_given():
    tokenizer = CharacterTokenizer.train(["ﬃ! eéガx"], normalization="nfkc")
    texts = ["ﬃ!", "", "e\u0301x", "🙂ｶﾞﬃ"]
    ids, starts, ends = tokenizer.tokenize_with_offsets(texts)
    assert decoded(tokenizer.detokenize(ids)) == ["ffi!", "", "éx", "\ufffdガffi"]
    assert starts.to_list() == [[0, 0, 0, 1], [], [0, 2], [0, 1, 3, 3, 3]]
    assert ends.to_list() == [[1, 1, 1, 2], [], [2, 3], [1, 3, 4, 4, 4]]


def test_save_and_load(tokenizer, tmp_path, tricky):
    tokenizer.save(tmp_path / "deep" / "down")
    loaded = load_tokenizer(str(tmp_path / "deep" / "down"))
    assert type(loaded) is type(tokenizer)
    assert loaded.vocab_size == tokenizer.vocab_size
    assert loaded.special_ids == tokenizer.special_ids
    assert loaded.tokenize(tricky).to_list() == tokenizer.tokenize(tricky).to_list()
    assert not [name for name in os.listdir(tmp_path / "deep" / "down") if name.startswith(".")]


def test_load_says_what_is_wrong(bpe, characters, tmp_path):
    with pytest.raises(ValueError, match="holds no tokenizer: there is no tokenizer.json"):
        load_tokenizer(tmp_path)
    characters.save(tmp_path)
    with pytest.raises(ValueError, match="is a CharacterTokenizer, not a SentencePieceTokenizer"):
        SentencePieceTokenizer.load(tmp_path)
    bpe.save(tmp_path)
    model = tmp_path / "tokenizer.model"
    model.write_bytes(model.read_bytes()[:-1])
    with pytest.raises(ValueError, match="damaged or belongs to another"):
        load_tokenizer(tmp_path)
    model.unlink()
    with pytest.raises(ValueError, match="lacks tokenizer.model"):
        load_tokenizer(tmp_path)
    settings_file = tmp_path / "tokenizer.json"
    saved = json.loads(settings_file.read_text())
    settings_file.write_text(json.dumps({**saved, "class": "Nonsense"}))
    with pytest.raises(ValueError, match="names the class 'Nonsense'; known tokenizers are"):
        load_tokenizer(tmp_path)
    settings_file.write_text(json.dumps({**saved, "format_version": 99}))
    with pytest.raises(ValueError, match="format_version 99"):
        load_tokenizer(tmp_path)
    settings_file.write_text("{")
    with pytest.raises(ValueError, match="not a tokenizer's settings"):
        load_tokenizer(tmp_path)


def test_a_failed_write_leaves_the_old_file(characters, tmp_path, monkeypatch):
    characters.save(tmp_path)
    before = (tmp_path / "tokenizer.json").read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        CharacterTokenizer("xyz").save(tmp_path)
    assert (tmp_path / "tokenizer.json").read_bytes() == before
    assert os.listdir(tmp_path) == ["tokenizer.json"]


@pytest.mark.parametrize("wrong", [["a", None], [1, 2], 3, None, tf.constant([1])])
def test_texts_that_are_no_strings_are_refused(characters, wrong):
    with pytest.raises(ValueError, match="texts must be strings"):
        characters.tokenize(wrong)


@pytest.mark.parametrize("wrong", [["a"], [0.5], "abc", tf.constant([1.0]), None])
def test_ids_that_are_no_integers_are_refused(characters, wrong):
    with pytest.raises(ValueError, match="ids must be integers"):
        characters.detokenize(wrong)


def test_a_scalar_id_is_refused(characters):
    with pytest.raises(ValueError, match="rank of at least 1"):
        characters.detokenize(4)


@pytest.mark.parametrize("form", ["identity", "nfc", "nfkc"])
def test_offsets_of_no_texts_and_of_empty_texts(form):
    tokenizer = CharacterTokenizer("ab", normalization=form)
    for texts in ([], ["", ""], tf.zeros([0, 2], tf.string)):
        for part in tokenizer.tokenize_with_offsets(texts):
            assert part.flat_values.shape == (0,)
    assert [part.shape for part in tokenizer.tokenize_with_offsets("")] == [(0,)] * 3
