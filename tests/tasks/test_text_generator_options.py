"""Options and models that a text generator refuses, in one sentence; what it keeps in its files."""

import dataclasses
import json
import math

import numpy as np
import pytest
import small_berts
import small_generators

from keras_transformer.models import Gpt, GptConfig
from keras_transformer.tasks import GenerationOptions, Task, TextGenerator
from keras_transformer.text import CharacterTokenizer, WordPieceTokenizer


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_new_tokens": 10_001}, "max_new_tokens must be at most 10000, not 10001"),
        ({"max_new_tokens": 3.5}, "max_new_tokens must be a whole number, not 3.5"),
        ({"min_new_tokens": -1}, "min_new_tokens must be from 0 to max_new_tokens=128, not -1"),
        ({"min_new_tokens": 9, "max_new_tokens": 8}, "from 0 to max_new_tokens=8, not 9"),
        ({"temperature": -1}, r"temperature must be from 0 to 1000000 \(0: greedy\), not -1"),
        ({"temperature": math.nan}, "temperature must be from 0 .*, not nan"),
        ({"temperature": "hot"}, "temperature must be a number, not 'hot'"),
        ({"top_k": -1}, "top_k must be from 0 to 2147483647 .* not -1"),
        ({"top_k": 2.0}, "top_k must be a whole number, not 2.0"),
        ({"top_p": 7}, r"top_p must be from 0 to 1 \(1: off\), not 7"),
        ({"top_p": math.nan}, "top_p must be from 0 to 1 .* not nan"),
        ({"min_p": 1.5}, r"min_p must be from 0 to 1 \(0: off\), not 1.5"),
        ({"repetition_penalty": 0}, r"repetition_penalty must be from 0.001 to 1000 .* not 0"),
        ({"beam_size": 0}, "beam_size must be at least 1, not 0"),
        ({"beam_size": 2, "temperature": 0.5}, "temperature=0.5 is not of beam search: leave it"),
        ({"beam_size": 2, "top_k": 3}, "top_k=3 is not of beam search"),
        ({"beam_size": 2, "repetition_penalty": 1.1}, "repetition_penalty=1.1 is not of beam sea"),
        ({"beam_size": 2, "length_penalty": -1.0}, "length_penalty must be from 0 to 1000, not -1"),
        ({"stop": "\n"}, r"stop must be a list of strings, such as \['\\n'\], not '\\n'"),
        ({"stop": [""]}, "must be a string, not empty; stop holds ''"),
        ({"stop": ["a", 3]}, "must be a string, not empty; stop holds 3"),
        ({"stop": ["a\ud800"]}, "a stop string holds half a character .a lone surrogate.*ud800"),
        ({"stop": ["ä" * 129]}, "may have 256 bytes of UTF-8 together, not 258"),
        ({"seed": -1}, "seed must be from 0 to 2147483647, not -1"),
        ({"tempreature": 1.0}, "tempreature is no option; options are max_new_tokens, "),
    ],
)
def test_options_out_of_range_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        GenerationOptions().changed(**options)


def test_a_list_of_stop_strings_is_kept_as_a_tuple():
    assert GenerationOptions(stop=["a", "b"]).stop == ("a", "b")


def test_numbers_of_numpy_are_kept_as_those_of_python():
    options = GenerationOptions(
        max_new_tokens=np.int64(9), temperature=np.float32(0.5), top_p=1, seed=np.uint8(3)
    )
    assert options == GenerationOptions(max_new_tokens=9, temperature=0.5, seed=3)
    assert json.loads(json.dumps(dataclasses.asdict(options)))["temperature"] == 0.5


def untraced(tokenizer, **config):
    """A generator of which nothing is asked."""
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    start_id = config.pop("start_id", "eos")
    ids = {"vocab_size": tokenizer.vocab_size, "pad_token_id": tokenizer.pad_id}
    ids |= {"bos_token_id": tokenizer.bos_id, "eos_token_id": tokenizer.eos_id}
    model = Gpt(GptConfig(**sizes | {"max_position_embeddings": 8} | ids | config))
    return TextGenerator(model, tokenizer, start_id=start_id)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"vocab_size": 100}, r"The tokenizer has \d+ ids, the model 100"),
        ({"eos_token_id": 4}, "EOS is 2 for the tokenizer, 4 for the model"),
        ({"pad_token_id": 2}, "pad_token_id, 2, is the id of the end marker or start_id"),
        ({"start_id": 0}, "pad_token_id, 0, is the id of the end marker or start_id"),
        ({"pad_token_id": 7}, "pad_token_id, 7, is no control id of the tokenizer but a token"),
        ({"start_id": -2}, r"start_id must be from 0 to \d+, or None, not -2"),
        ({"start_id": 1.5}, "start_id must be a whole number, not 1.5"),
    ],
)
def test_a_model_that_does_not_fit_the_tokenizer_is_refused(config, words):
    with pytest.raises(ValueError, match=words):
        untraced(small_generators.characters(), **config)


def test_gpt_2s_vocabulary_needs_a_model_without_padding():
    tokenizer = small_generators.byte_pairs()
    assert tokenizer.pad_id == tokenizer.unk_id == -1
    assert untraced(tokenizer).start_id == tokenizer.eos_id
    with pytest.raises(ValueError, match="pad_token_id, 5, is no control id"):
        untraced(tokenizer, pad_token_id=5)


def test_other_models_and_tokenizers_are_refused():
    with pytest.raises(ValueError, match="model must be a Gpt, not a str"):
        TextGenerator("gpt", small_generators.characters())
    tokenizer = WordPieceTokenizer.train(["a few words"] * 3, 40)
    with pytest.raises(ValueError, match="SentencePieceTokenizer or a .*, not with a WordPieceTok"):
        untraced(tokenizer)


def test_what_is_saved_comes_back(tmp_path):
    tokenizer = CharacterTokenizer("abcdef ")
    options = GenerationOptions(max_new_tokens=9, temperature=0.5, stop=("a\n", "b"), seed=4)
    for start_id in ("eos", None, 1):
        generator = untraced(tokenizer, start_id=start_id)
        generator.options = options
        generator.save(tmp_path)
        loaded = Task.load(tmp_path)
        assert type(loaded) is TextGenerator
        assert loaded.options == options
        assert loaded.start_id == generator.start_id == {"eos": 2}.get(start_id, start_id)
        assert loaded.model.config == generator.model.config
        for one, other in zip(loaded.model.weights, generator.model.weights, strict=True):
            assert (one.numpy() == other.numpy()).all()
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["task"] == "TextGenerator" and config["start_id"] == 1
    del config["options"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(
        ValueError, match="config.json does not describe a TextGenerator: 'options'"
    ):
        TextGenerator.load(tmp_path)


def test_a_generator_of_half_precision_is_loaded_as_one(tmp_path):
    with small_berts.eagerly():
        config = GptConfig.preset("nano", vocab_size=11, num_hidden_layers=1)
        TextGenerator(Gpt(config, dtype="mixed_bfloat16"), CharacterTokenizer("abcdef ")).save(
            tmp_path
        )
        loaded = TextGenerator.load(tmp_path)
    assert loaded.model.dtype_policy.name == "mixed_bfloat16"
