"""The command that exports a run: versions, chosen signatures, warm-up, XLA, and refusals."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import command_line
import export
import numpy as np
import pytest
import tensorflow as tf
import yaml
from c_serve import c_serve  # noqa: F401  (a fixture)

from keras_transformer.serving.export import chosen_signatures
from keras_transformer.serving.saved_signatures import saved_signatures
from keras_transformer.serving.signature_page import PAGE_FILE
from keras_transformer.serving.warmup import count_warmup
from keras_transformer.tasks import Task, TranslationOptions

sys.path.insert(0, str(Path(__file__).parents[1] / "tasks"))

import small_berts
import small_translators

TEXTS = ["abc", "", "d", "dcba" * 9]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a run whose task has two signatures."""
    folder = tmp_path_factory.mktemp("runs") / "labels"
    small_berts.make("classifier").save(folder)
    (folder / "options.yaml").write_text(yaml.safe_dump({"train": "reviews.tsv"}))
    (folder / "results.json").write_text(json.dumps({"test": {"accuracy": 0.75}}))
    return folder


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """An export of the command with --xla, of a translator that is quickly traced."""
    folder = tmp_path_factory.mktemp("digits")
    options = TranslationOptions(beam_size=1, n_best=1, max_source_length=8, max_target_length=6)
    task = small_translators.make_translator(
        small_translators.characters(("ab", "cd")),
        options=options,
        encoder_layers=1,
        decoder_layers=1,
    )
    task.save(folder / "run")
    arguments = ["--model", folder / "run", "--export", folder / "models", "--xla"]
    arguments += ["--signatures", "serving_default"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["export.py", *map(str, arguments)])
        command_line.run(export.main)
    return folder / "models" / "1"


@pytest.fixture
def command(monkeypatch, tmp_path, capsys):
    """Runs the command in a folder of its own; gives what it prints."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["export.py", *map(str, arguments)])
        command_line.run(export.main)
        return capsys.readouterr().out

    return run


def must_compile(signature) -> bool:
    """Whether a signature of a loaded model runs by XLA only."""
    functions = signature.graph.as_graph_def().library.function
    return any(function.attr["_XlaMustCompile"].b for function in functions)


def names(version: Path) -> list[str]:
    return [signature.name for signature in saved_signatures(version)]


def test_a_run_becomes_the_next_version_with_a_page_about_it(command, run):
    shown = command("--model", run)
    version = Path("saved_models", "labels", "1")
    assert shown.split("\n")[:-1] == [
        "TextClassifier: serving_default, pair",
        f"How it is asked: {version / PAGE_FILE}",
        f"SavedModel: {version}",
    ]
    page = (version / PAGE_FILE).read_text(encoding="utf-8")
    assert "/v1/models/labels:predict" in page
    assert "| trained with `--train` | reviews.tsv |" in page
    assert "| result test.accuracy | 0.75 |" in page
    assert count_warmup(version) == 0
    with pytest.raises(SystemExit, match="has a version 1 already: give another number"):
        command("--model", run, "--version", 1)
    assert [p.name for p in version.parent.iterdir()] == ["1"]  # nothing half written either


def test_signatures_are_chosen_by_name_and_the_default_stays(command, run):
    chosen = ["--export", "models/a", "--signatures", "serving_default", "--version", 7]
    command("--model", run, *chosen)
    assert names(Path("models/a/7")) == ["serving_default"]
    page = (Path("models/a/7") / PAGE_FILE).read_text(encoding="utf-8")
    assert "## serving_default" in page and "## pair" not in page
    task = Task.load(run)
    assert chosen_signatures(task, ["pair"]).keys() == {"serving_default", "pair"}


def test_a_version_is_warmed_up_by_a_file(command, run):
    pytest.importorskip("tensorflow_serving", reason="needs tensorflow-serving-api")
    Path("texts.jsonl").write_text('{"text": "the dog", "text_pair": "a cat"}\n{"text": "tea"}\n')
    shown = command("--model", run, "--export", "models/a", "--warmup", "texts.jsonl")
    assert "Warm-up: 3 records\n" in shown
    assert count_warmup("models/a/1") == 3
    assert "the dog" in Path("models/a/1", PAGE_FILE).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--model is missing: give the folder of a run"),
        (["--model", "nowhere"], "There is no folder nowhere"),
        (["--model", "hf"], "hf is a Hugging Face directory, which says nothing of a task"),
        (["--model", "RUN", "--use", "fill_mask"], "a TextClassifier, which cannot guess masked"),
        (["--model", "RUN", "--signatures", "best"], "it has serving_default, pair"),
        (["--model", "RUN", "--xla"], "A TextClassifier has no search for XLA to compile"),
        (["--model", "RUN", "--xla-warmup"], "--xla-warmup goes with --xla and --warmup"),
        (["--model", "RUN", "--version", "0"], "at least 1, not 0"),
        (["--model", "RUN", "--version", str(2**63)], f"at most {2**63 - 1}, not {2**63}"),
        (["--model", "RUN", "--export", "what?"], "TensorFlow could not load a model from .*what"),
        (["--model", "RUN", "--warmup", "none"], "none: there is no such file|serving-api"),
    ],
)  # fmt: skip
def test_what_cannot_be_exported_is_refused_in_one_sentence(command, run, arguments, words):
    Path("hf").mkdir()
    Path("hf", "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(SystemExit) as end:
        command(*(str(run) if argument == "RUN" else argument for argument in arguments))
    assert re.fullmatch(f"export.py: .*({words}).*", str(end.value))
    assert sorted(path.name for path in Path().iterdir()) == ["hf"]  # and nothing is written


@pytest.mark.slow
def test_a_search_compiled_by_xla_stands_beside_the_other_and_says_the_same(compiled):
    loaded = tf.saved_model.load(str(compiled))
    assert names(compiled) == ["serving_default", "serving_default_xla"]
    plain, fast = (loaded.signatures[name] for name in names(compiled))
    assert not must_compile(plain) and must_compile(fast)
    expected, found = (function(text=tf.constant(TEXTS)) for function in (plain, fast))
    np.testing.assert_allclose(found["score"], expected["score"], atol=1e-5)
    for name in ("translation", "truncated"):
        assert found[name].numpy().tolist() == expected[name].numpy().tolist()
    page = (compiled / PAGE_FILE).read_text(encoding="utf-8")
    assert "## serving_default_xla" in page and "--xla_cpu_compilation_enabled" in page


@pytest.mark.slow
def test_without_xla_a_server_still_answers_by_the_other(compiled, request):
    runner = request.getfixturevalue("c_serve")
    (found,) = runner.ask(compiled, "serving_default", [{"text": TEXTS}])
    expected = tf.saved_model.load(str(compiled)).signatures["serving_default"](
        text=tf.constant(TEXTS)
    )
    assert found["translation"] == [text.decode() for text in expected["translation"].numpy()]
    with pytest.raises(RuntimeError):
        runner.ask(compiled, "serving_default_xla", [{"text": TEXTS}])
