"""A WordPiece tokenizer in files, in graphs and in exports."""

import pytest
import tensorflow as tf
from c_serve import c_serve  # noqa: F401  (a fixture)
from text import wordpieces
from text.exported_tokenizer import (
    as_lists,
    assert_all_ways_agree,
    assert_stateless,
    export_and_move,
)
from text.wordpieces import CORPUS, SPECIAL

from keras_transformer.text import WordPieceTokenizer, load_tokenizer


@pytest.fixture(scope="module")
def trained():
    return wordpieces.trained()


# Files.


def test_save_and_load_keep_everything(tmp_path):
    tokenizer = WordPieceTokenizer.train(
        CORPUS * 2,
        300,
        lowercase=False,
        strip_accents=True,
        normalization="bert",
        reserved_tokens=[*SPECIAL, "[E1]"],
    )
    tokenizer.save(tmp_path / "run")
    loaded = load_tokenizer(tmp_path / "run")
    assert isinstance(loaded, WordPieceTokenizer)
    assert loaded.vocabulary == tokenizer.vocabulary and loaded.rules == tokenizer.rules
    assert loaded.special_ids == tokenizer.special_ids == (0, 2, 3, 4, 5)
    assert loaded.tokenize(CORPUS).to_list() == tokenizer.tokenize(CORPUS).to_list()
    matching = WordPieceTokenizer.load(tmp_path / "run", match_control_symbols=True)
    assert matching.tokenize("[E1][MASK]").numpy().tolist() == [5, 4]
    # The file is the one that Hugging Face reads.
    lines = (tmp_path / "run" / "vocab.txt").read_text(encoding="utf-8").splitlines()
    assert tuple(lines) == tokenizer.vocabulary
    again = WordPieceTokenizer.from_vocab(
        tmp_path / "run" / "vocab.txt", lowercase=False, strip_accents=True, normalization="bert"
    )
    assert again.tokenize(CORPUS).to_list() == tokenizer.tokenize(CORPUS).to_list()


def test_load_says_what_is_wrong(trained, tmp_path):
    trained.save(tmp_path)
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text(vocabulary.read_text(encoding="utf-8") + "more\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"vocab.txt is damaged or belongs to another tokenizer"):
        load_tokenizer(tmp_path)
    vocabulary.unlink()
    with pytest.raises(ValueError, match="lacks vocab.txt, the vocabulary"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"normalization": "nfkc"}, "normalization must be one of .*default.*bert.* got 'nfkc'"),
        ({"lowercase": "yes"}, "lowercase must be True or False, got 'yes'"),
        ({"strip_accents": 1}, "strip_accents must be True or False, got 1"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        WordPieceTokenizer(["[UNK]"], **options)


# Graphs.

TEXTS = ["", "CAFE\u0301 中文, 한국어! [MASK] й", "\u200b \ufffd 🙂", "x" * 101 + " un", "don't"]


@pytest.fixture(scope="module")
def exported(trained, tmp_path_factory):
    tokenizer = WordPieceTokenizer(trained.vocabulary, match_control_symbols=True)
    return export_and_move(tokenizer, load_tokenizer, tmp_path_factory.mktemp("wordpiece"))


def test_eager_graph_and_export_agree(exported):
    assert_all_ways_agree(*exported, TEXTS)


@pytest.mark.slow
def test_export_runs_without_python(exported, c_serve):  # noqa: F811
    module, folder = exported
    (together,) = c_serve.ask(folder, "serving_default", [{"text": TEXTS}])
    assert together == as_lists(module.run(tf.constant(TEXTS)))
    alone = c_serve.ask_alone(folder, "serving_default", TEXTS)
    assert [answer["text"][0] for answer in alone] == together["text"]


def test_export_holds_no_table_no_variable_and_no_xla(exported):
    assert_stateless(exported[1])


def test_works_in_tf_data(trained):
    dataset = tf.data.Dataset.from_tensor_slices(TEXTS).batch(2).map(trained.tokenize)
    assert [row for batch in dataset for row in batch.to_list()] == trained.tokenize(
        TEXTS
    ).to_list()


def test_a_text_alone_and_in_a_batch_is_the_same(trained):
    batch = trained.tokenize_with_offsets(TEXTS)
    for row, text in enumerate(TEXTS):
        for one, many in zip(trained.tokenize_with_offsets(text), batch, strict=True):
            assert one.numpy().tolist() == many[row].numpy().tolist()
