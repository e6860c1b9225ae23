"""Another model than a Hugging Face directory holds, its labels and its pooling."""

import json

import pytest
from checkpoints.hf_folders import change_config, change_tensors, saved
from models import berts
from numpy.testing import assert_allclose, assert_array_equal

from keras_transformer.checkpoints import load_huggingface, read_labels, save_huggingface
from keras_transformer.models import (
    Bert,
    BertClassifier,
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
