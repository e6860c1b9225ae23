"""Runs side by side."""

import json

import pytest
from inspection.made_up_report import Page, facts

from keras_transformer.inspection.report_comparison import Comparison


@pytest.fixture
def runs(tmp_path):
    sample = {"updates": None, "texts": {"source": "eins", "model": "one", "reference": "1"}}
    for name, loss, rate, seed in (("a", 2.0, 0.1, 2024), ("b", 4.0, 0.2, 1)):
        options = {"rate": rate, "seed": seed, "output": name}
        folder = tmp_path / name
        folder.mkdir()
        found = facts(f"runs/{name}", loss, options=options, samples=[sample])
        found["scores"] = {"test": {"bleu": {"name": "BLEU", "value": loss}}}
        (folder / "report.json").write_text(json.dumps(found))
    return [tmp_path / "a", tmp_path / "b"]


def test_runs_side_by_side_show_what_differs(runs):
    sections = {section.title: dict(section.rows) for section in Comparison(runs).sections()}
    assert sections["Options that differ"] == {"rate": ["0.1", "0.2"], "seed": ["2024", "1"]}
    assert sections["Scores"] == {"test: BLEU": [2.0, 4.0]}
    assert sections["Training"]["best BLEU (validation)"] == [9.0, 9.0]
    assert "Versions that differ" not in sections
    page = Comparison(runs).page()
    assert Page(page).open == [] and Page(page).fetched == []
    assert page.count("<path") == 2 * (2 + 1 + 1 + 1)  # of each run: two losses and three others
    assert page.count('faint"') == 2  # the losses of training
    assert "<dt>runs/b</dt><dd>one</dd>" in page


def test_a_run_may_be_compared_with_itself_and_one_without_epochs(runs):
    found = json.loads((runs[0] / "report.json").read_text()) | {"epochs": [], "score": None}
    (runs[1] / "report.json").write_text(json.dumps(found))
    comparison = Comparison([*runs, runs[0]])
    assert comparison.names == [str(folder) for folder in (*runs, runs[0])]
    training = dict(comparison.sections()[0].rows)
    assert training["updates"] == [30, None, 30]
    assert Page(comparison.page()).open == []


def test_of_a_run_that_did_not_end_it_says_when_it_last_wrote(runs):
    found = json.loads((runs[0] / "report.json").read_text())
    found["updated"] = "2026-01-02T03:04:05+00:00"
    (runs[0] / "report.json").write_text(json.dumps(found))
    states = dict(Comparison(runs).sections()[0].rows)["state"]
    assert states == ["running at 2026-01-02 03:04:05 UTC", "running"]


def test_runs_of_different_kinds_have_their_own_rows_and_curves(runs):
    other = facts("runs/b", options={"label": "x"}, within=[{"updates": 5, "loss": 9.0}])
    other["epochs"] = [{"epoch": 1, "updates": 7, "seconds": 1.0, "loss": 3.0, "valid_f1": 0.5}]
    other["score"] = {"name": "valid_f1", "mode": "max"}
    other["samples"] = [{"updates": None, "texts": {"text": "eins", "label": "x"}}]
    (runs[1] / "report.json").write_text(json.dumps(other))
    comparison = Comparison(runs)
    sections = {section.title: dict(section.rows) for section in comparison.sections()}
    assert sections["Options that differ"] == {
        "rate": ["0.1", "–"], "seed": ["2024", "–"], "label": ["–", "x"],
    }  # fmt: skip
    assert sections["Training"]["best BLEU (validation)"] == [9.0, None]
    assert sections["Training"]["best F1 (validation)"] == [None, 0.5]
    page = comparison.page()
    assert Page(page).open == [] and "<b>BLEU</b>" in page and "<b>F1</b>" in page


def test_runs_that_cannot_be_compared_are_named(tmp_path):
    with pytest.raises(ValueError, match="has no report.json"):
        Comparison([tmp_path])
    with pytest.raises(ValueError, match="give the folders of runs"):
        Comparison([])
