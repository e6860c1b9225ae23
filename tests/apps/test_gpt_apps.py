"""The commands that train a GPT and let it go on from prompts, on small texts."""

import json
import math
import random
import sys
from pathlib import Path

import command_line
import gpt_texts
import numpy as np
import pytest
from gpt_sections import Sections
from gpt_train_options import GptTrainOptions

from keras_transformer.data import ExampleBatches
from keras_transformer.text import CharacterTokenizer, load_tokenizer

SHAPE = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
SMALL = json.dumps(SHAPE | {"hidden_dropout": 0.1})
WORDS = "the sea was calm and a boat came home with fish while wind rose over dark hills".split()


def here(monkeypatch, module: str, arguments: list) -> None:
    """Runs a script's `main` in this process."""
    monkeypatch.setattr(sys, "argv", [f"{module}.py", *map(str, arguments)])
    command_line.run(__import__(module).main)


def sentences(count: int, seed: int = 1) -> str:
    """Made-up sentences, a line each."""
    draw = random.Random(seed)
    return "".join(f"{' '.join(draw.choices(WORDS, k=7))}.\n" for _ in range(count))


def flags(folder: Path, name: str, *more) -> list:
    """A small model, and a few updates."""
    return [
        "--model", SMALL, "--block-size", 32, "--batch-size", 4, "--schedule", "inverse_sqrt",
        "--score-every", 4, "--max-steps", 10, "--output", folder / name, "--export",
        folder / "models" / name, *more,
    ]  # fmt: skip


def texts_of(documents) -> str:
    return "".join("\n".join(document) for document in documents)


# What is held out.


def test_the_end_of_the_text_is_held_out_to_the_character(tmp_path):
    text = sentences(40)
    (tmp_path / "a.txt").write_text(text)
    splits = gpt_texts.load_splits(GptTrainOptions(text=[str(tmp_path / "a.txt")], held_out=0.3))
    parts = [texts_of(splits[split]) for split in ("train", "valid")]
    assert "".join(parts) == text
    assert len(parts[0]) == math.floor(len(text) * 7 / 10)


def test_validation_texts_may_be_named_or_be_splits(tmp_path):
    for split in ("train", "valid"):
        (tmp_path / f"{split}.txt").write_text(f"This is {split}.\n")
    expected = {"train": "This is train.\n", "valid": "This is valid.\n"}
    train, valid = (str(tmp_path / f"{split}.txt") for split in expected)
    for options in (
        GptTrainOptions(text=[train], valid_text=[valid]),
        GptTrainOptions(text=[str(tmp_path / "{split}.txt")]),
    ):
        found = gpt_texts.load_splits(options)
        assert {split: texts_of(part) for split, part in found.items()} == expected
    several = gpt_texts.load_splits(GptTrainOptions(text=[train, train], valid_text=[valid]))
    assert texts_of(several["train"]) == 2 * expected["train"]
    with pytest.raises(ValueError, match="has a validation split of its own, but .* --valid-text"):
        gpt_texts.load_splits(GptTrainOptions(text=[train, "builtin"]))


def test_the_last_prompts_are_held_out(tmp_path):
    file = tmp_path / "a.jsonl"
    rows = [{"q": f"{number}?", "a": f"{number}!"} for number in range(10)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = {"prompts": [str(file)], "prompt_field": "q", "completion_field": "a"}
    splits = gpt_texts.load_splits(GptTrainOptions(**options, held_out=0.25))
    found = {split: [number for number, _ in part] for split, part in splits.items()}
    assert found == {"train": [f"{n}?" for n in range(7)], "valid": [f"{n}?" for n in range(7, 10)]}
    with pytest.raises(ValueError, match="a share of 0.95 of 10 prompts leaves none to train"):
        gpt_texts.load_splits(GptTrainOptions(**options, held_out=0.95))


def test_built_in_translations_are_prompts():
    splits = gpt_texts.load_splits(GptTrainOptions(prompts=["builtin"]))
    train, valid = (set(splits[split]) for split in ("train", "valid"))
    assert len(train) > len(valid) > 10 and not train & valid
    assert all(prompt.endswith("\n") for prompt, _ in valid)


# Options.


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"text": ["a"], "prompts": ["b"]}, "Give --text or --prompts, not both"),
        ({"valid_prompts": ["a"]}, "--valid-prompts is for --prompts: give that, too"),
        ({"batch_size": 4, "batch_tokens": 400}, "--batch-size or --batch-tokens, not both"),
        ({"init": "runs/a", "model": {"hidden_size": 8}}, "leave it out with --init"),
        ({"text": ["a"], "schedule": "cosine", "max_minutes": 1.0}, "give --max-steps or --epochs"),
        ({"model": {"hidden_sizes": 8}}, "--model has no field 'hidden_sizes'"),
        ({"held_out": 1.0}, "--held-out is 1; it must be more than 0 and less than 1"),
        ({"score_every": 0}, "--score-every is 0; it must be at least 1"),
        ({"block_size": 0}, "--block-size is 0; it must be at least 1"),
        ({"end_share": 1.5}, "--end-share is 1.5; it must be at least 0 and less than 1"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        GptTrainOptions(**options)


def test_training_ends_by_what_is_said_and_else_after_some_passes():
    text = {"text": ["a"]}
    assert (GptTrainOptions(**text).epochs, GptTrainOptions(**text, init="b").epochs) == (10, 3)
    by_time = GptTrainOptions(**text, max_minutes=5.0)
    assert (by_time.epochs, by_time.schedule) == (None, "inverse_sqrt")
    by_steps = GptTrainOptions(**text, max_steps=5)
    assert (by_steps.epochs, by_steps.schedule) == (None, "cosine")


def test_a_batch_is_so_many_rows_or_tokens():
    assert GptTrainOptions(text=["a"]).rows(64) == 12
    assert GptTrainOptions(text=["a"], batch_tokens=1000).rows(64) == 15
    assert GptTrainOptions(text=["a"], batch_tokens=10).rows(64) == 1
    assert GptTrainOptions(batch_tokens=1000).rows(64) == 15


def test_several_texts_are_given_one_after_the_other(monkeypatch):
    arguments = ["--text", "a.txt", "b.txt", "--valid-text", "c.txt", "--max-steps", "3"]
    monkeypatch.setattr(sys, "argv", ["gpt_train.py", *arguments])
    options = command_line.parse_resumable(GptTrainOptions, None)
    assert (options.text, options.valid_text) == (["a.txt", "b.txt"], ["c.txt"])


def test_the_help_is_that_of_the_command_itself(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gpt_train.py", "--help"])
    with pytest.raises(SystemExit):
        command_line.parse_resumable(GptTrainOptions, None)
    shown = " ".join(capsys.readouterr().out.split())
    assert "Rows of a batch; 12 by default." in shown


# Sections.


def counted(log: list[int]) -> ExampleBatches:
    """Five batches an epoch; `log` gets the epoch each time that one is opened."""
    batches = ExampleBatches(
        [{"token_ids": [n], "label": n} for n in range(5)], "label", batch_size=1, seed=3
    )
    opened = batches.batches
    batches.batches = lambda epoch, skip: log.append(epoch) or opened(epoch, skip)
    return batches


def numbers(batches) -> list[int]:
    return [int(labels[0]) for _, labels in batches]


def test_sections_are_the_epochs_one_after_the_other():
    log: list[int] = []
    batches = counted(log)
    expected = [n for epoch in range(4) for n in numbers(batches.batches(epoch, 0))]
    assert sorted(expected[:5]) == list(range(5)) and expected[:5] != expected[5:10]
    log.clear()
    sections = Sections(batches, 3)
    assert [numbers(sections.dataset) for _ in range(6)] == [
        expected[i : i + 3] for i in range(0, 18, 3)
    ]
    assert int(sections.dataset.cardinality()) == 3
    assert log == [0, 1, 2, 3]  # none is opened twice
    assert numbers(sections.batches(2, 1)) == expected[7:9]  # as a resumed run begins
    assert numbers(sections.batches(3, 0)) == expected[9:12]
    longer = Sections(batches, 12)
    assert numbers(longer.batches(0, 0)) == expected[:12]


# Training.


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a text and a run of ten updates on it; what was printed."""
    folder = tmp_path_factory.mktemp("gpt")
    (folder / "sea.txt").write_text(sentences(60))
    with pytest.MonkeyPatch.context() as monkeypatch:
        arguments = ["--text", folder / "sea.txt", "--tokenizer", "char"]
        here(monkeypatch, "gpt_train", flags(folder, "sea", *arguments))
    return folder


def results_of(run: Path) -> dict:
    return json.loads((run / "results.json").read_text())


def test_scores_are_over_all_validation_tokens(trained):
    results = results_of(trained / "sea")
    text = sentences(60)
    held_out = text[math.floor(len(text) * 9 / 10) :]
    scores = results["valid"]
    assert scores["tokens"] == len(held_out) + 1  # the end marker, too
    assert scores["perplexity"] == pytest.approx(math.exp(scores["loss"]))
    bits = scores["loss"] / math.log(2) * scores["tokens"] / len(held_out)
    assert scores["bits_per_byte"] == pytest.approx(bits)
    assert scores["unknown_tokens"] == 0
    assert results["updates"] == 10
    assert [updates for updates, _ in results["history"]] == [4, 8, 10]
    assert min(loss for _, loss in results["history"]) == pytest.approx(scores["loss"])


def test_a_vocabulary_of_characters_has_those_of_the_text_and_no_others(trained):
    tokenizer = load_tokenizer(trained / "sea" / "tokenizer")
    assert isinstance(tokenizer, CharacterTokenizer)
    found = [tokenizer.id_to_token(index) for index in range(4, tokenizer.vocab_size)]
    assert sorted(found) == sorted(set(sentences(60)))


def test_a_run_that_stops_and_goes_on_ends_as_one_that_does_not(trained, monkeypatch):
    text = ["--text", trained / "sea.txt", "--tokenizer", "char"]
    arguments = flags(trained, "stopped", *text, "--max-steps", 6)
    here(monkeypatch, "gpt_train", arguments)
    assert [updates for updates, _ in results_of(trained / "stopped")["history"]] == [4, 6]
    here(monkeypatch, "gpt_train", ["--output", trained / "stopped", "--resume", "--max-steps", 10])
    assert results_of(trained / "stopped") == results_of(trained / "sea")
    files = [trained / name / "checkpoints" for name in ("stopped", "sea")]
    stopped, straight = (np.load(max(folder.iterdir())) for folder in files)
    assert stopped.files == straight.files and len(stopped.files) > 40
    for name in set(straight.files):
        if straight[name].dtype.kind == "f":
            np.testing.assert_array_equal(stopped[name], straight[name], err_msg=name)


def test_a_resumed_run_keeps_what_its_place_in_the_data_hangs_on(trained, monkeypatch):
    again = ["--output", trained / "sea", "--resume", "--score-every", 5]
    with pytest.raises(SystemExit, match="--score-every is 5, but the run in .* began with 4: a "):
        here(monkeypatch, "gpt_train", again)


def test_a_run_is_not_overwritten(trained, monkeypatch):
    with pytest.raises(SystemExit, match="holds a run already: give --resume"):
        here(monkeypatch, "gpt_train", flags(trained, "sea", "--text", trained / "sea.txt"))


def test_characters_that_training_never_saw_are_counted(tmp_path, monkeypatch, capsys):
    (tmp_path / "a.txt").write_text(sentences(20))
    (tmp_path / "b.txt").write_text("Q! the sea?\n")
    arguments = ["--text", tmp_path / "a.txt", "--valid-text", tmp_path / "b.txt"]
    here(monkeypatch, "gpt_train", flags(tmp_path, "run", *arguments, "--tokenizer", "char"))
    assert "has 3 characters that the tokenizer does not know" in capsys.readouterr().out
    assert results_of(tmp_path / "run")["valid"]["unknown_tokens"] == 3


@pytest.mark.parametrize("kind", ["sentencepiece", "bpe"])
def test_subwords_and_whole_documents(tmp_path, monkeypatch, kind):
    (tmp_path / "a.txt").write_text(sentences(60))
    arguments = ["--text", tmp_path / "a.txt", "--tokenizer", kind, "--vocab-size", 300]
    more = ["--packing", "documents", "--document", "paragraph", "--max-steps", 2]
    here(monkeypatch, "gpt_train", flags(tmp_path, "run", *arguments, *more))
    results = results_of(tmp_path / "run")
    assert results["updates"] == 2 and results["valid"]["bits_per_byte"] > 0


def test_a_text_shorter_than_a_block_is_one_padded_row(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("Few words.\n")
    arguments = ["--text", tmp_path / "a.txt", "--tokenizer", "char", "--max-steps", 1]
    here(monkeypatch, "gpt_train", flags(tmp_path, "run", *arguments))
    assert results_of(tmp_path / "run")["valid"]["tokens"] == 3
    (tmp_path / "b.txt").write_text("x\n")
    with pytest.raises(SystemExit, match=r"share of 0.1 of 2 characters leaves no text for valid"):
        here(monkeypatch, "gpt_train", ["--text", tmp_path / "b.txt", "--output", tmp_path / "b"])


def test_only_completions_are_learned_from_prompts(tmp_path, monkeypatch):
    rows = [{"prompt": f"{n} and then ", "completion": f"{n + 1}"} for n in range(10, 30)]
    file = tmp_path / "a.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ["--prompts", file, "--tokenizer", "char", "--max-steps", 3]
    here(monkeypatch, "gpt_train", flags(tmp_path, "run", *arguments))
    scores = results_of(tmp_path / "run")["valid"]
    assert scores["tokens"] == 2 * 3  # of two prompts, each two digits and the end marker
    assert scores["bits_per_byte"] is None and scores["loss"] > 0


def test_a_folder_without_a_model_is_named(monkeypatch, tmp_path):
    with pytest.raises(SystemExit, match="holds no model: there is no config.json"):
        here(monkeypatch, "gpt_train", ["--init", tmp_path, "--output", tmp_path / "run"])
