"""Gpt gives what Hugging Face's GPT-2 and Llama give, from their directories and back into them."""

import json
import warnings

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose, assert_array_equal

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from keras_transformer.checkpoints import load_huggingface, save_huggingface  # noqa: E402
from keras_transformer.generation import greedy_search  # noqa: E402
from keras_transformer.models import Gpt  # noqa: E402

# The filter is for Keras' own dealings with NumPy, once for each weight.
pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

TOLERANCE = 1e-4
NEW = 20
IDS = {"bos_token_id": 1, "eos_token_id": 2}
GPT2 = IDS | {"vocab_size": 31, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 60}
LLAMA = IDS | {
    "vocab_size": 31,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 60,
}
LINEAR = {"rope_type": "linear", "factor": 3.0, "rope_theta": 10000.0}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 20,
}
KINDS = {
    "gpt2": ("GPT2", GPT2),
    "gpt2_untied": ("GPT2", GPT2 | {"tie_word_embeddings": False, "n_inner": 24}),
    "gpt2_relu": ("GPT2", GPT2 | {"activation_function": "relu", "layer_norm_epsilon": 1e-2}),
    "llama": ("Llama", LLAMA),
    "llama_tied": ("Llama", LLAMA | {"tie_word_embeddings": True, "num_key_value_heads": 1}),
    "llama_biased": ("Llama", LLAMA | {"attention_bias": True, "mlp_bias": True}),
    "llama_linear": ("Llama", LLAMA | {"rope_parameters": LINEAR}),
    "llama3": ("Llama", LLAMA | {"rope_parameters": LLAMA3}),
}
HEADS = {"GPT2": "GPT2LMHeadModel", "Llama": "LlamaForCausalLM"}


def theirs(kind):
    """A model of theirs with weights that matter."""
    family, fields = KINDS[kind]
    config = getattr(transformers, f"{family}Config")(**fields)
    torch.manual_seed(0)
    model = getattr(transformers, HEADS[family])(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            is_gain = "ln_" in name or "norm" in name
            torch.nn.init.normal_(weight, float(is_gain and name.endswith("weight")), 0.25)
    return model


def batch():
    """Prompts of 5 and of 8 tokens, the first padded on the left; and which tokens are real."""
    ids = np.random.default_rng(0).integers(3, 31, size=(2, 8)).astype("int32")
    ids[0, :3] = 0
    return ids, (ids != 0).astype("int64")


def compare(ours, model):
    """Compares the logits of two whole texts."""
    ids = np.random.default_rng(1).integers(0, 31, size=(2, 50))
    with torch.no_grad():
        expected = model(input_ids=torch.from_numpy(ids)).logits.numpy()
    assert_allclose(ours({"token_ids": ids.astype("int32")}), expected, atol=TOLERANCE)


@pytest.mark.parametrize("kind", KINDS)
def test_a_directory_of_theirs(kind, tmp_path):
    model = theirs(kind)
    model.save_pretrained(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        ours = load_huggingface(tmp_path)
    assert type(ours) is Gpt and ours.config.pad_token_id == -1
    compare(ours, model)


@pytest.mark.parametrize("kind", ["gpt2", "llama", "llama3"])
def test_greedy_continuations_of_prompts_of_unequal_length_are_theirs(kind, tmp_path):
    model = theirs(kind)
    model.config.pad_token_id = model.generation_config.pad_token_id = 0
    model.save_pretrained(tmp_path)
    ours = load_huggingface(tmp_path)
    assert ours.config.pad_token_id == 0
    ids, mask = batch()
    model.generation_config.eos_token_id = None  # of the same length, whatever comes
    expected = model.generate(
        torch.from_numpy(ids).long(),
        attention_mask=torch.from_numpy(mask),
        max_new_tokens=NEW,
        do_sample=False,
        suppress_tokens=[0, 2],
    )[:, ids.shape[1] :]

    @tf.function
    def search(ids):
        return greedy_search(
            ours,
            ours.start(ids, max_length=NEW + 1),
            batch_size=2,
            bos_id=ours.last_ids(ids),
            eos_id=2,
            pad_id=0,
            max_length=NEW + 1,
            min_lengths=tf.constant([NEW, NEW]),
        )

    assert_array_equal(search(tf.constant(ids)).ids[:, 0, :NEW], expected)


@pytest.mark.parametrize("kind", KINDS)
def test_a_directory_goes_through_us_unchanged(kind, tmp_path):
    model = theirs(kind)
    model.save_pretrained(tmp_path / "theirs")
    ours = load_huggingface(tmp_path / "theirs")
    save_huggingface(ours, tmp_path / "ours")
    auto = transformers.AutoModelForCausalLM
    again, report = auto.from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert type(again) is type(model)
    for what, names in report.items():
        assert not names, (what, names)
    for (name, weight), (other, expected) in zip(
        again.state_dict().items(), model.state_dict().items(), strict=True
    ):
        assert name == other and torch.equal(weight, expected), name
    after, before = again.config.to_dict(), model.config.to_dict()
    written = json.loads((tmp_path / "ours" / "config.json").read_text())
    same = set(written) & set(before) - {"architectures", "rope_scaling", "rope_theta"}
    assert {"vocab_size", "tie_word_embeddings", "eos_token_id"} < same
    for name in same | ({"rope_parameters"} & set(before)):
        assert after[name] == before[name], name
    compare(ours, again.eval())


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_several_files_and_half_precision(kind, tmp_path):
    theirs(kind).to(torch.bfloat16).save_pretrained(tmp_path, max_shard_size="3KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 2
    auto = transformers.AutoModelForCausalLM
    compare(load_huggingface(tmp_path), auto.from_pretrained(tmp_path, dtype=torch.float32))


@pytest.mark.parametrize("kind", ["gpt2", "llama_tied"])
def test_a_directory_of_the_model_without_its_head(kind, tmp_path):
    """As the published GPT-2 is: its tensors go without the prefix."""
    model = theirs(kind)
    model.base_model.save_pretrained(tmp_path)
    compare(load_huggingface(tmp_path), model)
