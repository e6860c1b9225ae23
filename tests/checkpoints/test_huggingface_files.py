"""Hugging Face directories as others write them: precisions, several files, older names."""

import json

import ml_dtypes
import numpy as np
import pytest
from checkpoints.hf_folders import INDEX, QUERY, WEIGHTS, assert_same, change_tensors, saved, split
from numpy.testing import assert_array_equal
from safetensors.numpy import load_file

from keras_transformer.checkpoints import load_huggingface

# Keras' own dealings with NumPy, once for each weight.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


# Kinds of files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_files_of_other_precisions(tmp_path, dtype):
    saved("bert", tmp_path)
    expected = load_file(tmp_path / WEIGHTS)["embeddings.LayerNorm.bias"].astype(dtype)
    change_tensors(tmp_path, lambda t: t.update({n: v.astype(dtype) for n, v in t.items()}))
    model = load_huggingface(tmp_path)
    assert {w.dtype for w in model.weights} == {"float32"}
    assert_array_equal(model.embedding_norm.beta.numpy(), expected.astype("float32"))


def test_weights_in_several_files(tmp_path):
    model = saved("pretraining", tmp_path)
    split(tmp_path)
    assert_same(load_huggingface(tmp_path), model, "pretraining")


def test_an_index_that_does_not_fit_its_files_is_refused(tmp_path):
    saved("bert", tmp_path)
    places = split(tmp_path)

    def index(weight_map):
        (tmp_path / INDEX).write_text(json.dumps({"weight_map": weight_map}))

    index(places | {"embeddings.more": "part-1.safetensors"})
    with pytest.raises(ValueError, match="part-1.safetensors lacks embeddings.more, though model"):
        load_huggingface(tmp_path)
    index(places | {"embeddings.more": "part-3.safetensors"})
    with pytest.raises(ValueError, match="part-3.safetensors is missing, though model.safetensors"):
        load_huggingface(tmp_path)
    index(places | {"embeddings.more": "../part-3.safetensors"})
    with pytest.raises(ValueError, match="names a file outside of its folder: '../part-3"):
        load_huggingface(tmp_path)
    for damaged in ("{", "[]", '{"weight_map": [1]}', '{"weight_map": {"a": 1}}'):
        (tmp_path / INDEX).write_text(damaged)
        with pytest.raises(ValueError, match="index.json is not an index of safetensors"):
            load_huggingface(tmp_path)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "pytorch_model.bin.index.json"])
def test_pickled_weights_are_refused(tmp_path, name):
    saved("bert", tmp_path)
    (tmp_path / WEIGHTS).rename(tmp_path / name)
    with pytest.raises(ValueError, match=f"{name} holds pickled weights, which can run any code"):
        load_huggingface(tmp_path)


def test_a_damaged_file_is_refused(tmp_path):
    saved("bert", tmp_path)
    (tmp_path / WEIGHTS).write_bytes((tmp_path / WEIGHTS).read_bytes()[:1000])
    with pytest.raises(ValueError, match=r"model\.safetensors is damaged"):
        load_huggingface(tmp_path)


def test_tensors_of_whole_numbers_are_refused(tmp_path):
    saved("bert", tmp_path)
    change_tensors(tmp_path, lambda t: t.update({QUERY: t[QUERY].astype("int8")}))
    with pytest.raises(ValueError, match=f"{QUERY} is of type I8; weights must be one of F16"):
        load_huggingface(tmp_path)


# Older and other spellings -----------------------------------------------------------------------


def test_older_names_of_norms_and_a_list_of_positions(tmp_path):
    model = saved("pretraining", tmp_path)

    def make_old(tensors):
        for name in list(tensors):
            old = name.replace("LayerNorm.weight", "LayerNorm.gamma")
            tensors[old.replace("LayerNorm.bias", "LayerNorm.beta")] = tensors.pop(name)
        tensors["bert.embeddings.position_ids"] = np.arange(40)[None]

    change_tensors(tmp_path, make_old)
    assert "cls.predictions.transform.LayerNorm.gamma" in load_file(tmp_path / WEIGHTS)
    assert_same(load_huggingface(tmp_path), model, "pretraining")


def test_copies_of_tied_weights_must_be_copies(tmp_path):
    model = saved("masked_lm", tmp_path)
    table, bias = "bert.embeddings.word_embeddings.weight", "cls.predictions.bias"
    copied = "cls.predictions.decoder.weight", "cls.predictions.decoder.bias"

    def add_copies(tensors):
        tensors |= {copied[0]: tensors[table].copy(), copied[1]: tensors[bias].copy()}

    change_tensors(tmp_path, add_copies)
    assert_same(load_huggingface(tmp_path), model, "masked_lm")
    change_tensors(tmp_path, lambda t: t.pop(bias))
    assert_same(load_huggingface(tmp_path), model, "masked_lm")
    change_tensors(tmp_path, lambda t: t.update({copied[0]: t[table] + 1}))
    with pytest.raises(ValueError, match=f"{copied[0]} differs from {table}"):
        load_huggingface(tmp_path)


def test_a_tensor_under_two_names_is_refused(tmp_path):
    saved("bert", tmp_path)
    change_tensors(tmp_path, lambda t: t.update({f"bert.{QUERY}": t[QUERY].copy()}))
    with pytest.raises(ValueError, match=f"one tensor twice: bert.{QUERY} and {QUERY}"):
        load_huggingface(tmp_path)
