"""A byte-level BPE tokenizer in files, in graphs and in exports."""

import functools
import json

import pytest
import tensorflow as tf
from c_serve import c_serve  # noqa: F401  (a fixture)
from text import byte_pairs
from text.byte_pairs import CORPUS, HARD
from text.exported_tokenizer import (
    as_lists,
    assert_all_ways_agree,
    assert_stateless,
    export_and_move,
)

from keras_transformer.text import ByteLevelBPETokenizer, load_tokenizer
from keras_transformer.text.byte_level_bpe_vocabulary import BYTE_CHARACTERS


@pytest.fixture(scope="module")
def trained():
    return byte_pairs.trained()


# Files.


def test_save_and_load_keep_everything(tmp_path):
    tokenizer = ByteLevelBPETokenizer.train(
        CORPUS,
        400,
        bos_token="<|user|>",
        special_tokens=["<|x|>"],
        add_prefix_space=True,
        normalization="nfc",
    )
    tokenizer.save(tmp_path / "run")
    loaded = load_tokenizer(tmp_path / "run")
    assert isinstance(loaded, ByteLevelBPETokenizer)
    assert (loaded.vocabulary, loaded.merges) == (tokenizer.vocabulary, tokenizer.merges)
    assert (loaded.pad_id, loaded.bos_id, loaded.eos_id) == (0, 1, 2)
    assert loaded.special_ids == tokenizer.special_ids == (0, 1, 2, 3)
    assert loaded.tokenize(HARD).to_list() == tokenizer.tokenize(HARD).to_list()
    typing = ByteLevelBPETokenizer.load(tmp_path / "run", match_control_symbols=True)
    assert typing.tokenize("<|x|><|user|>").numpy().tolist() == [3, 1]
    again = ByteLevelBPETokenizer.from_files(
        tmp_path / "run" / "vocab.json",
        tmp_path / "run" / "merges.txt",
        special_tokens=tokenizer.special_tokens,
        add_prefix_space=True,
        normalization="nfc",
    )
    assert again.tokenize(HARD).to_list() == tokenizer.tokenize(HARD).to_list()


def test_load_says_what_is_wrong(trained, tmp_path):
    trained.save(tmp_path)
    merges = tmp_path / "merges.txt"
    lines = merges.read_text(encoding="utf-8").splitlines(keepends=True)
    merges.write_text("".join(lines[:-1]), encoding="utf-8")
    with pytest.raises(ValueError, match=r"merges.txt beside it is damaged or belongs to another"):
        load_tokenizer(tmp_path)
    merges.unlink()
    with pytest.raises(ValueError, match="lacks merges.txt, the merges"):
        load_tokenizer(tmp_path)
    (tmp_path / "vocab.json").unlink()
    with pytest.raises(ValueError, match="lacks vocab.json, the vocabulary"):
        load_tokenizer(tmp_path)


def write(folder, vocabulary, merges):
    ids = vocabulary if isinstance(vocabulary, str) else json.dumps(vocabulary)
    (folder / "vocab.json").write_text(ids, encoding="utf-8")
    (folder / "merges.txt").write_bytes(merges.encode())
    return folder / "vocab.json", folder / "merges.txt"


@pytest.mark.parametrize(
    "merges", ["# f\n#f o\n", "\ufeff#version: 0.2\r\n# f\r\n#f o\r\n", "#version: 0.2\n# f\n#f o"]
)
def test_line_ends_marks_and_version_lines_of_merges_are_tolerated(tmp_path, merges):
    tokens = [*BYTE_CHARACTERS, "<|endoftext|>", "#f", "#fo"]
    ids = {token: index for index, token in enumerate(tokens)}
    tokenizer = ByteLevelBPETokenizer.from_files(*write(tmp_path, ids, merges))
    assert tokenizer.merges == (("#", "f"), ("#f", "o"))


@pytest.mark.parametrize(
    ("vocabulary", "merges", "message"),
    [
        ("{", "", "vocab.json is not JSON"),
        ("[]", "", "vocab.json must be a JSON object that gives each token its id"),
        ('{"a": "b"}', "", "vocab.json must be a JSON object that gives each token its id"),
        ('{"a": 1}', "", "vocab.json must give the ids 0, 1, 2"),
        ('{"a": 0}', "a b c\n", "merges.txt, line 1: a merge must be two tokens, got 'a b c'"),
        ('{"a": 0}', "#version\na b\n\nb a\n", "merges.txt, line 3: a merge must be two tokens"),
        ('{"a": 0}', "a b\n", "vocabulary lacks 255 of the 256 bytes, 'Ā' for one"),
    ],
)
def test_damaged_files_are_named(tmp_path, vocabulary, merges, message):
    with pytest.raises(ValueError, match=message):
        ByteLevelBPETokenizer.from_files(*write(tmp_path, vocabulary, merges))
    with pytest.raises(ValueError, match="cannot read the vocabulary .*nowhere: No such file"):
        ByteLevelBPETokenizer.from_files(tmp_path / "nowhere", tmp_path / "merges.txt")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vocabulary": ["a", "a"]}, r"vocabulary\[1\] repeats the token 'a'"),
        ({"vocabulary": ["中"]}, r"'中' is neither a special token nor spelled in GPT-2's letters"),
        ({"vocabulary": [""]}, r"vocabulary\[0\] must be a string, not empty"),
        ({"merges": [("a", "zzz")]}, r"merges\[0\], \('a', 'zzz'\): 'zzz' is not in the voc"),
        ({"merges": [("Ġ", "a")] * 2}, r"merges\[1\] repeats the pair"),
        ({"merges": [("<pa", "d>")]}, "'<pa' is not in the vocabulary"),
        ({"special_tokens": ["[no]"]}, r"special token '\[no\]' is not in the vocabulary"),
        ({"special_tokens": ["!"]}, "special token '!' is a byte's"),
        ({"special_tokens": ["Ġa"]}, "'Ġa' is a special token, which no text may give"),
        ({"special_tokens": ["<pad>"] * 2}, "special_tokens holds '<pad>' more than once"),
        ({"pad_token": "[no]"}, r"pad_token='\[no\]' is not one of special_tokens"),
        ({"normalization": "nfd"}, "normalization must be one of"),
    ],
)
def test_impossible_arguments_are_refused(trained, change, message):
    good = {
        "vocabulary": [*trained.vocabulary[:258], "Ġa"],
        "merges": [("Ġ", "a")],
        "special_tokens": ["<pad>", "<|endoftext|>"],
    }
    ByteLevelBPETokenizer(**good)
    with pytest.raises(ValueError, match=message):
        ByteLevelBPETokenizer(**{**good, **change})


# Graphs.

TEXTS = [text for text in HARD if "\0" not in text] + ["fox<|endoftext|> fox", "x" * 700]


@pytest.fixture(scope="module")
def exported(trained, tmp_path_factory):
    load = functools.partial(ByteLevelBPETokenizer.load, match_control_symbols=True)
    return export_and_move(trained, load, tmp_path_factory.mktemp("bpe"))


def test_eager_graph_and_export_agree(exported):
    assert_all_ways_agree(*exported, TEXTS)


@pytest.mark.slow
def test_export_runs_without_python(exported, c_serve):  # noqa: F811
    module, folder = exported
    (together,) = c_serve.ask(folder, "serving_default", [{"text": TEXTS}])
    assert together == as_lists(module.run(tf.constant(TEXTS)))
    alone = c_serve.ask(folder, "serving_default", [{"text": [text]} for text in TEXTS])
    assert [answer["text"][0] for answer in alone] == together["text"]


def test_export_holds_no_table_no_variable_and_no_xla(exported):
    assert_stateless(exported[1])


def test_works_in_tf_data(trained):
    dataset = tf.data.Dataset.from_tensor_slices(TEXTS).batch(7).map(trained.tokenize)
    assert [row for batch in dataset for row in batch.to_list()] == trained.tokenize(
        TEXTS
    ).to_list()


def test_a_text_alone_and_in_a_batch_is_the_same(trained):
    spec = tf.TensorSpec([None], tf.string)
    tokenize = tf.function(trained.tokenize_with_offsets, input_signature=[spec])
    batch = tokenize(tf.constant(TEXTS))
    for row, text in enumerate(TEXTS):
        for one, many in zip(tokenize(tf.constant([text])), batch, strict=True):
            assert one.to_list() == [many[row].numpy().tolist()]
