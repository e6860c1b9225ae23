"""Where `gpt_train.py` and the generators begin: runs that go on, directories of Hugging Face."""

import dataclasses
import io
import json
from types import SimpleNamespace

import gpt_start
import numpy as np
import pytest
import sentencepiece
from apps.gpt_words import SHAPE, sentences
from numpy.testing import assert_allclose

from keras_transformer.checkpoints import save_byte_level_bpe, save_huggingface, save_sentencepiece
from keras_transformer.models import Gpt, GptConfig
from keras_transformer.tasks import TextGenerator
from keras_transformer.text import (
    ByteLevelBPETokenizer,
    CharacterTokenizer,
    SentencePieceTokenizer,
)

# Keras' own dealings with NumPy, once for each weight.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

LLAMA = {
    "positions": "rotary",
    "norm": "rms_norm",
    "hidden_act": "silu",
    "gated": True,
    "use_bias": False,
    "tie_word_embeddings": False,
    "hidden_dropout": 0.0,
}


def built(tokenizer, dtype=None, **fields):
    """A small model of a tokenizer's ids."""
    ids = {f"{name}_token_id": getattr(tokenizer, f"{name}_id") for name in ("pad", "bos", "eos")}
    sizes = {"vocab_size": tokenizer.vocab_size, "max_position_embeddings": 16}
    model = Gpt(GptConfig(**SHAPE | sizes | ids | fields), dtype=dtype)
    model.build()
    return model


def byte_pairs(**roles):
    return ByteLevelBPETokenizer.train([sentences(20)], 290, **{"pad_token": None} | roles)


def llamas_pieces(byte_fallback=True):
    """A vocabulary with Llama's ids: <unk>, <s> and </s>, and no padding."""
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences(20).splitlines()),
        model_writer=written,
        vocab_size=320 if byte_fallback else 40,
        model_type="bpe",
        byte_fallback=byte_fallback,
        unk_id=0,
        bos_id=1,
        eos_id=2,
        pad_id=-1,
        normalization_rule_name="identity",
        minloglevel=2,
    )
    return written.getvalue()


# Runs that go on.


@pytest.fixture
def half_precision_run(tmp_path):
    """A run that began with a generator in half precision, and has a checkpoint."""
    tokenizer = CharacterTokenizer("abcdef ")
    TextGenerator(built(tokenizer, "mixed_bfloat16"), tokenizer).save(tmp_path / "init")
    run = tmp_path / "run"
    (run / "checkpoints").mkdir(parents=True)
    options = SimpleNamespace(
        output=str(run),
        resume=False,
        init=str(tmp_path / "init"),
        block_size=None,
        precision=None,
    )
    began = gpt_start.start(options, lambda: [])
    assert began.model.dtype_policy.name == "mixed_bfloat16"
    (run / "checkpoints" / "epoch-0001-batch-00000000.npz").touch()
    options.resume = True
    return options, run / "start.json"


def test_a_resumed_run_computes_in_the_precision_it_began_with(half_precision_run):
    options, _ = half_precision_run
    resumed = gpt_start.start(options, lambda: [])
    assert resumed.model.dtype_policy.name == "mixed_bfloat16"
    assert resumed.model.decoder.compute_dtype == "bfloat16"


def test_a_resumed_run_may_compute_in_another_precision(half_precision_run):
    options, _ = half_precision_run
    options.precision = "float32"
    assert gpt_start.start(options, lambda: []).model.dtype_policy.name == "float32"
    options.resume = False
    assert gpt_start.start(options, lambda: []).model.dtype_policy.name == "float32"


def test_a_run_that_kept_no_dtype_is_resumed_in_single_precision(half_precision_run):
    options, file = half_precision_run
    fields = json.loads(file.read_text())
    del fields["dtype"]
    file.write_text(json.dumps(fields))
    assert gpt_start.start(options, lambda: []).model.dtype_policy.name == "float32"


# Directories of Hugging Face.


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_llama_begins_texts_with_bos_and_gpt2_with_eos_whatever_the_tokenizer(kind, tmp_path):
    shape = LLAMA if kind == "llama" else {}
    pairs = byte_pairs(bos_token="<s>", eos_token="</s>")
    save_huggingface(built(pairs, **shape), tmp_path / "pairs")
    save_byte_level_bpe(pairs, tmp_path / "pairs")
    tokenizer = SentencePieceTokenizer(llamas_pieces())
    save_huggingface(built(tokenizer, **shape), tmp_path / "pieces")
    save_sentencepiece(tokenizer, tmp_path / "pieces")
    for name, expected in (("pairs", pairs), ("pieces", tokenizer)):
        found = gpt_start.load_pretrained(str(tmp_path / name))
        assert expected.bos_id != expected.eos_id
        assert type(found.tokenizer) is type(expected)
        assert found.start_id == (expected.bos_id if kind == "llama" else expected.eos_id)
        assert TextGenerator(*found[:2], start_id=found.start_id).start_id == found.start_id


def test_llama_without_a_bos_begins_texts_with_eos(tmp_path):
    pairs = byte_pairs(bos_token=None, eos_token="</s>")
    save_huggingface(built(pairs, bos_token_id=pairs.eos_id, **LLAMA), tmp_path)
    save_byte_level_bpe(pairs, tmp_path)
    assert gpt_start.load_pretrained(str(tmp_path)).start_id == pairs.eos_id != -1


@pytest.mark.parametrize("byte_fallback", [True, False])
def test_the_unknown_id_of_an_older_llama_is_no_padding(byte_fallback, tmp_path):
    pieces = llamas_pieces(byte_fallback)
    tokenizer = SentencePieceTokenizer(pieces)
    assert (tokenizer.unk_id, tokenizer.pad_id) == (0, -1)
    model = built(tokenizer, **LLAMA)
    padded = dataclasses.replace(model.config, pad_token_id=0)
    ids = {"token_ids": np.array([[1, 9, 0, 10, 0, 0, 11], [0, 1, 9, 10, 11, 2, 0]], "int32")}
    expected = model(ids)
    model.config = padded
    assert not np.allclose(model(ids), expected, atol=1e-3)
    save_huggingface(model, tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["pad_token_id"] == 0
    (tmp_path / "tokenizer.model").write_bytes(pieces)
    found = gpt_start.load_pretrained(str(tmp_path))
    assert found.model.config.pad_token_id == -1
    assert_allclose(found.model(ids), expected, atol=1e-6)
    generator = TextGenerator(*found[:2], start_id=found.start_id)
    # A character that the vocabulary may lack is read like any other token.
    assert np.isfinite(generator.score(["the sea ☃ was calm"])[0].log_probability)


def test_a_control_id_that_pads_is_kept(tmp_path):
    pairs = byte_pairs(bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    save_huggingface(built(pairs, **LLAMA), tmp_path)
    save_byte_level_bpe(pairs, tmp_path)
    found = gpt_start.load_pretrained(str(tmp_path))
    assert found.model.config.pad_token_id == pairs.pad_id != -1
