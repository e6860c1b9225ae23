"""A saved translator is the same elsewhere, or does not load at all."""

import json
import resource
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
import small_translators
import tensorflow as tf
from saved_model_files import devices
from small_translators import SOURCES
from tasks import processes

from keras_transformer.models import Transformer
from keras_transformer.tasks import Task, Translator
from keras_transformer.text import CharacterTokenizer, SentencePieceTokenizer

TEXTS = [*SOURCES[:12], "", "ﬁne ½"]  # the last is not its own NFKC form


@pytest.fixture(scope="module")
def small():
    return small_translators.make_translator(
        small_translators.characters(), encoder_layers=1, decoder_layers=2
    )


@pytest.fixture
def saved(small, tmp_path):
    small.save(tmp_path / "run")
    return tmp_path / "run"


def weights_of(translator):
    return [variable.numpy() for variable in translator.model.weights]


def assert_same_weights(found, expected):
    for value, right in zip(weights_of(found), weights_of(expected), strict=True):
        np.testing.assert_array_equal(value, right)


@pytest.fixture(scope="module")
def elsewhere(two_vocabularies, tmp_path_factory):
    """Saved, moved, and loaded in another process; then exported from inside a strategy there."""
    folder = tmp_path_factory.mktemp("elsewhere")
    two_vocabularies.save(folder / "here")
    moved = (folder / "here").rename(folder / "there")
    answer = processes.run(
        "fresh_process.py",
        "load_and_export_on_two_replicas",
        moved,
        folder / "models",
        given=TEXTS,
    )
    shutil.rmtree(moved)
    return answer


@pytest.mark.slow
def test_a_fresh_process_says_the_same_after_the_folder_moved(elsewhere, two_vocabularies):
    expected = two_vocabularies.translate(TEXTS, n_best=2)
    assert len(elsewhere["translations"]) == len(expected) == len(TEXTS)
    for found, right in zip(elsewhere["translations"], expected, strict=True):
        assert found["scores"] == pytest.approx(right.scores, abs=1e-6)
        assert (found["texts"], found["truncated"]) == (right.texts, right.truncated)


@pytest.mark.slow
def test_an_export_from_inside_a_strategy_serves_without_it(elsewhere, two_vocabularies, c_serve):
    assert elsewhere["mirrored"] > 0  # it was one
    assert devices(Path(elsewhere["exported"])) == set()
    expected = two_vocabularies.translate(TEXTS, n_best=2)
    loaded = tf.saved_model.load(elsewhere["exported"]).signatures["n_best"]
    in_python = small_translators.plain_outputs(loaded(text=tf.constant(TEXTS)))
    (without_python,) = c_serve.ask(elsewhere["exported"], "n_best", [{"text": TEXTS}])
    for outputs in (in_python, without_python):
        for row, right in enumerate(expected):
            kept = len(right.texts)
            assert outputs["translations"][row][:kept] == right.texts
            assert outputs["scores"][row][:kept] == pytest.approx(right.scores, abs=1e-5)
            assert outputs["truncated"][row] == right.truncated


def test_two_vocabularies_stay_two(two_vocabularies, tmp_path):
    two_vocabularies.save(tmp_path)
    loaded = Translator.load(tmp_path)
    assert isinstance(loaded.source_tokenizer, SentencePieceTokenizer)
    assert isinstance(loaded.target_tokenizer, CharacterTokenizer)
    assert loaded.model.config == two_vocabularies.model.config
    assert loaded.options == two_vocabularies.options
    assert_same_weights(loaded, two_vocabularies)


def test_one_vocabulary_stays_one(saved):
    loaded = Task.load(saved)
    assert isinstance(loaded, Translator)
    assert loaded.source_tokenizer is loaded.target_tokenizer


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_the_dtype_policy_comes_back(small, tmp_path, policy):
    model = Transformer(small.model.config, dtype=policy)
    Translator(model, small.source_tokenizer).save(tmp_path)
    loaded = Translator.load(tmp_path).model
    assert loaded.dtype_policy.name == loaded.decoder.dtype_policy.name == policy


def test_a_config_that_does_not_say_its_dtype_has_kerass_default(saved):
    config = json.loads((saved / "config.json").read_text())
    assert config.pop("dtype") == "float32"
    (saved / "config.json").write_text(json.dumps(config))
    assert Translator.load(saved).model.dtype_policy.name == "float32"


def test_saving_leaves_what_is_needed_and_nothing_else(saved):
    assert {path.name for path in saved.iterdir()} == {
        "config.json",
        "model.weights.h5",
        "tokenizer",
    }


def test_a_save_over_an_older_one_replaces_it_and_keeps_other_files(small, saved):
    other = small_translators.make_translator(
        small_translators.characters(["abc"]), seed=2, encoder_layers=2, decoder_layers=1
    )
    (saved / "notes.txt").write_text("mine")
    other.save(saved)
    loaded = Translator.load(saved)
    assert loaded.source_tokenizer.vocab_size == 7
    assert_same_weights(loaded, other)
    assert (saved / "notes.txt").read_text() == "mine"


def test_a_save_that_fails_leaves_the_older_one_whole(small, saved, monkeypatch):
    def fail(*_, **__):
        raise OSError("No space left on device")

    monkeypatch.setattr(type(small.model), "save_weights", fail)
    with pytest.raises(OSError, match="No space"):
        small.save(saved)
    monkeypatch.undo()
    assert_same_weights(Translator.load(saved), small)
    assert not [path for path in saved.iterdir() if path.name.startswith(".")]


def test_without_room_a_save_says_so_and_leaves_the_older_one_whole(small, saved):
    before = {path: path.read_bytes() for path in saved.rglob("*") if path.is_file()}
    limit, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    weights = (saved / "model.weights.h5").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (weights - 1, most))
    try:
        with pytest.raises(OSError, match=r"File too large \([\d,]+ bytes are needed\): .*run"):
            small.save(saved)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))
    assert {path: path.read_bytes() for path in saved.rglob("*") if path.is_file()} == before


def test_a_save_that_is_cut_short_is_not_mistaken_for_a_whole_one(small, saved, monkeypatch):
    def fail(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(small.source_tokenizer), "save", fail)
    with pytest.raises(KeyboardInterrupt):
        small.save(saved)
    with pytest.raises(ValueError, match="holds no saved task"):
        Translator.load(saved)


def test_the_optimizers_state_is_not_in_the_weights(small, tmp_path):
    model = small.model
    model.compile("adam")
    model.optimizer.build(model.trainable_variables)
    optimizer = model.optimizer
    small.save(tmp_path)
    assert model.optimizer is optimizer
    with h5py.File(tmp_path / "model.weights.h5") as file:
        assert "optimizer" not in file
    assert_same_weights(Translator.load(tmp_path), small)


def test_a_missing_weight_is_refused(saved):
    with h5py.File(saved / "model.weights.h5", "a") as file:
        paths = []
        file.visit(lambda path: paths.append(path) if path.endswith("query_dense/vars/0") else None)
        del file[paths[0]]
    with pytest.raises(
        ValueError, match=r"weights\.h5 does not fit the model: it holds \d+ arrays"
    ):
        Translator.load(saved)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"encoder_layers": 2}, id="missing layer"),
        pytest.param({"decoder_layers": 1}, id="layer too many"),
        pytest.param({"intermediate_size": 65}, id="other shape"),
    ],
)
def test_weights_that_do_not_fit_are_refused(saved, change):
    rewrite(saved, lambda config: config["model"].update(change))
    with pytest.raises(
        ValueError, match=r"weights\.h5 does not fit the model: it holds \d+ arrays"
    ):
        Translator.load(saved)


def test_weights_by_other_names_are_refused(saved):
    with h5py.File(saved / "model.weights.h5", "a") as file:
        paths = []
        file.visit(lambda path: paths.append(path) if path.endswith("query_dense/vars") else None)
        file.move(paths[0], paths[0].replace("query_dense", "other_dense"))
    with pytest.raises(ValueError, match="could not be loaded"):
        Translator.load(saved)


def test_damaged_weights_are_named(saved):
    path = saved / "model.weights.h5"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ValueError, match=r"model\.weights\.h5 is damaged"):
        Translator.load(saved)


def test_missing_weights_are_named(saved):
    (saved / "model.weights.h5").unlink()
    with pytest.raises(ValueError, match=r"model\.weights\.h5 is missing"):
        Translator.load(saved)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda config: config.update(task="Other"), "is of task 'Other', not Translator"),
        (lambda config: config.pop("task"), "is not a task's configuration"),
        (lambda config: config.pop("options"), "does not describe a Translator: 'options'"),
        (lambda config: config["model"].update(new_field=1), "describe a Translator: .*new_field"),
        (lambda config: config["options"].update(beam_size=0), "beam_size must be at least 1"),
    ],
)
def test_a_config_that_is_not_ours_is_refused(saved, change, words):
    rewrite(saved, change)
    with pytest.raises(ValueError, match=words):
        Translator.load(saved)


def test_a_damaged_config_is_named(saved):
    (saved / "config.json").write_text('{"task": "Transl')
    with pytest.raises(ValueError, match=r"config\.json is not a task's configuration"):
        Translator.load(saved)


def test_a_folder_without_a_task_is_refused(tmp_path):
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(ValueError, match=r"holds no saved task: there is no config\.json"):
            Translator.load(folder)


def rewrite(saved, change):
    path = saved / "config.json"
    config = json.loads(path.read_text())
    change(config)
    path.write_text(json.dumps(config))
