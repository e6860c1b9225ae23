"""Training commands that are pre-empted, that go astray, and that compute in half precision."""

import json
import os
import signal
import sys

import command_line
import keras
import pytest
import training_run
from apps.small_translations import flags, here, weights, write_corpus
from bert_finetune_options import BertFinetuneOptions
from bert_pretrain_options import BertPretrainOptions
from gpt_train_options import GptTrainOptions
from translate_options import TranslateTrainOptions

from keras_transformer.tasks import Translator
from keras_transformer.training import Throughput


@pytest.fixture
def corpus(tmp_path):
    write_corpus(tmp_path)
    return tmp_path


@pytest.fixture
def default_precision():
    yield
    keras.config.set_dtype_policy("float32")


@pytest.mark.slow
def test_sigterm_saves_and_ends_well_and_the_run_goes_on_as_if_there_was_none(
    corpus, monkeypatch, capsys
):
    class Preempted(Throughput):
        def on_train_batch_end(self, batch, logs=None):
            if int(self.model.optimizer.iterations) == 7:
                os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(training_run, "Throughput", Preempted)
    with pytest.raises(SystemExit) as end:
        here(monkeypatch, "translate_train", flags(corpus, "stopped", 12))
    assert end.value.code == 0
    said = "Training was stopped by SIGTERM. Nothing is lost: go on with --resume."
    assert said in capsys.readouterr().err
    assert not (corpus / "stopped" / "config.json").exists()
    monkeypatch.undo()
    here(monkeypatch, "translate_train", [*flags(corpus, "stopped", 12), "--resume"])
    here(monkeypatch, "translate_train", flags(corpus, "straight", 12))
    resumed, straight = weights(corpus / "stopped"), weights(corpus / "straight")
    assert {name: value.tobytes() for name, value in resumed.items()} == {
        name: value.tobytes() for name, value in straight.items()
    }
    histories = [
        json.loads((corpus / name / "history.json").read_text()) for name in ("stopped", "straight")
    ]
    for history in histories:
        assert len(history.pop("tokens_per_second")) == len(history["epoch"]) > 1
    assert histories[0] == histories[1]


def test_two_trainings_do_not_share_a_folder(corpus, monkeypatch):
    options = TranslateTrainOptions(output=str(corpus / "run"))
    with training_run.begin(options):
        with pytest.raises(SystemExit, match="Another training writes to .*run: wait for its end"):
            here(monkeypatch, "translate_train", flags(corpus, "run", 1))
    with training_run.begin(options):  # it is free again
        pass
    assert not (corpus / "run").exists()  # nothing was written


def test_a_run_that_goes_astray_ends_with_a_sentence_and_leaves_no_model(corpus, monkeypatch):
    arguments = [*flags(corpus, "run", 40), "--learning-rate", "1e30", "--clip-norm", "1e30"]
    with pytest.raises(SystemExit, match="The loss is .* after update .* of epoch 1") as end:
        here(monkeypatch, "translate_train", arguments)
    assert "There is no checkpoint yet" in end.value.code
    assert not (corpus / "run" / "config.json").exists()
    assert not (corpus / "run" / "checkpoints").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("default_precision")
def test_half_precision_with_recomputed_layers(corpus, monkeypatch, capsys):
    arguments = [*flags(corpus, "half", 6), "--precision", "mixed_float16", "--recompute"]
    here(monkeypatch, "translate_train", arguments)
    assert "Test BLEU = " in capsys.readouterr().out
    task = Translator.load(corpus / "half")
    assert task.model.dtype_policy.name == "mixed_float16"
    (about,) = (corpus / "models" / "half").glob("*/assets.extra/precision.json")
    assert json.loads(about.read_text()) == {"dtype": "mixed_float16"}
    # Weights are in single precision, so all precisions take them.
    single = Translator.load(corpus / "half", dtype="float32")
    assert single.model.decoder.compute_dtype == "float32"
    assert {v.dtype for v in single.model.weights} == {"float32"}


@pytest.mark.usefixtures("default_precision")
@pytest.mark.parametrize(
    "options_class",
    [TranslateTrainOptions, BertPretrainOptions, BertFinetuneOptions, GptTrainOptions],
)
def test_every_training_command_has_the_options(options_class, monkeypatch):
    given = ["--precision", "mixed_bfloat16", "--recompute", "--checkpoint-every", "7"]
    monkeypatch.setattr(sys, "argv", ["command", *given])
    options = command_line.parse(options_class, None)
    with training_run.begin(options):
        assert keras.layers.Dense(1).compute_dtype == "bfloat16"
    assert options.recompute and options.checkpoint_every == 7
    with pytest.raises(ValueError, match="--checkpoint-every is 0; it must be more than 0"):
        options_class(checkpoint_every=0)
