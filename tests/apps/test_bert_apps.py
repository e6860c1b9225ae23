"""The commands that pretrain, fine-tune and ask a BERT, on what comes with the package."""

import json
import sys
from pathlib import Path

import command_line
import pytest

SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 64,
}


def here(monkeypatch, module: str, arguments: list[str]) -> None:
    """Runs a script's `main` in this process."""
    monkeypatch.setattr(sys, "argv", [f"{module}.py", *map(str, arguments)])
    command_line.run(__import__(module).main)


def ask(monkeypatch, capsys, lines: list[str], folder: Path, *arguments: str) -> list[dict]:
    """What `bert_predict.py` says to lines of a file."""
    file = folder / "lines.txt"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    capsys.readouterr()
    here(monkeypatch, "bert_predict", [*arguments, str(file)])
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    """A folder with a BERT pretrained for a few updates."""
    folder = tmp_path_factory.mktemp("bert")
    with pytest.MonkeyPatch.context() as monkeypatch:
        here(
            monkeypatch,
            "bert_pretrain",
            [
                "--model", json.dumps(SMALL), "--vocab-size", 600, "--max-length", 48,
                "--batch-size", 16, "--max-steps", 4, "--output", folder / "run",
                "--export", folder / "models",
            ],
        )  # fmt: skip
    return folder / "run"


def test_pretraining_reports_scores_beside_what_counting_gives(pretrained):
    results = json.loads((pretrained / "results.json").read_text())
    assert results["updates"] == 4
    for name in ("masked_token_accuracy", "unigram_accuracy", "next_sentence_accuracy"):
        assert 0 <= results[name] <= 1
    assert results["unigram_perplexity"] > 1 and results["masked_token_perplexity"] > 1
    assert results["next_sentence_chance"] >= 0.5
    assert (pretrained.parent / "models" / "1" / "saved_model.pb").is_file()


def test_a_pretrained_bert_guesses_and_embeds(pretrained, monkeypatch, capsys, tmp_path):
    guesses, nothing = ask(
        monkeypatch, capsys, ["The [MASK] is a value.", ""], tmp_path, "--model", str(pretrained)
    )
    assert len(guesses["tokens"]) == 5 and guesses["scores"] == sorted(guesses["scores"])[::-1]
    assert nothing["tokens"] == []
    (vector,) = ask(
        monkeypatch, capsys, ["a value"], tmp_path, "--model", str(pretrained), "--use", "embed"
    )
    assert len(vector["embedding"]) == SMALL["hidden_size"]


@pytest.mark.parametrize(
    ("task", "line", "key"),
    [
        ("classify", "a moving story", "label"),
        ("tag", "Anna lives in Rome", "words"),
        ("qa", "Where does Anna live?\tAnna lives in Rome.", "answers"),
    ],
)
def test_each_task_is_learned_from_a_pretrained_bert_and_asked(
    pretrained, monkeypatch, capsys, tmp_path, task, line, key
):
    run = tmp_path / "run"
    here(
        monkeypatch,
        "bert_finetune",
        [
            "--task", task, "--init", pretrained, "--max-length", 48, "--max-steps", 3,
            "--batch-size", 8, "--output", run, "--export", tmp_path / "models",
        ],
    )  # fmt: skip
    shown = capsys.readouterr().out
    assert "Test: " in shown and shown.count("model: ") == shown.count("right: ") == 5
    results = json.loads((run / "results.json").read_text())
    assert results["updates"] == 3 and results["history"][-1][0] == 1
    assert (tmp_path / "models" / "1" / "saved_model.pb").is_file()
    found, blank = ask(monkeypatch, capsys, [line, ""], tmp_path, "--model", str(run))
    assert key in found and key in blank


def test_data_of_one_file_needs_the_other_splits(monkeypatch, tmp_path):
    with pytest.raises(SystemExit, match="no valid data: give --valid"):
        here(monkeypatch, "bert_finetune", ["--train", "a.tsv", "--output", tmp_path / "run"])
    with pytest.raises(SystemExit, match="no valid texts: give --valid-text"):
        here(monkeypatch, "bert_pretrain", ["--text", "a.txt", "--output", tmp_path / "run"])


def test_a_folder_without_a_model_is_named(monkeypatch, tmp_path):
    with pytest.raises(SystemExit, match="holds no model: there is no config.json"):
        here(monkeypatch, "bert_finetune", ["--init", tmp_path, "--output", str(tmp_path / "run")])
