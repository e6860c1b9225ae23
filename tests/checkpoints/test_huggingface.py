"""Hugging Face directories: what is written is read back, and a write is whole."""

import os
import warnings

import numpy as np
import pytest
from checkpoints.hf_folders import INDEX, WEIGHTS, assert_same, saved, split
from models import berts
from numpy.testing import assert_array_equal
from safetensors.numpy import load_file

from keras_transformer.checkpoints import load_huggingface, save_huggingface
from keras_transformer.models import BertConfig, BertEmbedder

# Keras' own dealings with NumPy, once for each weight.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


WRITABLE = [kind for kind in berts.KINDS if kind != "mean_classifier"]


@pytest.mark.parametrize("kind", WRITABLE)
def test_what_is_written_is_read_back(kind, tmp_path):
    model = saved(kind, tmp_path / "new" / "folder")
    wanted = BertEmbedder if isinstance(model, BertEmbedder) else None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DeprecationWarning)  # Keras' own dealings with NumPy
        loaded = load_huggingface(tmp_path / "new" / "folder", wanted)
    assert type(loaded) is type(model) and loaded.config == model.config
    assert_same(loaded, model, kind)
    expected, found = model.get_config(), loaded.get_config()
    for name in ("num_labels", "pooling", "normalize"):
        assert found.get(name) == expected.get(name)


def test_a_classifier_that_theirs_cannot_be_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="classifies by the first token: .* pooling='mean' cannot"):
        save_huggingface(berts.built("mean_classifier"), tmp_path)
    assert not list(tmp_path.iterdir())


def test_every_field_of_the_config_is_written_and_read(tmp_path):
    config = BertConfig(
        vocab_size=23,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=12,
        hidden_act="gelu_tanh",
        max_position_embeddings=9,
        type_vocab_size=4,
        layer_norm_eps=1e-5,
        hidden_dropout=0.2,
        attention_dropout=0.3,
        classifier_dropout=0.4,
        initializer_range=0.1,
        pad_token_id=5,
    )
    default = BertConfig(vocab_size=1)
    assert all(getattr(config, name) != value for name, value in default.to_dict().items())
    save_huggingface(berts.built("bert", config), tmp_path)
    assert load_huggingface(tmp_path).config == config


def test_kernels_are_transposed_and_the_files_are_plain_float32(tmp_path):
    model = berts.built("classifier", dtype="bfloat16")
    save_huggingface(model, tmp_path)
    tensors = load_file(tmp_path / WEIGHTS)
    assert {t.dtype for t in tensors.values()} == {np.dtype("float32")}
    kernel = model.bert.encoder.layers[1].feed_forward.input_dense.kernel.numpy()
    name = "bert.encoder.layer.1.intermediate.dense.weight"
    assert_array_equal(tensors[name], kernel.astype("float32").T)


def test_files_are_whole_readable_by_all_and_nothing_is_left_beside_them(tmp_path):
    old_mask = os.umask(0o022)
    try:
        saved("embedder", tmp_path)
    finally:
        os.umask(old_mask)
    files = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file())
    assert files == [
        "1_Pooling/config.json",
        "config.json",
        "model.safetensors",
        "modules.json",
        "sentence_bert_config.json",
    ]
    assert {(tmp_path / f).stat().st_mode & 0o777 for f in files} == {0o644}


def test_a_write_that_fails_leaves_no_weights_that_look_whole(tmp_path, monkeypatch):
    saved("bert", tmp_path)
    replace = os.replace

    def fail_on_weights(source, target):
        if str(target).endswith(WEIGHTS):
            raise OSError("no space left")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail_on_weights)
    with pytest.raises(OSError, match="no space left"):
        saved("bert", tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["config.json"]
    with pytest.raises(ValueError, match=r"holds no weights: there is no model\.safetensors in it"):
        load_huggingface(tmp_path)


def test_writing_replaces_weights_in_several_files(tmp_path):
    saved("bert", tmp_path)
    split(tmp_path)
    model = saved("tagger", tmp_path)
    assert not (tmp_path / INDEX).exists()
    assert_same(load_huggingface(tmp_path), model, "tagger")
