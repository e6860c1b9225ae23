"""Hugging Face directories: what is written is read back, and what does not fit is named."""

import json
import os
import warnings

import ml_dtypes
import numpy as np
import pytest
from models import berts
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.numpy import load_file, save_file

from keras_transformer.checkpoints import load_huggingface, read_labels, save_huggingface
from keras_transformer.models import (
    Bert,
    BertClassifier,
    BertConfig,
    BertEmbedder,
    BertMaskedLM,
    BertPretraining,
    BertSpanQA,
    BertTagger,
    Transformer,
    TransformerConfig,
)

# Keras' own dealings with NumPy, once for each weight.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
QUERY = "encoder.layer.1.attention.self.query.weight"


def saved(kind, folder, **options):
    model = berts.built(kind)
    save_huggingface(model, folder, **options)
    return model


def change_tensors(folder, change):
    """Rewrites the tensors of a directory after ``change`` had its way with them."""
    tensors = load_file(folder / WEIGHTS)
    change(tensors)
    save_file(tensors, folder / WEIGHTS)


def change_config(folder, **fields):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def split(folder):
    """Makes two files and an index of the one file."""
    tensors = load_file(folder / WEIGHTS)
    names = sorted(tensors)
    files = {"part-1.safetensors": names[::2], "part-2.safetensors": names[1::2]}
    for file, held in files.items():
        save_file({name: tensors[name] for name in held}, folder / file)
    places = {name: file for file, held in files.items() for name in held}
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": places}))
    (folder / WEIGHTS).unlink()
    return places


def assert_same(found, expected, kind):
    inputs = berts.batch(kind)
    outputs = berts.outputs_of(expected, inputs)
    for name, values in berts.outputs_of(found, inputs).items():
        assert_allclose(values, outputs[name], atol=1e-6)


# There and back ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", berts.KINDS)
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


# What does not fit -------------------------------------------------------------------------------


def test_missing_tensors_are_named(tmp_path):
    saved("bert", tmp_path)
    change_tensors(tmp_path, lambda t: [t.pop(n) for n in list(t) if ".layer.1." in n])
    with pytest.raises(ValueError) as error:
        load_huggingface(tmp_path)
    assert "lacks 16 of the 37 tensors of a Bert" in str(error.value)
    assert "bert.encoder.layer.1.attention.output.LayerNorm.bias" in str(error.value)
    assert str(error.value).endswith("and 11 more.")


def test_surplus_tensors_are_named(tmp_path):
    saved("bert", tmp_path)
    change_tensors(tmp_path, lambda t: t.update({"encoder.layer.2.x": np.ones(2), "y": np.ones(2)}))
    message = "holds 2 tensors that a model of 2 layers does not have: bert.encoder.layer.2.x, y"
    with pytest.raises(ValueError, match=message):
        load_huggingface(tmp_path)


def test_a_tensor_of_another_shape_is_refused_with_both(tmp_path):
    saved("bert", tmp_path)
    change_tensors(tmp_path, lambda t: t.update({QUERY: np.ones((16, 8), "float32")}))
    with pytest.raises(ValueError, match=rf"{QUERY} has the shape \(16, 8\), .* needs \(16, 16\)"):
        load_huggingface(tmp_path)
    # A kernel that is not square must lie in the file as [outputs, inputs].
    saved("bert", tmp_path)
    inner = "encoder.layer.0.intermediate.dense.weight"
    change_tensors(tmp_path, lambda t: t.update({inner: np.ascontiguousarray(t[inner].T)}))
    with pytest.raises(ValueError, match=rf"{inner} has the shape \(16, 24\), .* \(24, 16\)"):
        load_huggingface(tmp_path)


def test_a_head_that_the_directory_claims_to_have_must_be_there(tmp_path):
    saved("classifier", tmp_path)
    change_tensors(tmp_path, lambda t: (t.pop("classifier.weight"), t.pop("classifier.bias")))
    for wanted in (None, BertClassifier):
        with pytest.raises(ValueError, match="lacks 2 of the 41 .* classifier.bias, classifier.w"):
            load_huggingface(tmp_path, wanted)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model_type": "roberta"}, "model_type must be 'bert', not 'roberta'"),
        ({"architectures": ["BertForMultipleChoice"]}, "not 'BertForMultipleChoice'; give model_c"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type must be 'absolute'"),
        ({"is_decoder": True}, "config.json: is_decoder must be False, not True"),
        ({"hidden_act": "quick_gelu"}, "hidden_act must be one of gelu,.* not 'quick_gelu'"),
        ({"num_attention_heads": 5}, "config.json: num_attention_heads=5 must divide hidden_size"),
        ({"hidden_size": "16"}, "config.json: hidden_size must be a number, not '16'"),
    ],
)
def test_a_config_that_is_not_ours_is_refused(tmp_path, fields, message):
    saved("bert", tmp_path)
    change_config(tmp_path, **fields)
    with pytest.raises(ValueError, match=message):
        load_huggingface(tmp_path)


def test_a_config_that_is_no_config_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"no Hugging Face directory: there is no config\.json"):
        load_huggingface(tmp_path)
    for text, message in (("{", "is not JSON"), ("[]", "no model_type"), ("{}", "no model_type")):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(ValueError, match=message):
            load_huggingface(tmp_path)


def test_fields_that_a_config_leaves_out_have_the_formats_defaults(tmp_path):
    saved("bert", tmp_path)
    fields = json.loads((tmp_path / "config.json").read_text())
    for name in ("layer_norm_eps", "hidden_act", "architectures", "pad_token_id"):
        del fields[name]
    fields["hidden_dropout_prob"] = 0.5
    (tmp_path / "config.json").write_text("\ufeff" + json.dumps(fields))
    config = load_huggingface(tmp_path).config
    assert (config.layer_norm_eps, config.hidden_act, config.pad_token_id) == (1e-12, "gelu", 0)
    assert config.hidden_dropout == 0.5


# Another model than was saved --------------------------------------------------------------------


def test_a_new_head_starts_at_random_and_is_named(tmp_path):
    model = saved("pretraining", tmp_path)
    with pytest.warns(UserWarning) as warned:
        loaded = load_huggingface(tmp_path, BertClassifier, num_labels=4)
    messages = [str(w.message) for w in warned if w.category is UserWarning]
    assert "holds no classifier.bias, classifier.weight: they start at random" in messages[0]
    assert "also holds cls.predictions.bias" in messages[1] and "left out" in messages[1]
    assert [w.filename for w in warned if w.category is UserWarning] == [__file__] * 2
    assert loaded.num_labels == 4
    assert_array_equal(loaded.pooler.dense.kernel, model.pooler.dense.kernel)
    for found, expected in zip(loaded.bert.weights, model.bert.weights, strict=True):
        assert_array_equal(found, expected)


def test_a_pooler_that_the_model_does_not_have_is_left_out_and_named(tmp_path):
    model = saved("classifier", tmp_path)
    message = "bert.pooler.dense.bias, .*classifier.bias.* a Bert does not have: left out"
    with pytest.warns(UserWarning, match=message):
        loaded = load_huggingface(tmp_path, Bert)
    assert_allclose(loaded(berts.batch()), model.bert(berts.batch()), atol=1e-6)


def test_half_a_head_is_refused(tmp_path):
    saved("classifier", tmp_path)
    change_tensors(tmp_path, lambda t: t.pop("classifier.bias"))
    with pytest.raises(ValueError, match="lacks 1 of the .* classifier.bias"):
        load_huggingface(tmp_path, BertTagger, num_labels=3)


def test_an_unknown_architecture_may_still_give_its_encoder(tmp_path):
    model = saved("masked_lm", tmp_path)
    change_config(tmp_path, architectures=["BertForMultipleChoice"])
    with pytest.warns(UserWarning) as warned:
        loaded = load_huggingface(tmp_path, BertSpanQA)
    assert any("no qa_outputs.bias, qa_outputs.weight: they" in str(w.message) for w in warned)
    assert_allclose(loaded.bert(berts.batch()), model.bert(berts.batch()), atol=1e-6)


def test_a_policy_can_be_chosen(tmp_path):
    saved("tagger", tmp_path)
    model = load_huggingface(tmp_path, dtype="mixed_bfloat16")
    assert model.compute_dtype == model.bert.compute_dtype == "bfloat16"
    assert model(berts.batch()).dtype == "float32"


# Labels and pooling ------------------------------------------------------------------------------


def test_names_of_labels(tmp_path):
    saved("tagger", tmp_path, labels=["O", "B-PER", "I-PER", "B-LOC", "I-ÖRT"])
    assert read_labels(tmp_path) == ["O", "B-PER", "I-PER", "B-LOC", "I-ÖRT"]
    assert load_huggingface(tmp_path).num_labels == 5
    saved("classifier", tmp_path)
    assert read_labels(tmp_path) == ["LABEL_0", "LABEL_1", "LABEL_2"]
    saved("span_qa", tmp_path)
    assert read_labels(tmp_path) is None
    change_config(tmp_path, id2label={"0": "a", "2": "b"})
    with pytest.raises(ValueError, match="id2label must name the labels 0, 1, 2"):
        read_labels(tmp_path)


def test_labels_must_fit_the_model(tmp_path):
    with pytest.raises(ValueError, match="2 labels, but the model has 3"):
        saved("classifier", tmp_path, labels=["a", "b"])
    with pytest.raises(ValueError, match="labels must differ"):
        saved("classifier", tmp_path, labels=["a", "b", "a"])
    with pytest.raises(ValueError, match="A BertSpanQA has no labels"):
        saved("span_qa", tmp_path, labels=["a"])
    assert list(tmp_path.iterdir()) == []


def test_another_number_of_labels_than_the_file_has_is_refused(tmp_path):
    saved("classifier", tmp_path)
    with pytest.raises(
        ValueError, match=r"classifier.weight has the shape \(3, 16\), .* \(7, 16\)"
    ):
        load_huggingface(tmp_path, num_labels=7)


@pytest.mark.parametrize("kind", ["embedder", "cls_embedder"])
def test_pooling_is_what_the_directory_says_or_what_the_caller_says(kind, tmp_path):
    model = saved(kind, tmp_path)
    loaded = load_huggingface(tmp_path, BertEmbedder)
    assert (loaded.pooling, loaded.normalize) == (model.pooling, model.normalize)
    loaded = load_huggingface(tmp_path, BertEmbedder, pooling="cls", normalize=False)
    assert (loaded.pooling, loaded.normalize) == ("cls", False)
    (tmp_path / "modules.json").unlink()
    loaded = load_huggingface(tmp_path, BertEmbedder)
    assert (loaded.pooling, loaded.normalize) == ("mean", False)


def test_a_pooling_that_we_do_not_have_is_refused(tmp_path):
    saved("embedder", tmp_path)
    pooling = tmp_path / "1_Pooling" / "config.json"
    for fields, named in (
        ({"pooling_mode_max_tokens": True}, "pooling_mode_max_tokens"),
        ({"pooling_mode_max_tokens": True, "pooling_mode_cls_token": True}, "tokens and pooling_m"),
        ({"pooling_mode": "lasttoken"}, "lasttoken"),
    ):
        pooling.write_text(json.dumps(fields))
        with pytest.raises(ValueError, match=f"the pooling must be one of .*, not .*{named}"):
            load_huggingface(tmp_path, BertEmbedder)
    pooling.write_text(json.dumps({"pooling_mode": "cls"}))
    assert load_huggingface(tmp_path, BertEmbedder).pooling == "cls"
    modules = json.loads((tmp_path / "modules.json").read_text())
    modules.append({"path": "2_Dense", "type": "sentence_transformers.models.Dense"})
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ValueError, match="lists Transformer, Pooling, Dense; only Transformer"):
        load_huggingface(tmp_path, BertEmbedder)


def test_options_that_a_model_does_not_have_are_refused(tmp_path):
    saved("bert", tmp_path)
    with pytest.raises(ValueError, match="num_labels=3 is no option of Bert"):
        load_huggingface(tmp_path, num_labels=3)
    with pytest.raises(ValueError, match="pooling='cls' is no option of BertMaskedLM"):
        load_huggingface(tmp_path, BertMaskedLM, pooling="cls")
    with pytest.raises(ValueError, match="model_class must be one of Bert, BertPretraining"):
        load_huggingface(tmp_path, Transformer)


def test_only_a_built_bert_can_be_written(tmp_path):
    with pytest.raises(ValueError, match="bert has no weights yet"):
        save_huggingface(Bert(berts.CONFIG), tmp_path)
    with pytest.raises(ValueError, match="model must be one of Bert, .* not a Transformer"):
        save_huggingface(Transformer(TransformerConfig.preset("tiny", vocab_size=9)), tmp_path)

    class Wider(BertPretraining):
        pass

    with pytest.raises(ValueError, match="not a Wider"):
        save_huggingface(Wider(Bert(berts.CONFIG)), tmp_path)
