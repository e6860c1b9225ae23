"""The command that sets runs side by side."""

import json
import sys
from pathlib import Path

import command_line
import compare
import pytest

from keras_transformer.inspection.training_report import TrainingReport


@pytest.fixture
def runs(tmp_path):
    folders = []
    for name, rate in (("low", 0.1), ("high [bold]", 0.2)):
        facts = TrainingReport(f"runs/{name}").facts
        facts["options"] = {"learning_rate": rate, "seed": 1}
        facts["epochs"] = [{"epoch": 1, "updates": 1000, "seconds": 61.0, "loss": 20 * rate}]
        folder = tmp_path / name
        folder.mkdir()
        (folder / "report.json").write_text(json.dumps(facts), encoding="utf-8")
        folders.append(str(folder))
    return folders


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["compare.py", *arguments])
    command_line.run(compare.main)


def test_it_prints_a_table_and_writes_a_page(runs, monkeypatch, capsys, tmp_path):
    page = tmp_path / "pages" / "comparison.html"
    run(monkeypatch, *runs, "--page", str(page))
    shown = capsys.readouterr().out
    lines = [line.split() for line in shown.splitlines()]
    assert "runs/low" in shown and "runs/high [bold]" in shown  # no markup of the terminal's
    assert ["learning", "rate", "0.1", "0.2"] in lines
    assert ["updates", "1,000", "1,000"] in lines and [
        "time",
        "in",
        "training",
        "1:01",
        "1:01",
    ] in lines
    assert f"Page: {page}" in shown
    assert page.read_text(encoding="utf-8").count("<svg") == 1


def test_a_page_that_cannot_be_written_is_refused(runs, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit, match="compare.py: --page .* cannot be written: .*not a folder"):
        run(monkeypatch, *runs, "--page", str(tmp_path / "file" / "page.html"))


@pytest.mark.parametrize(
    ("part", "value"), [("scores", [1]), ("epochs", [1]), ("model", None), ("title", None)]
)
def test_a_damaged_report_is_a_sentence(runs, monkeypatch, part, value):
    file = Path(runs[0], "report.json")
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | {part: value}), "utf-8")
    with pytest.raises(SystemExit, match=f"report.json is damaged: {part} is "):
        run(monkeypatch, *runs)


def test_what_is_no_run_is_a_sentence(runs, monkeypatch, tmp_path):
    with pytest.raises(SystemExit, match="compare.py: .* has no report.json: give the folder of"):
        run(monkeypatch, str(tmp_path))
    with pytest.raises(SystemExit, match="compare.py: --page .* is a folder"):
        run(monkeypatch, *runs, "--page", str(tmp_path))
    with pytest.raises(SystemExit, match="compare.py: RUNS are missing"):
        run(monkeypatch)
