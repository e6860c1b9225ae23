"""The command that trains a translator, and the one that uses it, on a small corpus."""

import json
import sys

import command_line
import numpy as np
import pytest
from apps.small_translations import flags, here, in_new_process, weights, write_corpus

from keras_transformer.inspection.training_report import read_report
from keras_transformer.tasks import Translator


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run that stopped after 6 updates and went on to 12, and one that did not stop.

    What goes on knows the files alone: it is a new process.
    """
    folder = tmp_path_factory.mktemp("runs")
    write_corpus(folder)
    with pytest.MonkeyPatch.context() as monkeypatch:
        here(monkeypatch, "translate_train", flags(folder, "resumed", 6))
    (stopped,) = (folder / "resumed" / "checkpoints").glob("*.npz")
    # Within an epoch: else the two runs would score at different times.
    assert not stopped.name.endswith("batch-00000000.npz")
    first = json.loads((folder / "resumed" / "results.json").read_text())
    assert first["updates"] == 6
    shown = in_new_process([*flags(folder, "resumed", 12), "--resume"])
    with pytest.MonkeyPatch.context() as monkeypatch:
        here(monkeypatch, "translate_train", flags(folder, "straight", 12))
    return folder, shown


def test_a_resumed_run_ends_as_one_that_never_stopped(trained):
    folder, _ = trained
    resumed, straight = weights(folder / "resumed"), weights(folder / "straight")
    assert resumed.keys() == straight.keys() and len(resumed) > 20
    for name, value in resumed.items():
        np.testing.assert_array_equal(value, straight[name], err_msg=name)
    results = [
        json.loads((folder / name / "results.json").read_text()) for name in ("resumed", "straight")
    ]
    assert results[0] == results[1]
    assert results[0]["updates"] == 12


def test_a_run_leaves_everything_in_its_folder(trained):
    folder, shown = trained
    run = folder / "resumed"
    assert {path.name for path in run.iterdir()} == {
        "checkpoints", "config.json", "history.json", "model.weights.h5", "options.yaml",
        "report.html", "report.json", "results.json", "tensorboard", "tokenizer",
    }  # fmt: skip
    results = json.loads((run / "results.json").read_text())
    assert results["test_pairs"] == 6
    assert {"bleu", "chrf"} == set(results["test"])
    assert "nrefs:1" in results["test"]["bleu"]["signature"]
    assert [version.name for version in sorted((folder / "models" / "resumed").iterdir())] == [
        "1",
        "2",
    ]
    page = (folder / "models" / "resumed" / "2" / "signatures.md").read_text(encoding="utf-8")
    assert f"{results['test']['chrf']['value']}" in page and "n_best" in page
    assert "read 200, kept 200" in shown
    assert "Test BLEU = " in shown and "Test chrF2 = " in shown
    assert shown.count("model:  ") == shown.count("reference: ") == 5


def test_a_resumed_run_goes_on_with_its_report(trained):
    folder, _ = trained
    resumed, straight = (read_report(folder / name) for name in ("resumed", "straight"))
    for report in (resumed, straight):
        assert report["state"] == "done" and report["epochs"][-1]["updates"] == 12
        assert len(report["samples"]) == 5
        assert report["data"]["train"]["read"] == report["data"]["train"]["kept"] == 200
        for row in report["epochs"]:
            assert row.pop("seconds") > 0 and row.pop("tokens_per_second") > 0
    assert len(resumed["resumed"]) == 1 and not straight["resumed"]
    assert resumed["epochs"] == straight["epochs"]
    assert resumed["scores"] == straight["scores"]
    assert "<svg" in (folder / "resumed" / "report.html").read_text()


def test_the_written_options_repeat_the_run(trained, monkeypatch):
    from translate_options import TranslateTrainOptions

    folder, _ = trained
    monkeypatch.setattr(
        sys, "argv", ["translate_train.py", "--config", str(folder / "straight" / "options.yaml")]
    )
    options = command_line.parse(TranslateTrainOptions, None)
    monkeypatch.setattr(sys, "argv", ["translate_train.py", *flags(folder, "straight", 12)])
    assert options == command_line.parse(TranslateTrainOptions, None)


def test_lines_are_translated_in_order_and_the_export_says_the_same(trained, monkeypatch, capsys):
    folder, _ = trained
    lines = ["dog sees cat", "", "red cat", "   ", "big dog " * 100, "cat"]
    (folder / "lines.txt").write_text("\n".join(lines) + "\n")
    exported = folder / "models" / "straight"
    models = [folder / "straight", exported / "1", exported]
    answers = []
    for model in models:
        here(monkeypatch, "translate", ["--model", str(model), str(folder / "lines.txt")])
        shown = capsys.readouterr()
        answers.append(shown.out)
        assert "lines were cut" in shown.err
    found = answers[0].split("\n")[:-1]
    assert len(found) == len(lines)
    assert found[1] == found[3] == "" and any(found)
    assert answers[0] == answers[1] == answers[2]


def test_several_translations_of_a_line_have_number_and_score(trained, monkeypatch, capsys):
    folder, _ = trained
    (folder / "two.txt").write_text("dog\ncat\n")
    model = folder / "models" / "straight" / "1"
    here(
        monkeypatch, "translate", ["--model", str(model), "--n-best", "2", str(folder / "two.txt")]
    )
    rows = [line.split("\t") for line in capsys.readouterr().out.split("\n")[:-1]]
    for number in ("1", "2"):
        found = [(float(score), text) for n, score, text in rows if n == number]
        assert 1 <= len(found) <= 2 and len({text for _, text in found}) == len(found)
        assert found == sorted(found, reverse=True) and found[0][0] <= 0
    with pytest.raises(SystemExit, match="gives 2 translations, not 3"):
        here(monkeypatch, "translate", ["--model", str(model), "--n-best", "3"])
    with pytest.raises(SystemExit, match="search is fixed"):
        here(monkeypatch, "translate", ["--model", str(model), "--beam-size", "3"])


def test_a_run_is_not_overwritten(trained, monkeypatch):
    folder, _ = trained
    before = (folder / "straight" / "model.weights.h5").stat().st_mtime_ns
    with pytest.raises(SystemExit, match="holds a run already: give --resume"):
        here(monkeypatch, "translate_train", flags(folder, "straight", 12))
    assert (folder / "straight" / "model.weights.h5").stat().st_mtime_ns == before


def test_resuming_a_run_that_was_over_changes_nothing(trained, monkeypatch):
    folder, _ = trained
    run = folder / "straight"
    before, results = weights(run), (run / "results.json").read_text()
    monkeypatch.setattr(Translator, "export", lambda self, folder, *_, **__: folder)  # shown above
    # Another limit of the time does not matter: the updates are all made.
    again = [*flags(folder, "straight", 12), "--resume", "--max-minutes", "9"]
    here(monkeypatch, "translate_train", again)
    for name, value in weights(run).items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)
    assert (run / "results.json").read_text() == results


def test_a_resumed_run_keeps_its_vocabularies(trained, monkeypatch):
    folder, _ = trained
    again = [*flags(folder, "straight", 12), "--resume", "--separate-vocabularies"]
    with pytest.raises(SystemExit, match="no source_tokenizer: .* of --separate-vocabularies"):
        here(monkeypatch, "translate_train", again)
    assert not (folder / "straight" / "source_tokenizer").exists()


@pytest.mark.parametrize("longer", ["source", "target"])
def test_unequal_files_are_refused_before_training(tmp_path, monkeypatch, longer):
    for side in ("source", "target"):
        (tmp_path / side).write_text("a b\n" * (6 if side == longer else 5))
    pairs = ["--source", str(tmp_path / "source"), "--target", str(tmp_path / "target")]
    held_out = [
        part
        for split in ("valid", "test")
        for part in (f"--{split}-dataset", f"tsv:{tmp_path}/none.tsv")
    ]
    output = ["--output", str(tmp_path / "run")]
    with pytest.raises(SystemExit, match=r"has [56] lines but .* has [56]"):
        here(monkeypatch, "translate_train", [*pairs, *held_out, *output])
    assert not (tmp_path / "run").exists()


def test_held_out_pairs_must_be_named(tmp_path, monkeypatch):
    message = "No validation and no test pairs are given: give --valid-source .* and --test-source"
    with pytest.raises(SystemExit, match=message):
        arguments = ["--source", "a", "--target", "b", "--output", str(tmp_path / "run")]
        here(monkeypatch, "translate_train", arguments)


def test_a_run_that_could_not_be_exported_does_not_begin(tmp_path, monkeypatch):
    write_corpus(tmp_path)
    (tmp_path / "models").write_text("a file")
    with pytest.raises(SystemExit, match=r"exported to .*models/run: .*models is not a folder\.$"):
        here(monkeypatch, "translate_train", flags(tmp_path, "run", 6))
    assert not (tmp_path / "run").exists()


def test_the_warm_up_ends_before_the_training_does():
    from translate_options import TranslateTrainOptions

    assert TranslateTrainOptions(max_steps=60).warmup_steps == 15
    assert TranslateTrainOptions().warmup_steps == 300
    assert TranslateTrainOptions(max_steps=60, schedule="inverse_sqrt").warmup_steps == 300
    with pytest.raises(ValueError, match="--warmup-steps 60 must be less than --max-steps 60, "):
        TranslateTrainOptions(max_steps=60, warmup_steps=60)
