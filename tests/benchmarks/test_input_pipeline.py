"""The benchmark of the input pipelines: its corpus, its counts, its table."""

import gzip
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import input_pipeline


def test_lines_are_repeated_and_documents_parted(tmp_path):
    file = tmp_path / "text.txt"
    input_pipeline.write_repeated(file, ["a", "b", "c"], 7)
    assert file.read_text() == "a\nb\nc\na\nb\nc\na\n"
    input_pipeline.write_repeated(file, ["a", "b", "c"], 5, document_lines=2)
    assert file.read_text() == "a\nb\n\nc\na\n\nb\n"


@pytest.mark.parametrize("kind", input_pipeline.KINDS)
def test_an_epoch_has_the_tokens_of_the_first_pass(kind, tmp_path):
    for name in ("source", "target"):
        lines = "".join(f"{name} {word} and more of {word}\n" for word in ("one", "two", "three"))
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(lines.encode()))
    files = [f"--{name}={tmp_path / name}.gz" for name in ("source", "target")]
    flags = input_pipeline.parse(
        [*files, f"--text={tmp_path / 'source.gz'}", "--lines=1000", "--vocab-size=300"]
    )
    first, epoch = input_pipeline.measure(flags, kind)
    assert first.tokens == epoch.tokens > 2000
    assert first.batches == epoch.batches > 1
    assert first.seconds > 0 and epoch.seconds > 0 and epoch.whole
    assert min(first.resident + epoch.resident) > 100
    table = input_pipeline.report.markdown(input_pipeline.HEAD, [first.cells(), epoch.cells()])
    assert f"{first.tokens:,}" in table and "epoch 1" in table


def test_what_one_process_measures_the_other_prints_and_writes(tmp_path, monkeypatch, capsys):
    phase = {"kind": "text", "name": "epoch 1", "seconds": 2.0, "tokens": 1000, "batches": 3}
    phase |= {"resident": [500.0, 700.0, 600.0], "whole": False}

    def run(command, **_):
        assert command[-2:] == ["--one", "text"]
        return type("Done", (), {"stdout": f"noise\n{json.dumps([phase])}\n"})

    monkeypatch.setattr(input_pipeline.subprocess, "run", run)
    input_pipeline.main(["--kinds", "text", "--json", str(tmp_path / "a.json")])
    printed = capsys.readouterr().out
    assert "epoch 1, the beginning" in printed
    for cell in ("1,000 |", " 500 |", " 600 |", " 700 |"):
        assert cell in printed
    assert json.loads((tmp_path / "a.json").read_text())["phases"] == [phase]


def test_a_side_of_the_pairs_alone_is_refused(capsys):
    with pytest.raises(SystemExit):
        input_pipeline.parse(["--source", "a"])
    assert "give --source and --target together" in capsys.readouterr().err
