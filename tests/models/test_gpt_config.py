"""What the configuration of a decoder-only model refuses, and its presets."""

import pytest
from models import gpts

from keras_transformer.models import GptConfig

LINEAR = {"rope_type": "linear", "factor": 2.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocab_size": 0}, "vocab_size must be at least 1, not 0"),
        ({"vocab_size": "50"}, "vocab_size must be a whole number, not '50'"),
        ({"intermediate_size": 0}, "intermediate_size must be at least 1, not 0"),
        ({"hidden_size": 100}, "num_attention_heads=12 must divide hidden_size=100"),
        ({"num_key_value_heads": 5}, "num_key_value_heads=5 must divide num_attention_heads=12"),
        ({"hidden_dropout": 1.0}, r"hidden_dropout must be in \[0, 1\), not 1.0"),
        ({"embedding_dropout": -0.1}, r"embedding_dropout must be in \[0, 1\), not -0.1"),
        ({"layer_norm_eps": 0.0}, "layer_norm_eps must be positive"),
        ({"rope_theta": 0.0}, "rope_theta must be positive, not 0"),
        ({"hidden_act": "gelo"}, "hidden_act must be one of .*gelu.*, not 'gelo'"),
        ({"positions": "alibi"}, "positions must be one of learned, rotary, sinus.*, not 'alibi'"),
        ({"pad_token_id": 50}, "pad_token_id=50 lies outside of the vocabulary of 50"),
        ({"pad_token_id": -2}, "pad_token_id=-2 lies outside of the vocabulary of 50"),
        ({"eos_token_id": -1}, "eos_token_id=-1 lies outside of the vocabulary of 50"),
        ({"rope_scaling": "linear"}, "rope_scaling must be a dictionary or None, not 'linear'"),
        ({"rope_scaling": LINEAR}, "rope_scaling is for positions='rotary', not for 'learned' on"),
    ],
)
def test_what_cannot_work_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        GptConfig(**{"vocab_size": 50} | options)


@pytest.mark.parametrize(
    ("scaling", "message"),
    [
        ({"rope_type": "yarn", "factor": 2.0}, "rope_type must be one of default, .*, not 'yarn'"),
        ({"factor": 2.0}, "rope_type must be one of default, linear, llama3, not None"),
        ({"rope_type": "linear"}, "'linear' needs factor, a positive number, not None"),
        ({"rope_type": "linear", "factor": -1}, "'linear' needs factor, a positive .*, not -1"),
        (LINEAR | {"beta": 1.0}, "'linear' has no beta; it has rope_type, factor"),
        (gpts.LLAMA3 | {"low_freq_factor": "1"}, "'llama3' needs low_freq_factor, .* not '1'"),
        (gpts.LLAMA3 | {"low_freq_factor": 4.0}, "low_freq_factor=4.0 must be below high.*=4.0"),
    ],
)
def test_a_rule_of_scaling_that_cannot_work_is_refused(scaling, message):
    with pytest.raises(ValueError, match=message):
        GptConfig(vocab_size=50, positions="rotary", rope_scaling=scaling)


def test_rotary_positions_need_heads_of_even_width():
    with pytest.raises(ValueError, match=r"hidden_size / num_attention_heads must be even, not 3"):
        GptConfig(vocab_size=50, positions="rotary", hidden_size=36)


def test_presets_are_the_published_sizes():
    def sizes(name):
        config = GptConfig.preset(name, vocab_size=50)
        return (
            config.num_hidden_layers,
            config.num_attention_heads,
            config.hidden_size,
            config.inner_size,
            config.max_position_embeddings,
        )

    assert {name: sizes(name) for name in GptConfig.presets} == {
        "nano": (4, 4, 128, 512, 64),
        "mini": (6, 6, 384, 1536, 256),
        "gpt2": (12, 12, 768, 3072, 1024),
        "gpt2-medium": (24, 16, 1024, 4096, 1024),
        "llama-small": (8, 8, 512, 1376, 1024),
    }
    assert GptConfig.preset("gpt2", vocab_size=50) == GptConfig(vocab_size=50)
    llama = GptConfig.preset("llama-small", vocab_size=50)
    assert (llama.norm, llama.hidden_act, llama.gated) == ("rms_norm", "silu", True)
    assert (llama.positions, llama.use_bias, llama.num_key_value_heads) == ("rotary", False, 4)
    with pytest.raises(ValueError, match="preset must be one of nano, .*llama-small, not 'x'"):
        GptConfig.preset("x", vocab_size=50)


@pytest.mark.parametrize("kind", gpts.CONFIGS)
def test_a_config_survives_as_plain_values(kind):
    config = gpts.CONFIGS[kind]
    assert GptConfig.from_dict(config.to_dict()) == config
    with pytest.raises(ValueError, match="hidden is no field of a GptConfig; it has vocab_size, "):
        GptConfig.from_dict(config.to_dict() | {"hidden": 8})
