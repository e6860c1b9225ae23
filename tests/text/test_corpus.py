"""The files that tokenizers learn from are read like those that pairs come from."""

import gzip

import pytest

from keras_transformer.text import CharacterTokenizer
from keras_transformer.text.corpus import iterate_texts


def write(path, data: bytes):
    path.write_bytes(data)
    return path


def test_byte_order_mark_line_ends_and_nul_leave_no_trace(tmp_path):
    path = write(tmp_path / "a", b"\xef\xbb\xbfone\r\ntwo\r\r\nn\0l")
    assert list(iterate_texts(path)) == ["one", "two\r", "n l"]


def test_a_byte_order_mark_is_no_character_to_learn(tmp_path):
    tokenizer = CharacterTokenizer.train(write(tmp_path / "a", b"\xef\xbb\xbfab\0"))
    assert [tokenizer.id_to_token(index) for index in range(4, 7)] == [" ", "a", "b"]
    assert tokenizer.vocab_size == 7


def test_gzip_is_known_by_content_and_damage_is_named(tmp_path):
    data = gzip.compress(b"one\ntwo\n" * 2000)
    assert len(list(iterate_texts(write(tmp_path / "no_suffix", data)))) == 4000
    assert list(iterate_texts(write(tmp_path / "plain.gz", b"one\n"))) == ["one"]
    with pytest.raises(ValueError, match=r"cut\.gz: the gzip data is damaged after line"):
        CharacterTokenizer.train(write(tmp_path / "cut.gz", data[: len(data) - 12]))
