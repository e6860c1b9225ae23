"""Directories of decoder-only models: what is written is read back, what does not fit is named."""

import dataclasses
import warnings

import numpy as np
import pytest
from checkpoints.hf_folders import INDEX, WEIGHTS, change_config, change_tensors, split
from models import gpts
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.numpy import load_file

from keras_transformer.checkpoints import gpt2, llama, load_huggingface, save_huggingface
from keras_transformer.models import BertClassifier, Gpt, GptConfig
from keras_transformer.tasks import TextGenerator
from keras_transformer.text import CharacterTokenizer

# Keras' own dealings with NumPy, once for each weight.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

# Dropout that a config of theirs can say.
GPT2 = dataclasses.replace(gpts.CONFIGS["gpt2"], embedding_dropout=0.1)
LLAMA = dataclasses.replace(gpts.CONFIGS["llama"], hidden_dropout=0.0)
CONFIGS = {
    "gpt2": GPT2,
    "gpt2_untied": dataclasses.replace(GPT2, tie_word_embeddings=False, pad_token_id=-1),
    "gpt2_other": GptConfig(
        vocab_size=29,
        hidden_size=24,
        num_hidden_layers=1,
        num_attention_heads=3,
        hidden_act="silu",
        max_position_embeddings=9,
        layer_norm_eps=1e-3,
        embedding_dropout=0.4,
        hidden_dropout=0.3,
        attention_dropout=0.2,
        initializer_range=0.1,
        pad_token_id=5,
        bos_token_id=6,
        eos_token_id=7,
    ),
    "llama": LLAMA,
    "llama_tied": dataclasses.replace(LLAMA, tie_word_embeddings=True, use_bias=True),
    "llama_linear": dataclasses.replace(
        LLAMA, rope_scaling={"rope_type": "linear", "factor": 2.0}, attention_dropout=0.3
    ),
    "llama3": dataclasses.replace(LLAMA, rope_scaling=gpts.LLAMA3, pad_token_id=-1),
}


def saved(kind, folder):
    model = Gpt(CONFIGS[kind])
    model.build()
    gpts.gallery.randomise(model)
    save_huggingface(model, folder)
    return model


def assert_same(found, expected):
    ids = {"token_ids": np.arange(3, 12)[None]}
    assert_allclose(found(ids), expected(ids), atol=1e-6)


@pytest.mark.parametrize("kind", CONFIGS)
def test_what_is_written_is_read_back(kind, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DeprecationWarning)  # Keras' own dealings with NumPy
        model = saved(kind, tmp_path)
        loaded = load_huggingface(tmp_path)
    assert type(loaded) is Gpt and loaded.built
    assert loaded.config.inner_size == model.config.inner_size
    size = model.config.intermediate_size
    assert dataclasses.replace(loaded.config, intermediate_size=size) == model.config
    assert_same(loaded, model)


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_files_of_their_own_names_in_several_parts(kind, tmp_path):
    model = saved(kind, tmp_path)
    places = split(tmp_path)
    assert len(places) == {"gpt2": 28, "llama": 21}[kind]
    assert_same(load_huggingface(tmp_path, dtype="float32"), model)
    saved(kind, tmp_path)
    assert not (tmp_path / INDEX).exists()


def test_query_key_and_value_of_gpt2_lie_side_by_side_and_untransposed(tmp_path):
    model = saved("gpt2_untied", tmp_path)
    tensors = load_file(tmp_path / WEIGHTS)
    attention = model.decoder.layers[1].self_attention
    parts = [attention.query_dense, attention.key_dense, attention.value_dense]
    kernel = np.concatenate([part.kernel for part in parts], axis=1)
    assert_array_equal(tensors["transformer.h.1.attn.c_attn.weight"], kernel)
    bias = np.concatenate([part.bias for part in parts])
    assert_array_equal(tensors["transformer.h.1.attn.c_attn.bias"], bias)
    assert_array_equal(tensors["lm_head.weight"], np.transpose(model.output_dense.kernel))


def test_masks_and_copies_in_older_files_are_no_weights(tmp_path):
    model = saved("gpt2", tmp_path)

    def as_once(tensors):
        for name in list(tensors):  # the published files have no prefix
            tensors[name.removeprefix("transformer.")] = tensors.pop(name)
        tensors["h.0.attn.bias"] = tensors["h.1.attn.bias"] = np.ones((1, 1, 40, 40), "float32")
        tensors["h.1.attn.masked_bias"] = np.array(-1e4, "float32")
        tensors["lm_head.weight"] = tensors["wte.weight"].copy()

    change_tensors(tmp_path, as_once)
    assert_same(load_huggingface(tmp_path), model)
    change_tensors(tmp_path, lambda t: t.update({"lm_head.weight": t["lm_head.weight"] + 1}))
    with pytest.raises(ValueError, match="lm_head.weight differs from wte.weight; the two are one"):
        load_huggingface(tmp_path)
    model = saved("llama", tmp_path)
    inverse = {"model.layers.1.self_attn.rotary_emb.inv_freq": np.ones(2, "float32")}
    change_tensors(tmp_path, lambda t: t.update(inverse))
    assert_same(load_huggingface(tmp_path), model)


def test_tensors_that_do_not_fit_are_named(tmp_path):
    saved("gpt2", tmp_path)
    name = "transformer.h.1.attn.c_attn.weight"
    change_tensors(tmp_path, lambda t: t.update({name: np.ascontiguousarray(t[name].T)}))
    with pytest.raises(ValueError, match=rf"{name} has the shape \(48, 16\), .* needs \(16, 48\)"):
        load_huggingface(tmp_path)
    saved("llama", tmp_path)
    change_tensors(tmp_path, lambda t: t.pop("lm_head.weight"))
    with pytest.raises(ValueError, match="lacks 1 of the 21 tensors of a Gpt: lm_head.weight"):
        load_huggingface(tmp_path)
    saved("llama", tmp_path)
    bias = "model.layers.0.self_attn.q_proj.bias"
    change_tensors(tmp_path, lambda t: t.update({bias: np.ones(16, "float32")}))
    with pytest.raises(ValueError, match=f"holds 1 tensors that .* does not have: {bias}"):
        load_huggingface(tmp_path)


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "inverse_layer_idx must be False, not"),
        ("gpt2", {"scale_attn_weights": False}, "scale_attn_weights must be True, not False"),
        ("gpt2", {"add_cross_attention": True}, "add_cross_attention must be False, not True"),
        ("gpt2", {"activation_function": "swiglu"}, "activation_function must be one of gelu, .*"),
        ("gpt2", {"n_head": 5}, "num_attention_heads=5 must divide hidden_size=16"),
        ("gpt2", {"n_embd": "16"}, "n_embd must be a number, not '16'"),
        ("gpt2", {"bos_token_id": "1"}, "bos_token_id must be a whole number, not '1'"),
        ("gpt2", {"architectures": ["GPT2ForTokenClassification"]}, "must be one of GPT2LMHeadM.*"),
        ("llama", {"attention_bias": True}, "attention_bias=True and mlp_bias=False: our model "),
        ("llama", {"head_dim": 8}, "head_dim must be 4, not 8"),
        ("llama", {"rope_scaling": {"type": "yarn", "factor": 2.0}}, "one of def.*, not 'yarn'"),
        ("llama", {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, "not 'dynamic'"),
        ("llama", {"rope_parameters": {"partial_rotary_factor": 0.5}}, "factor must be 1, not 0.5"),
        ("llama", {"rope_scaling": 2.0}, "rope_scaling must be a dictionary, not 2.0"),
        ("llama", {"architectures": ["LlamaForSequenceClassification"]}, "not 'LlamaForSequence.*"),
    ],
)
def test_what_we_do_not_have_is_refused_in_one_sentence(tmp_path, kind, fields, message):
    saved(kind, tmp_path)
    change_config(tmp_path, **fields)
    with pytest.raises(ValueError, match=rf"config\.json: .*{message}"):
        load_huggingface(tmp_path)


def test_rotation_is_read_from_older_and_newer_fields(tmp_path):
    saved("llama", tmp_path)
    for fields in (
        {"rope_theta": 7.0, "rope_scaling": {"type": "linear", "factor": 2.0}},
        {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 7.0}},
    ):
        change_config(tmp_path, **{"rope_scaling": None} | fields)
        config = load_huggingface(tmp_path).config
        assert config.rope_theta == 7.0
        assert config.rope_scaling == {"rope_type": "linear", "factor": 2.0}
    change_config(tmp_path, rope_parameters={"rope_type": "default", "rope_theta": 9.0})
    config = load_huggingface(tmp_path).config
    assert (config.rope_theta, config.rope_scaling) == (9.0, None)


def test_of_several_ends_the_first_is_taken_with_a_warning(tmp_path):
    saved("llama", tmp_path)
    change_config(tmp_path, eos_token_id=[9, 4])
    with pytest.warns(UserWarning, match=r"eos_token_id is \[9, 4\]: only the first"):
        assert load_huggingface(tmp_path).config.eos_token_id == 9


MARKS_THAT_PAD = [
    {"pad_token_id": 2, "bos_token_id": 2, "eos_token_id": 2},
    {"pad_token_id": 2, "bos_token_id": 1, "eos_token_id": 2},
    {"pad_token_id": 1, "bos_token_id": 1, "eos_token_id": 2},
    {"pad_token_id": 5, "bos_token_id": 1, "eos_token_id": [2, 5]},
]


@pytest.mark.filterwarnings("ignore:eos_token_id is .*only the first:UserWarning")
@pytest.mark.parametrize("kind", ["gpt2", "llama"])
@pytest.mark.parametrize("marks", MARKS_THAT_PAD)
def test_what_begins_or_ends_texts_is_no_padding(kind, marks, tmp_path):
    saved(kind, tmp_path)
    change_config(tmp_path, **marks)
    loaded = load_huggingface(tmp_path)
    assert loaded.config.pad_token_id == -1
    tokenizer = CharacterTokenizer("abcdefghijklmnopqrs")
    generator = TextGenerator(loaded, tokenizer, start_id=marks["bos_token_id"])
    assert generator.model.config.vocab_size == tokenizer.vocab_size


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_other_ids_of_padding_and_defaults_of_marks_are_kept_apart(kind, tmp_path):
    saved(kind, tmp_path)
    change_config(tmp_path, pad_token_id=5)
    assert load_huggingface(tmp_path).config.pad_token_id == 5
    family = {"gpt2": gpt2, "llama": llama}[kind]
    default = family.read_config({}).eos_token_id
    assert family.read_config({"pad_token_id": default}).pad_token_id == -1


@pytest.mark.parity
@pytest.mark.filterwarnings("ignore:eos_token_id is .*only the first:UserWarning")
@pytest.mark.parametrize("kind", ["gpt2", "llama"])
@pytest.mark.parametrize("marks", MARKS_THAT_PAD)
def test_a_mark_that_pads_is_seen_as_transformers_sees_it(kind, marks, tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    saved(kind, tmp_path)
    change_config(tmp_path, **marks)
    theirs = transformers.AutoModelForCausalLM.from_pretrained(str(tmp_path)).eval()
    pad = marks["pad_token_id"]
    assert theirs.config.pad_token_id == pad
    ids = np.array([[pad, 7, 8, pad, 9, 10, pad], [7, pad, pad, 8, 2, 1, 9]])
    with torch.no_grad():
        expected = theirs(input_ids=torch.from_numpy(ids)).logits.numpy()
    found = load_huggingface(tmp_path)({"token_ids": ids.astype("int32")})
    assert_allclose(found, expected, atol=1e-4)


def test_options_of_other_models_are_refused(tmp_path):
    model = saved("gpt2", tmp_path)
    with pytest.raises(ValueError, match="num_labels=2 is no option of Gpt"):
        load_huggingface(tmp_path, num_labels=2)
    with pytest.raises(ValueError, match="model_class must be Gpt, not BertClassifier"):
        load_huggingface(tmp_path, BertClassifier)
    with pytest.raises(ValueError, match="A Gpt has no labels"):
        save_huggingface(model, tmp_path, labels=["a", "b"])
    assert type(load_huggingface(tmp_path, Gpt)) is Gpt


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"positions": "sinusoidal"}, "A model with sinusoidal positions has no place among"),
        ({"norm": "rms_norm"}, "A GPT-2 has norm='layer_norm', not 'rms_norm': the model cannot"),
        ({"num_key_value_heads": 2}, "A GPT-2 has num_key_value_heads=None, not 2"),
        ({"positions": "rotary"}, "A Llama has gated=True, not False"),
    ],
)
def test_a_model_of_another_shape_cannot_be_written(options, message, tmp_path):
    model = Gpt(GptConfig(**gpts.SIZES | options))
    model.build()
    with pytest.raises(ValueError, match=message):
        save_huggingface(model, tmp_path)
    assert not list(tmp_path.iterdir())


def test_dropout_that_a_llama_cannot_say_is_left_out_with_a_warning(tmp_path):
    model = gpts.built("llama")
    with pytest.warns(UserWarning, match="A Llama's config has no hidden_dropout: 0.1 is left out"):
        save_huggingface(model, tmp_path)
    assert load_huggingface(tmp_path).config.hidden_dropout == 0.0
