"""Hugging Face directories that do not fit: what is wrong is named."""

import json

import numpy as np
import pytest
from checkpoints.hf_folders import QUERY, change_config, change_tensors, saved

from keras_transformer.checkpoints import load_huggingface
from keras_transformer.models import BertClassifier

# Keras' own dealings with NumPy, once for each weight.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


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


@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_a_weight_that_is_no_number_is_refused_with_its_tensor(tmp_path, value):
    saved("bert", tmp_path)
    change_tensors(tmp_path, lambda t: t[QUERY].__setitem__((3, 5), value))
    message = rf"{QUERY} holds NaN or infinity in 1 of 256 places; weights must be finite"
    with pytest.raises(ValueError, match=message):
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
        ({"model_type": "roberta"}, "model_type must be one of bert, gpt2, llama, not 'roberta'"),
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
