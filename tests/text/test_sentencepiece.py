"""Training of SentencePiece models, and their special symbols."""

import gzip
import hashlib

import keras
import numpy as np
import pytest
import tensorflow as tf
from realdata import real_data
from sentencepiece import sentencepiece_model_pb2 as model_pb2

from keras_transformer.text import SentencePieceTokenizer, sentencepiece_training

train = SentencePieceTokenizer.train


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_training_twice_gives_the_same_model(model_type, tmp_path, corpus):
    for name in ("first", "second"):
        train(iter(corpus), 330, model_type=model_type, hard_vocab_limit=False).save(
            tmp_path / name
        )
    models = [(tmp_path / name / "tokenizer.model").read_bytes() for name in ("first", "second")]
    assert models[0] == models[1]
    assert b"/tmp" not in models[0] and str(tmp_path).encode() not in models[0]


def test_texts_are_read_once_and_as_a_stream():
    alive, most = 0, 0

    class Text(str):
        def __init__(self, _):
            nonlocal alive, most
            alive += 1
            most = max(most, alive)

        def __del__(self):
            nonlocal alive
            alive -= 1

    read = []

    def stream():
        for index in range(500):
            read.append(index)
            yield Text(f"line {index} of text")

    train(stream(), 290, hard_vocab_limit=False)
    assert read == list(range(500))
    assert most < 10


def test_of_too_many_texts_a_sample_from_all_over_is_learned(monkeypatch):
    monkeypatch.setattr(sentencepiece_training, "MOST_SENTENCES", 200)
    texts = ["abab cdcd"] * 5000 + ["xyxy zwzw"] * 5000
    models = [train(iter(texts), 320, hard_vocab_limit=False) for _ in range(2)]
    assert models[0].model == models[1].model
    counted = model_pb2.ModelProto.FromString(models[0].model).trainer_spec.input_sentence_size
    assert counted == 200
    for text in ("abab", "zwzw"):  # from the first half, and from the second
        assert len(models[0].tokenize(text)) < len(text)


def test_files_plain_and_zipped_are_read_by_line(tmp_path, corpus):
    plain, zipped = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    plain.write_text("\n".join(corpus[:9]), encoding="utf-8")
    with gzip.open(zipped, "wt", encoding="utf-8") as file:
        file.write("\r\n".join(corpus[9:]) + "\r\n")
    from_files = train([plain, zipped], 350)
    assert from_files._model == train(corpus, 350)._model
    assert train(plain, 320, hard_vocab_limit=False).vocab_size > 300
    zipped.unlink()
    with pytest.raises(FileNotFoundError, match="b.txt.gz"):
        train([plain, zipped], 350)


def test_wrong_training_texts_are_named(tmp_path):
    bad = tmp_path / "latin.txt"
    bad.write_bytes(b"fine\ncaf\xe9\n")
    with pytest.raises(ValueError, match=r"latin.txt, line 2: byte 0xe9 at position 4 is not"):
        train([bad], 300)
    with pytest.raises(ValueError, match=r"texts\[1\] must be a string or a path, got int"):
        train(["a", 5], 300)
    with pytest.raises(ValueError, match=r"texts\[1\] holds a lone surrogate"):
        train(["a", "x\ud800"], 300)
    with pytest.raises(ValueError, match="got one str; pass"):
        train("one string", 300)
    for empty in ([], [""], ["", "\0"]):
        with pytest.raises(ValueError, match="nothing to learn from"):
            train(empty, 300)


def test_an_error_of_the_users_iterator_comes_through():
    def stream():
        yield "some text"
        raise KeyError("the user's own")

    with pytest.raises(KeyError, match="the user's own"):
        train(stream(), 300)


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_too_large_a_vocabulary_says_how_many_ids_the_texts_support(model_type, corpus):
    with pytest.raises(ValueError, match=r"vocab_size=8000 is more .* yield (\d+) ids") as caught:
        train(corpus, 8000, model_type=model_type)
    supported = int(str(caught.value).split("yield ")[1].split()[0])
    assert train(corpus, supported, model_type=model_type).vocab_size == supported
    soft = train(corpus, 8000, model_type=model_type, hard_vocab_limit=False)
    assert soft.vocab_size == supported


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_too_small_a_vocabulary_says_how_many_ids_are_needed(model_type, corpus):
    with pytest.raises(ValueError, match=r"vocab_size=261 is too small .* need (\d+);") as caught:
        train(corpus, 261, model_type=model_type)
    needed = int(str(caught.value).split("need ")[1].split(";")[0])
    train(corpus, needed, model_type=model_type)
    with pytest.raises(ValueError, match="is too small: 260 ids are taken"):
        train(corpus, 260, model_type=model_type)


def test_impossible_arguments_are_refused(corpus):
    with pytest.raises(ValueError, match="model_type must be"):
        train(corpus, 350, model_type="word")
    with pytest.raises(ValueError, match="character_coverage must lie"):
        train(corpus, 350, character_coverage=0)
    for symbol in ("", "a b", "▁", "<s>", "<0x41>"):
        with pytest.raises(ValueError, match="symbol"):
            train(corpus, 350, user_defined_symbols=[symbol])
    with pytest.raises(ValueError, match="given more than once"):
        train(corpus, 350, user_defined_symbols=["[X]"], control_symbols=["[X]"])
    with pytest.raises(ValueError, match="not a SentencePiece model"):
        SentencePieceTokenizer(b"nonsense")


def test_nothing_is_left_out_of_training_because_of_its_length_or_characters():
    """The trainer by itself would drop every one of these texts and learn from none."""
    long = "needle " + "x" * 20_000 + " needle" * 3000
    texts = [long] + ["bar ▅ bar", "nul \0 nul"] * 20
    tokenizer = train(texts, 320, character_coverage=1.0, hard_vocab_limit=False)
    for word in ("needle", "bar", "nul"):
        assert len(tokenizer.tokenize(word)) < len(word), word


def test_reserved_symbols_come_first_in_order_and_stay_whole(corpus):
    tokenizer = train(
        ["see [unused1] and [SEP] here"] * 20 + corpus,
        380,
        user_defined_symbols=["[unused1]", "[SEP]", "\n"],
        control_symbols=["[CLS]", "[MASK]"],
    )
    assert [tokenizer.id_to_token(index) for index in range(9)] == [
        "<pad>", "<s>", "</s>", "<unk>", "[CLS]", "[MASK]", "[unused1]", "[SEP]", "\n",
    ]  # fmt: skip
    assert tokenizer.special_ids == (0, 1, 2, 4, 5)
    pieces = [tokenizer.id_to_token(index) for index in range(tokenizer.vocab_size)]
    assert len(set(pieces)) == len(pieces)
    text = "x[unused1]y[unused1][SEP]▁\n"
    ids = tokenizer.tokenize(text).numpy().tolist()
    assert [ids.count(index) for index in (6, 7, 8)] == [2, 1, 1]
    assert tokenizer.detokenize(ids).numpy().decode() == text


def test_a_control_symbol_in_text_is_matched_only_on_request(bpe, tmp_path):
    text = "going to [MASK] study"
    mask = bpe.token_to_id("[MASK]")
    assert mask == 4 and mask in bpe.special_ids
    assert mask not in bpe.tokenize(text).numpy()

    bpe.save(tmp_path)
    matching = SentencePieceTokenizer.load(tmp_path, match_control_symbols=True)
    ids = matching.tokenize(text).numpy().tolist()
    assert ids.count(mask) == 1
    assert matching.detokenize(ids).numpy().decode() == "going to  study"
    assert not {0, 1, 2, 3} & set(matching.tokenize("<pad><s></s><unk>").numpy())
    matching.save(tmp_path)
    assert SentencePieceTokenizer.load(tmp_path).tokenize(text).numpy().tolist() == ids


def test_without_byte_fallback_unknown_characters_print_as_replacement(corpus):
    tokenizer = train(corpus, 100, byte_fallback=False, character_coverage=1.0)
    ids = tokenizer.tokenize("the ☃ fox").numpy().tolist()
    assert ids.count(3) == 1
    assert tokenizer.detokenize(ids).numpy().decode() == "the \ufffd fox"


def test_a_blank_is_one_token_though_no_text_had_one():
    tokenizer = train(["中文文本没有空格"] * 5, 300, hard_vocab_limit=False)
    ids = tokenizer.tokenize(" 中 文 ").numpy().tolist()
    assert ids.count(tokenizer.token_to_id("▁")) == 3
    assert tokenizer.detokenize(ids).numpy().decode() == " 中 文 "


def test_split_digits_and_piece_length():
    texts = ["in 1999 and 1999 and 1999 it was incomprehensibilities"] * 20
    assert len(train(texts, 320, hard_vocab_limit=False).tokenize("1999")) < 4
    assert len(train(texts, 320, hard_vocab_limit=False, split_digits=True).tokenize("1999")) == 4
    short = train(texts, 320, hard_vocab_limit=False, max_piece_length=3)
    pieces = [short.id_to_token(index) for index in range(260, short.vocab_size)]
    assert max(map(len, pieces)) == 3


def test_learning_8000_pieces_from_real_text_is_repeatable():
    files = [real_data("multi30k") / f"train.{language}.gz" for language in ("en", "de")]
    tokenizer = train(files, 8000)
    assert tokenizer.vocab_size == 8000
    with gzip.open(files[1], "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file][:2000]
    ids = tokenizer.tokenize(lines)
    assert [text.decode() for text in tokenizer.detokenize(ids).numpy()] == lines
    assert np.mean([len(line) for line in lines]) / np.mean(ids.row_lengths()) > 3.5
    again = train(files, 8000)
    digests = [hashlib.sha256(model._model).hexdigest() for model in (tokenizer, again)]
    assert digests[0] == digests[1]


def test_a_tokenizer_outlives_a_new_random_seed():
    # Seeding clears TensorFlow's kernels, to which tensorflow-text's resource belongs by default.
    tokenizer = SentencePieceTokenizer.train(["hello world"] * 9, 300, hard_vocab_limit=False)
    in_graph = tf.function(tokenizer.tokenize, input_signature=[tf.TensorSpec([None], tf.string)])
    before = tokenizer.tokenize(["hello"]).to_list(), in_graph(tf.constant(["hello"])).to_list()
    keras.utils.set_random_seed(1)
    after = tokenizer.tokenize(["hello"]).to_list(), in_graph(tf.constant(["hello"])).to_list()
    assert before == after


def test_split_han_makes_each_chinese_character_a_token():
    texts = ["她在吃一个绿苹果。", "She is eating a green apple."] * 9
    joined = train(texts, 360, hard_vocab_limit=False)
    split = train(texts, 360, hard_vocab_limit=False, split_han=True)
    text = "她在吃一个苹果 apple"
    assert joined.tokenize([text]).row_lengths().numpy() < len("她在吃一个苹果")
    pieces = [split.id_to_token(int(i)) for i in split.tokenize([text]).to_list()[0]]
    assert pieces[:7] == list("她在吃一个苹果")
    assert "".join(pieces[7:]) == "▁apple" and len(pieces) < 7 + len("▁apple")
    assert split.detokenize(split.tokenize([text])).numpy()[0].decode() == text
