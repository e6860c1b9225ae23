"""Training commands on several devices."""

import json
import os
import subprocess
import sys
from pathlib import Path

import command_line
import pytest
from apps.small_translations import flags, here, in_new_process, write_corpus

from benchmarks.scaling import cluster


@pytest.mark.slow
def test_two_devices_train_score_and_export_and_one_goes_on(tmp_path):
    write_corpus(tmp_path)
    arguments = flags(tmp_path, "run", 4)
    devices = ["--strategy", "mirrored", "--virtual-devices", "2", "--accumulate", "2"]
    printed = in_new_process([*arguments, *devices])
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert results["updates"] == 4
    assert "Test BLEU" in printed and "SavedModel: " in printed

    in_new_process([*flags(tmp_path, "run", 8), "--resume", "--strategy", "one"])
    assert json.loads((tmp_path / "run" / "results.json").read_text())["updates"] == 8


@pytest.mark.slow
def test_workers_with_other_options_do_not_train_together(tmp_path):
    write_corpus(tmp_path)
    script = Path(command_line.__file__).with_name("translate_train.py")
    workers = [
        subprocess.Popen(
            [sys.executable, script, *flags(tmp_path, "run", 4), "--strategy", "multiworker"]
            + ["--clip-norm", clip_norm],
            env={**os.environ, **environment},
            stderr=subprocess.PIPE,
            text=True,
        )
        for clip_norm, environment in zip(("1", "2"), cluster(2), strict=True)
    ]
    for worker in workers:
        _, errors = worker.communicate(timeout=900)
        assert worker.returncode == 1
        assert "The workers were given different --clip-norm; all need the same" in errors


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["--strategy", "multiworker"], "TF_CONFIG names no workers"),
        (["--virtual-devices", "0"], "--virtual-devices is 0; it must be more than 0."),
        (["--accumulate", "0"], "--accumulate is 0; it must be more than 0."),
    ],
)
def test_what_cannot_be_is_one_sentence(tmp_path, monkeypatch, arguments, fault):
    write_corpus(tmp_path)
    monkeypatch.delenv("TF_CONFIG", raising=False)
    with pytest.raises(SystemExit, match=fault):
        here(monkeypatch, "translate_train", [*flags(tmp_path, "run", 4), *arguments])
    assert not (tmp_path / "run").exists()
