"""Training commands on several devices."""

import json

import pytest
from apps.small_translations import flags, here, in_new_process, write_corpus


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
