"""The same answers eagerly, in a tf.function, in tf.data, and exported."""

import json
import os
import shutil
import subprocess
import sys

import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensorflow.core.protobuf import saved_model_pb2
from text.exported_tokenizer import STATEFUL, Exported, as_lists

from keras_transformer.text import CharacterTokenizer, SentencePieceTokenizer, load_tokenizer

TEXTS = tf.TensorSpec([None], tf.string, name="text")


@pytest.fixture(scope="module")
def exports(tmp_path_factory, corpus):
    """Each tokenizer is loaded from a folder, exported; the folder is deleted, the export moved."""
    folder = tmp_path_factory.mktemp("exports")
    tokenizers = {
        "bpe": SentencePieceTokenizer.train(corpus, 360, normalization="nfkc"),
        "unigram": SentencePieceTokenizer.train(
            corpus, 340, model_type="unigram", hard_vocab_limit=False
        ),
        "characters": CharacterTokenizer.train(corpus, normalization="nfc"),
    }
    for name, tokenizer in tokenizers.items():
        tokenizer.save(folder / "files" / name)
        module = Exported(load_tokenizer(folder / "files" / name))
        tf.saved_model.save(
            module, str(folder / "first" / name), signatures={"serving_default": module.run}
        )
    shutil.rmtree(folder / "files")
    shutil.move(folder / "first", folder / "moved elsewhere")
    return folder / "moved elsewhere", {name: Exported(t) for name, t in tokenizers.items()}


@pytest.mark.slow
def test_exports_work_in_a_process_that_has_only_tensorflow(exports, tricky):
    folder, modules = exports
    script = """
import json, sys
import tensorflow as tf, tensorflow_text
folder, texts = sys.argv[1], json.loads(sys.argv[2])
answers = {}
for name in ("bpe", "unigram", "characters"):
    run = tf.saved_model.load(f"{folder}/{name}").signatures["serving_default"]
    answers[name] = {
        key: [string.decode() for string in value.numpy()]
        if value.dtype == tf.string
        else value.numpy().tolist()
        for key, value in run(text=tf.constant(texts)).items()
    }
assert "keras_transformer" not in sys.modules and "sentencepiece" not in sys.modules
print("ANSWERS" + json.dumps(answers))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder), json.dumps(tricky)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": "", "CUDA_VISIBLE_DEVICES": "-1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    served = json.loads(done.stdout.split("ANSWERS")[1])
    for name, module in modules.items():
        assert served[name] == as_lists(module.run(tf.constant(tricky))), name
        assert served[name]["ids"] == served[name]["same_ids"]
    assert served["unigram"]["text"] == tricky


def test_exports_hold_no_python_no_table_and_no_variable(exports):
    folder, _ = exports
    for name in ("bpe", "unigram", "characters"):
        saved = saved_model_pb2.SavedModel.FromString(
            (folder / name / "saved_model.pb").read_bytes()
        )
        graph = saved.meta_graphs[0].graph_def
        nodes = [*graph.node, *(n for f in graph.library.function for n in f.node_def)]
        ops = {node.op for node in nodes}
        assert {op for op in ops if any(word in op for word in STATEFUL)} == set(), name


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    texts=st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
        | st.text(st.sampled_from(" ▁\x10\x0001é\u0301ﬃｶﾞ中🙂"), max_size=12),
        max_size=4,
    )
)
def test_eager_graph_and_export_agree_on_any_text(exports, loaded, texts):
    _, modules = exports
    for name, module in modules.items():
        text = tf.constant(texts, tf.string)
        eager = as_lists(module.run.python_function(text))
        assert as_lists(module.run(text)) == eager
        assert as_lists(loaded[name](text=text)) == eager


@pytest.fixture(scope="module")
def loaded(exports):
    folder, modules = exports
    kept = {name: tf.saved_model.load(str(folder / name)) for name in modules}
    yield {name: module.signatures["serving_default"] for name, module in kept.items()}


def test_tokenizers_work_on_batches_in_tf_data(tokenizer, tricky):
    dataset = tf.data.Dataset.from_tensor_slices(tricky).batch(7).map(tokenizer.tokenize)
    ids = [row for batch in dataset for row in batch.to_list()]
    assert ids == tokenizer.tokenize(tricky).to_list()
    texts = dataset.map(tokenizer.detokenize).unbatch()
    assert [text.numpy().decode() for text in texts] == tricky


def test_shapes_are_known_in_the_graph(characters):
    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.string)])
    def tokenize(texts):
        ids = characters.tokenize(texts)
        assert ids.shape.as_list() == [None, 3, None]
        assert characters.detokenize(ids).shape.rank == 2
        return ids

    assert tokenize(tf.constant([["a", "b", "c"]])).shape.as_list() == [1, 3, None]

    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def scalar(text):
        ids = characters.tokenize(text)
        assert isinstance(ids, tf.Tensor) and ids.shape.as_list() == [None]
        return characters.detokenize(ids)

    assert scalar("a b").numpy() == b"a b"


def test_texts_of_unknown_rank_are_refused(characters):
    @tf.function(input_signature=[tf.TensorSpec(None, tf.string)])
    def tokenize(texts):
        return characters.tokenize(texts)

    with pytest.raises(ValueError, match="known rank"):
        tokenize(tf.constant("a"))
