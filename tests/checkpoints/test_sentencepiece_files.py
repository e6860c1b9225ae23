"""The SentencePiece model of a directory, in and out."""

import pytest
import sentencepiece

from keras_transformer.checkpoints import load_sentencepiece, save_sentencepiece
from keras_transformer.text import SentencePieceTokenizer

TEXTS = ["the dog sees the cat", "我喝茶", "a  b\u2581c"]


def trained(**options):
    return SentencePieceTokenizer.train(TEXTS * 5, 330, hard_vocab_limit=False, **options)


def test_what_is_written_gives_the_same_ids_to_us_and_to_sentencepiece(tmp_path):
    tokenizer = trained()
    save_sentencepiece(tokenizer, tmp_path / "new")
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["tokenizer.model"]
    ids = tokenizer.tokenize(TEXTS).to_list()
    assert load_sentencepiece(tmp_path / "new").tokenize(TEXTS).to_list() == ids
    file = str(tmp_path / "new" / "tokenizer.model")
    assert sentencepiece.SentencePieceProcessor(model_file=file).encode(TEXTS) == ids


def test_what_the_file_would_not_say_is_refused(tmp_path):
    with pytest.raises(ValueError, match="holds neither normalization='nfkc' nor "):
        save_sentencepiece(trained(normalization="nfkc"), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_missing_and_a_damaged_file_are_named(tmp_path):
    with pytest.raises(ValueError, match="has no tokenizer.model, the SentencePiece model"):
        load_sentencepiece(tmp_path)
    (tmp_path / "tokenizer.model").write_bytes(b"no model")
    with pytest.raises(ValueError, match="tokenizer.model: model is not a SentencePiece model"):
        load_sentencepiece(tmp_path)
