"""What a BERT's configuration refuses, and its presets."""

import pytest

from keras_transformer.models import BertConfig


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocab_size": 0}, "vocab_size must be at least 1, not 0"),
        ({"num_hidden_layers": 0}, "num_hidden_layers must be at least 1"),
        ({"type_vocab_size": 0}, "type_vocab_size must be at least 1"),
        ({"hidden_size": 100}, "num_attention_heads=12 must divide hidden_size=100"),
        ({"hidden_dropout": 1.0}, r"hidden_dropout must be in \[0, 1\), not 1.0"),
        ({"attention_dropout": -0.1}, r"attention_dropout must be in \[0, 1\)"),
        ({"classifier_dropout": 2}, r"classifier_dropout must be in \[0, 1\), not 2"),
        ({"layer_norm_eps": 0.0}, "layer_norm_eps must be positive"),
        ({"initializer_range": -1}, "initializer_range must be positive, not -1"),
        ({"hidden_act": "gelo"}, "hidden_act must be one of .*gelu.*, not 'gelo'"),
        ({"pad_token_id": 50}, "pad_token_id=50 lies outside of the vocabulary of 50"),
    ],
)
def test_what_cannot_work_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        BertConfig(**{"vocab_size": 50} | options)


def test_presets_are_the_published_sizes():
    def sizes(name):
        config = BertConfig.preset(name, vocab_size=50)
        return (
            config.num_hidden_layers,
            config.hidden_size,
            config.num_attention_heads,
            config.intermediate_size,
        )

    assert {name: sizes(name) for name in ("tiny", "mini", "small", "base")} == {
        "tiny": (2, 128, 2, 512),
        "mini": (4, 256, 4, 1024),
        "small": (4, 512, 8, 2048),
        "base": (12, 768, 12, 3072),
    }
    assert BertConfig.preset("base", vocab_size=50) == BertConfig(vocab_size=50)
    assert BertConfig.preset("tiny", vocab_size=50, hidden_size=64).hidden_size == 64
    with pytest.raises(ValueError, match="preset must be one of tiny, mini, small, base, not 'x'"):
        BertConfig.preset("x", vocab_size=50)


def test_a_config_survives_as_plain_values():
    config = BertConfig.preset("mini", vocab_size=50, classifier_dropout=0.3, pad_token_id=7)
    assert BertConfig(**config.to_dict()) == config


def test_a_head_has_the_dropout_of_the_encoder_unless_it_has_its_own():
    assert BertConfig(vocab_size=50, hidden_dropout=0.2).head_dropout == 0.2
    assert BertConfig(vocab_size=50, hidden_dropout=0.2, classifier_dropout=0.0).head_dropout == 0.0
