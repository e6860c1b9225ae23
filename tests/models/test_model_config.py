"""What every configuration refuses, and how it becomes plain values and comes back."""

import pytest

from keras_transformer.models import BertConfig, TransformerConfig

CONFIGS = pytest.mark.parametrize("config_class", [BertConfig, TransformerConfig])


@CONFIGS
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"hidden_size": "64"}, "hidden_size must be a whole number, not '64'"),
        ({"hidden_size": 64.0}, "hidden_size must be a whole number, not 64.0"),
        ({"vocab_size": True}, "vocab_size must be a whole number, not True"),
        ({"vocab_size": None}, "vocab_size must be a whole number, not None"),
        ({"hidden_dropout": "0.1"}, "hidden_dropout must be a number, not '0.1'"),
        ({"attention_dropout": False}, "attention_dropout must be a number, not False"),
        ({"hidden_act": 3}, "hidden_act must be a string, not 3"),
        ({"pad_token_id": -1}, "pad_token_id=-1 lies outside of the vocabulary of 50"),
        ({"hidden_dropout": float("nan")}, r"hidden_dropout must be in \[0, 1\), not nan"),
    ],
)
def test_a_value_of_another_type_is_refused(config_class, values, message):
    with pytest.raises(ValueError, match=message):
        config_class(**{"vocab_size": 50} | values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"norm_first": 1}, "norm_first must be True or False, not 1"),
        ({"final_norm": "yes"}, "final_norm must be True or False or None, not 'yes'"),
        ({"num_key_value_heads": 0}, "num_key_value_heads must be at least 1, not 0"),
        ({"num_key_value_heads": 3}, "num_key_value_heads=3 must divide num_attention_heads=8"),
        ({"target_vocab_size": "9"}, "target_vocab_size must be a whole number or None, not '9'"),
        ({"positions": None}, "positions must be one of sinusoidal, .*alibi, not None"),
    ],
)
def test_choices_are_held_to_theirs(values, message):
    with pytest.raises(ValueError, match=message):
        TransformerConfig(**{"vocab_size": 50} | values)


@CONFIGS
def test_what_became_plain_values_comes_back(config_class):
    config = config_class.preset("tiny", vocab_size=50, hidden_dropout=0.2)
    assert config_class.from_dict(config.to_dict()) == config
    assert config_class.from_dict({"vocab_size": 50}) == config_class(vocab_size=50)


@CONFIGS
def test_fields_that_are_unknown_or_missing_are_named(config_class):
    name = config_class.__name__
    message = f"hidden is no field of a {name}; it has vocab_size, .*hidden_size"
    with pytest.raises(ValueError, match=message):
        config_class.from_dict({"vocab_size": 50, "hidden": 8})
    with pytest.raises(ValueError, match=f"a {name} needs vocab_size, which is missing"):
        config_class.from_dict({"hidden_size": 8})
