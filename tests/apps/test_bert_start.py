"""Where a BERT command begins: what goes on from a pretrained model, and what is new."""

import bert_start
import keras
import numpy as np
import pytest
from bert_finetune_options import BertFinetuneOptions
from bert_pretrain import begin_with
from bert_pretrain_options import BertPretrainOptions
from numpy.testing import assert_allclose, assert_array_equal

from keras_transformer.checkpoints import save_huggingface
from keras_transformer.models import (
    Bert,
    BertClassifier,
    BertConfig,
    BertMaskedLM,
    BertPretraining,
    BertTagger,
)
from keras_transformer.tasks import FillMask
from keras_transformer.text import WordPieceTokenizer

pytestmark = [  # what is left out of a Hugging Face directory, and what is new
    pytest.mark.filterwarnings("ignore:.* also holds "),
    pytest.mark.filterwarnings("ignore:.* holds no classifier"),
]

SIZES = {
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 12,
}


@pytest.fixture
def tokenizer():
    return WordPieceTokenizer.train(["a value", "the values"], vocab_size=40)


@pytest.fixture
def taught(tokenizer):
    """A pretrained model, as far as its weights are no initial ones."""
    model = BertPretraining(Bert(BertConfig(tokenizer.vocab_size, hidden_dropout=0.0, **SIZES)))
    model.build()
    random = keras.random.SeedGenerator(1)
    for weight in model.weights:
        weight.assign(keras.random.normal(weight.shape, seed=random))
    return model


@pytest.fixture(params=["run", "Hugging Face directory"])
def folder(request, taught, tokenizer, tmp_path):
    if request.param == "run":
        FillMask(taught, tokenizer).save(tmp_path / "taught")
    else:
        save_huggingface(taught, tmp_path / "taught")
        tokenizer.save(tmp_path / "taught")
    return str(tmp_path / "taught")


def same(layer, other) -> None:
    for weight, expected in zip(layer.get_weights(), other.get_weights(), strict=True):
        assert_array_equal(weight, expected)


def options_of(folder, tmp_path, **more):
    given = {"max_length": 12, "output": str(tmp_path / "run")} | more
    return BertFinetuneOptions(init=folder, **given)


def test_a_classifier_goes_on_with_the_pretrained_pooler(folder, taught, tmp_path):
    """Devlin et al. 2019, 3.2: all pretrained parameters are fine-tuned."""
    options = options_of(folder, tmp_path)
    model, _ = bert_start.start(options, list, BertClassifier, num_labels=3)
    same(model.bert, taught.bert)
    same(model.pooler, taught.pooler)
    assert model.classifier.kernel.shape == (8, 3)


def test_a_head_without_pretrained_parts_is_new(folder, taught, tmp_path):
    model, _ = bert_start.start(options_of(folder, tmp_path), list, BertTagger, num_labels=3)
    same(model.bert, taught.bert)
    assert not keras.ops.convert_to_numpy(model.classifier.bias).any()


@pytest.mark.parametrize("model_class", [BertPretraining, BertMaskedLM])
def test_pretraining_goes_on_with_the_heads_that_it_taught(folder, taught, model_class, tmp_path):
    options = BertPretrainOptions(init=folder, max_length=12, output=str(tmp_path / "run"))
    model, tokenizer = bert_start.start(options, list, model_class)
    begin_with([1 / tokenizer.vocab_size] * tokenizer.vocab_size, model)
    same(model.bert, taught.bert)
    same(model.token_head, taught.token_head)
    if model_class is BertPretraining:
        same(model.next_sentence, taught.next_sentence)


def test_a_new_head_begins_with_the_frequencies_of_tokens(tokenizer):
    model = BertMaskedLM(Bert(BertConfig(tokenizer.vocab_size, **SIZES)))
    model.build()
    frequencies = np.arange(1.0, tokenizer.vocab_size + 1)
    begin_with(frequencies, model)
    assert_allclose(model.token_head.bias, np.log(frequencies), rtol=1e-6)


def test_a_pretrained_model_can_have_other_rates_of_dropout(folder, taught, tmp_path):
    rates = {"hidden_dropout": 0.3, "attention_dropout": 0.0}
    options = options_of(folder, tmp_path, model=rates)
    model, _ = bert_start.start(options, list, BertTagger, num_labels=2)
    assert (model.config.hidden_dropout, model.config.attention_dropout) == (0.3, 0.0)
    assert model.bert.embedding_dropout.rate == model.dropout.rate == 0.3
    assert taught.bert.embedding_dropout.rate == 0.0
    same(model.bert, taught.bert)


@pytest.mark.parametrize("options_class", [BertFinetuneOptions, BertPretrainOptions])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tokenizer": "char"}, "--tokenizer is for a new model: leave it out with --init"),
        ({"vocab_size": 500}, "--vocab-size is for a new model"),
        ({"lowercase": False}, "--lowercase is for a new model"),
        ({"preset": "mini"}, "--preset is for a new model"),
        ({"model": {"hidden_size": 64}}, "--model hidden_size is for a new model; with --init it "),
        ({"model": {"dropout": 0.1}}, "--model has no field 'dropout'; right are: "),
    ],
)
def test_what_a_pretrained_model_has_already_is_refused(options_class, given, message):
    with pytest.raises(ValueError, match=message):
        options_class(init="runs/bert", **given)


@pytest.mark.parametrize("options_class", [BertFinetuneOptions, BertPretrainOptions])
def test_a_resumed_run_may_have_them_written_down(options_class):
    """Older versions wrote the defaults of a new model into the options of every run."""
    options_class(init="runs/bert", resume=True, preset="tiny", vocab_size=8000)


def test_new_models_have_their_defaults():
    options = BertPretrainOptions()
    assert (options.tokenizer, options.vocab_size, options.preset) == ("wordpiece", 8000, "tiny")
    assert options.lowercase and BertFinetuneOptions().lowercase
    assert not BertFinetuneOptions(task="tag").lowercase
    assert BertFinetuneOptions(task="tag", lowercase=True).lowercase
