"""The commands that train a GPT and let it go on from prompts, on small texts."""

import contextlib
import io
import json
import math
import re
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import command_line
import gpt_generate
import gpt_generators
import gpt_train
import numpy as np
import pytest
import tensorflow as tf
from apps.gpt_words import SHAPE, sentences
from gpt_train_options import GptTrainOptions

from keras_transformer.checkpoints import save_byte_level_bpe, save_huggingface
from keras_transformer.inspection.training_report import read_report
from keras_transformer.models import Gpt, GptConfig
from keras_transformer.tasks import TextGenerator
from keras_transformer.text import ByteLevelBPETokenizer, load_tokenizer
from keras_transformer.training import set_seed

SMALL = json.dumps(SHAPE | {"hidden_dropout": 0.1})


def here(monkeypatch, module: str, arguments: list) -> None:
    """Runs a script's `main` in this process."""
    monkeypatch.setattr(sys, "argv", [f"{module}.py", *map(str, arguments)])
    command_line.run(__import__(module).main)


def flags(folder: Path, name: str, *more) -> list:
    """A small model, and a few updates."""
    return [
        "--model", SMALL, "--block-size", 32, "--batch-size", 4, "--schedule", "inverse_sqrt",
        "--score-every", 4, "--max-steps", 10, "--output", folder / name, "--export",
        folder / "models" / name, *more,
    ]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def loaded_once():
    """A model is loaded, and its graphs are traced, once for all tests."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(gpt_generators.TextGenerator, "load", cache(TextGenerator.load))
        monkeypatch.setattr(gpt_generators.tf.saved_model, "load", cache(tf.saved_model.load))
        yield


def load(run: Path) -> TextGenerator:
    return TextGenerator.load(str(run))


# Training.


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a text, a run of ten updates on it, and what it printed."""
    folder = tmp_path_factory.mktemp("gpt")
    (folder / "sea.txt").write_text(sentences(60))
    with pytest.MonkeyPatch.context() as monkeypatch:
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            arguments = ["--text", folder / "sea.txt", "--tokenizer", "char"]
            here(monkeypatch, "gpt_train", flags(folder, "sea", *arguments))
    (folder / "shown.txt").write_text(shown.getvalue())
    return folder


@pytest.fixture
def without_export(monkeypatch):
    """Training as it is, but without the time that tracing its results takes."""
    train = gpt_train.training_run
    monkeypatch.setattr(train, "export_for_serving", lambda task, folder, run: folder)
    monkeypatch.setattr(gpt_train.gpt_samples, "show_sample", lambda *_: None)
    monkeypatch.setattr(gpt_train.gpt_samples, "show_texts", lambda *_: [])


def results_of(run: Path) -> dict:
    return json.loads((run / "results.json").read_text())


def mean_loss(model, tokenizer, text: str, block_size: int) -> float:
    """Nats a token of a text and its end, in blocks that begin after the token before them."""
    ids = [tokenizer.eos_id, *tokenizer.tokenize(text).numpy(), tokenizer.eos_id]
    losses = []
    for start in range(0, len(ids) - 1, block_size):
        block = np.array(ids[start : start + block_size + 1])
        logits = np.asarray(model({"token_ids": block[None, :-1]}))[0]  # [tokens, vocab_size]
        log_sums = np.log(np.exp(logits).sum(axis=-1))  # [tokens]
        losses += list(log_sums - logits[np.arange(len(block) - 1), block[1:]])
    return float(np.mean(losses))


def test_scores_are_over_all_validation_tokens(trained):
    results = results_of(trained / "sea")
    text = sentences(60)
    held_out = text[math.floor(len(text) * 9 / 10) :]
    scores = results["valid"]
    assert scores["tokens"] == len(held_out) + 1  # the end marker, too
    saved = load(trained / "sea")
    expected = mean_loss(saved.model, saved.tokenizer, held_out, 32)
    assert scores["loss"] == pytest.approx(expected, rel=1e-5)
    assert scores["perplexity"] == pytest.approx(math.exp(scores["loss"]))
    bits = scores["loss"] / math.log(2) * scores["tokens"] / len(held_out)
    assert scores["bits_per_byte"] == pytest.approx(bits)
    assert scores["unknown_tokens"] == 0
    assert results["updates"] == 10
    assert [updates for updates, _ in results["history"]] == [4, 8, 10]
    assert min(loss for _, loss in results["history"]) == pytest.approx(scores["loss"])


def test_a_run_leaves_everything_in_its_folder_and_shows_samples(trained):
    assert {path.name for path in (trained / "sea").iterdir()} == {
        "checkpoints", "config.json", "history.json", "model.weights.h5", "options.yaml",
        "report.html", "report.json", "results.json", "start.json", "tensorboard", "tokenizer",
    }  # fmt: skip
    assert (trained / "models" / "sea" / "1" / "saved_model.pb").is_file()
    assert (trained / "models" / "sea" / "1" / "signatures.md").is_file()
    shown = (trained / "shown.txt").read_text()
    count = len(sentences(60))
    learned = math.floor(count * 9 / 10)
    for split, length in (("train", learned), ("valid", count - learned)):
        assert re.search(rf"^\S+:{split}: 1 text, {length:,} characters$", shown, re.M)
    ids = load_tokenizer(trained / "sea" / "tokenizer").vocab_size
    assert f"\nTokenizer: char, {ids} ids; blocks of 32 tokens\nModel: nano, " in shown
    assert shown.count(" updates: loss ") == 3
    assert shown.split("\nSamples:\n")[1].count("-" * 20) == shown.count("-" * 20) == 3


def test_the_report_has_the_course_of_the_training_and_its_texts(trained):
    report = read_report(trained / "sea")
    assert [row["updates"] for row in report["epochs"]] == [4, 8, 10]
    scores = [[row["updates"], row["valid_loss"]] for row in report["epochs"]]
    assert scores == results_of(trained / "sea")["history"]
    assert report["scores"]["valid"] == results_of(trained / "sea")["valid"]
    assert report["state"] == "done" and report["options"]["max_steps"] == 10
    texts = [(sample["updates"], sample["texts"]["text"]) for sample in report["samples"]]
    assert [updates for updates, _ in texts] == [4, 8, 10, None, None, None]
    shown = (trained / "shown.txt").read_text()
    assert all(text.splitlines()[0].rstrip() in shown for _, text in texts if text.strip())
    assert report["data"]["train"]["kept"] == report["data"]["train"]["documents"] == 1


@pytest.mark.slow
def test_a_run_that_stops_and_goes_on_ends_as_one_that_does_not(
    trained, monkeypatch, without_export
):
    text = ["--text", trained / "sea.txt", "--tokenizer", "char"]
    arguments = flags(trained, "stopped", *text, "--max-steps", 6)
    here(monkeypatch, "gpt_train", arguments)
    assert [updates for updates, _ in results_of(trained / "stopped")["history"]] == [4, 6]
    here(monkeypatch, "gpt_train", ["--output", trained / "stopped", "--resume", "--max-steps", 10])
    assert results_of(trained / "stopped") == results_of(trained / "sea")
    files = [trained / name / "checkpoints" for name in ("stopped", "sea")]
    stopped, straight = (np.load(max(folder.iterdir())) for folder in files)
    assert stopped.files == straight.files and len(stopped.files) > 40
    for name in straight.files:
        if straight[name].dtype.kind == "f":
            np.testing.assert_array_equal(stopped[name], straight[name], err_msg=name)


@pytest.mark.parametrize(
    ("flag", "value", "before"),
    [
        ("--score-every", "5", "4"),  # its place in the data
        ("--held-out", "0.2", "0.1"),  # what it may not learn from
        ("--preset", "mini", "nano"),  # the model that it has
    ],
)
def test_a_resumed_run_keeps_its_data_and_its_model(trained, monkeypatch, flag, value, before):
    again = ["--output", trained / "sea", "--resume", flag, value]
    with pytest.raises(
        SystemExit, match=f"{flag} is {value}, but the run in .* began with {before}: a "
    ):
        here(monkeypatch, "gpt_train", again)


def test_a_run_is_not_overwritten(trained, monkeypatch):
    with pytest.raises(SystemExit, match="holds a run already: give --resume"):
        here(monkeypatch, "gpt_train", flags(trained, "sea", "--text", trained / "sea.txt"))


def test_a_run_is_gone_on_from_with_its_tokenizer(trained, tmp_path):
    text = sentences(60, seed=2)
    (tmp_path / "more.txt").write_text(text)
    options = {"init": str(trained / "sea"), "text": [str(tmp_path / "more.txt")]}
    options |= {"output": str(tmp_path / "run")}
    generator, _, batches = gpt_train.prepare(GptTrainOptions(**options))
    saved = load(trained / "sea")
    held_out = text[math.floor(len(text) * 9 / 10) :]
    expected = mean_loss(saved.model, saved.tokenizer, held_out, 32)
    found = mean_loss(generator.model, generator.tokenizer, held_out, 32)
    assert found == pytest.approx(expected)
    assert batches["train"].block_size == 32
    kept = load_tokenizer(tmp_path / "run" / "tokenizer")
    assert kept.tokenize("the sea").numpy().tolist() == (
        saved.tokenizer.tokenize("the sea").numpy().tolist()
    )
    with pytest.raises(ValueError, match="--block-size 64 is more than the model of .* takes, 32"):
        gpt_train.prepare(GptTrainOptions(**options, block_size=64))


@pytest.mark.slow
def test_only_completions_are_learned_from_prompts(tmp_path, monkeypatch, without_export, capsys):
    rows = [{"prompt": f"{n} and then ", "completion": f"{n + 1}"} for n in range(10, 30)]
    file = tmp_path / "a.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ["--prompts", file, "--tokenizer", "char", "--max-steps", 3]
    here(monkeypatch, "gpt_train", flags(tmp_path, "run", *arguments))
    results = results_of(tmp_path / "run")
    assert results["valid"]["tokens"] == 2 * 3  # of two prompts, each two digits and the end marker
    assert results["valid"]["bits_per_byte"] is None and results["valid"]["loss"] > 0
    assert results["completions"]["asked"] == 2
    assert "of 2 are exactly right" in capsys.readouterr().out


def test_a_run_of_older_days_goes_on_though_it_wrote_down_what_has_no_effect(
    trained, monkeypatch, without_export
):
    again = ["--output", trained / "sea", "--resume"]
    file = trained / "sea" / "options.yaml"
    now = file.read_text()
    assert "end_share" not in now and "prompt_field" not in now
    file.write_text(f"{now}end_share: 0.1\nprompt_field: prompt\n")
    before = results_of(trained / "sea")
    try:
        here(monkeypatch, "gpt_train", again)
        assert results_of(trained / "sea") == before
        with pytest.raises(SystemExit, match="--prompt-field is for --prompts: give that, too"):
            here(monkeypatch, "gpt_train", [*again, "--prompt-field", "question"])
    finally:
        file.write_text(now)


@pytest.mark.parametrize("below", [[], ["run"]])
def test_a_folder_that_cannot_be_made_is_refused_before_data_is_read(monkeypatch, tmp_path, below):
    (tmp_path / "a").write_text("no folder")
    monkeypatch.setattr(gpt_train.gpt_texts, "load_splits", lambda _: pytest.fail("data is read"))
    output = tmp_path.joinpath("a", *below)
    with pytest.raises(SystemExit, match=f"--output {output} cannot be made: .*/a is not a folder"):
        here(monkeypatch, "gpt_train", ["--output", output, "--export", tmp_path / "models"])


def test_no_tokens_of_samples_are_no_samples(capsys):
    with pytest.MonkeyPatch.context() as monkeypatch:
        shown = []
        monkeypatch.setattr(gpt_train.gpt_samples, "show", shown.append)
        generator = SimpleNamespace(generate=lambda prompts: [SimpleNamespace(full_text="A")] * 3)
        for tokens, count in ((0, 0), (5, 3)):
            options = GptTrainOptions(sample_tokens=tokens)
            gpt_train.gpt_samples.show_texts(generator, None, options)
            assert len(shown) == count
            assert capsys.readouterr().out == ("Samples:\n" if tokens else "")


def test_a_folder_without_a_model_is_named(monkeypatch, tmp_path):
    with pytest.raises(SystemExit, match="holds no model: there is no config.json"):
        here(monkeypatch, "gpt_train", ["--init", tmp_path, "--output", tmp_path / "run"])


# Going on from prompts.


def generated(monkeypatch, capsys, *arguments) -> list[dict]:
    """What `gpt_generate.py --json` prints."""
    capsys.readouterr()
    here(monkeypatch, "gpt_generate", [*arguments, "--json"])
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


PROMPTS = ["the sea", "", "a boat came home with fish while wind rose over dark hills"]


def test_a_run_and_its_export_go_on_alike(trained, monkeypatch, capsys):
    run, export = trained / "sea", trained / "models" / "sea"  # the newest version of it
    asked = ["--temperature", 0.7, "--max-new-tokens", 6, "--top-k", 9, "--seed", 5, "--n", 2]
    texts = []
    for model in (run, export):
        found = generated(monkeypatch, capsys, "--model", model, *asked, *PROMPTS)
        assert [row["prompt"] for row in found] == [p for p in PROMPTS for _ in range(2)]
        assert all(row["full_text"] == row["prompt"] + row["text"] for row in found)
        assert [row["truncated"] for row in found] == [False] * 4 + [True] * 2
        texts.append([(row["text"], round(row["score"], 3)) for row in found])
    assert texts[0] == texts[1] and len(set(texts[0])) > 3
    # Each row has its own seed, whatever stands beside it.
    alone = generated(monkeypatch, capsys, "--model", run, *asked[:-4], "--seed", 8, *PROMPTS[1:2])
    assert alone[0]["text"] == texts[0][3][0]
    # Nothing asked for: as the run was saved.
    saved = [
        generated(monkeypatch, capsys, "--model", model, PROMPTS[0])[0]["text"]
        for model in (run, export)
    ]
    assert saved[0] == saved[1]


def test_prompts_come_from_lines_and_json_lines(trained, monkeypatch, capsys, tmp_path):
    (tmp_path / "a.txt").write_text("".join(f"{prompt}\n" for prompt in PROMPTS))
    rows = (json.dumps({"prompt": prompt, "text": "unread"}) for prompt in PROMPTS)
    (tmp_path / "a.jsonl").write_text("".join(f"{row}\n" for row in rows))
    asked = ["--model", trained / "sea", "--temperature", 0, "--max-new-tokens", 4]
    expected = generated(monkeypatch, capsys, *asked, *PROMPTS)
    for name in ("a.txt", "a.jsonl"):
        assert generated(monkeypatch, capsys, *asked, "--file", tmp_path / name) == expected
    here(monkeypatch, "gpt_generate", [*asked, *PROMPTS])
    shown = capsys.readouterr()
    assert shown.out.split(f"{'-' * 20}\n") == [f"{row['full_text']}\n" for row in expected]
    assert "1 of 3 prompts were cut" in shown.err
    here(monkeypatch, "gpt_generate", [*asked, "--stream", *PROMPTS])
    assert "1 of 3 prompts were cut" in capsys.readouterr().err


def test_further_chunks_of_prompts_are_answered_as_the_first_one(
    trained, monkeypatch, capsys, tmp_path
):
    monkeypatch.setattr(gpt_generate, "PROMPTS_AT_A_TIME", 1)
    (tmp_path / "a.txt").write_text("the sea\nthe sea\n")
    models = {"run": trained / "sea", "export": trained / "models" / "sea"}
    # Nothing asked for: each as it was exported, which has one seed for all texts.
    first, second = generated(
        monkeypatch, capsys, "--model", models["export"], "--file", tmp_path / "a.txt"
    )
    assert first["text"] and first == second
    # After the largest seed comes the first one.
    asked = ["--temperature", 0.7, "--max-new-tokens", 6, "--file", tmp_path / "a.txt"]
    texts = {
        (name, seed): [
            row["text"]
            for row in generated(monkeypatch, capsys, "--model", model, *asked, "--seed", seed)
        ]
        for name, model in models.items()
        for seed in (2**31 - 1, 0)
    }
    assert texts["run", 2**31 - 1] == texts["export", 2**31 - 1]
    assert texts["run", 2**31 - 1][1] == texts["run", 0][0] != texts["run", 0][1]


def test_a_stream_is_the_same_text(trained, monkeypatch, capsys):
    asked = ["--model", trained / "sea", "--max-new-tokens", 6, "--n", 2, "--seed", 3, PROMPTS[0]]
    here(monkeypatch, "gpt_generate", asked)
    expected = capsys.readouterr().out
    here(monkeypatch, "gpt_generate", [*asked, "--stream"])
    assert capsys.readouterr().out == expected


def test_stop_strings_and_beams(trained, monkeypatch, capsys):
    asked = ["--model", trained / "sea", "--max-new-tokens", 20, PROMPTS[0]]
    stopped = generated(monkeypatch, capsys, *asked, "--stop", "a", "--stop", "e", "--stop", " ")
    assert stopped[0]["finish_reason"] == "stop" and not set(stopped[0]["text"]) & set("ae ")
    (found,) = generated(monkeypatch, capsys, *asked, "--beam-size", 2, "--min-new-tokens", 20)
    assert (found["tokens"], found["finish_reason"]) == (20, "length")


def test_texts_are_scored_line_by_line(trained, monkeypatch, capsys, tmp_path):
    (tmp_path / "a.txt").write_text("the sea\n\nwas calm\n")
    rows = []
    for model in (trained / "sea", trained / "models" / "sea" / "1"):
        asked = ["--score", "--model", model, "--file", tmp_path / "a.txt"]
        found = generated(monkeypatch, capsys, *asked)
        rows.append([(row["tokens"], row["log_probability"]) for row in found])
        here(monkeypatch, "gpt_generate", asked)
        lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
        for (value, count, _), (tokens, log_probability) in zip(lines, rows[-1], strict=True):
            assert int(count) == tokens
            assert float(value) == pytest.approx(log_probability, abs=1e-3)  # rounded for the eye
        value, count, perplexity = map(float, lines[0])
        assert perplexity == pytest.approx(math.exp(-value / count), rel=1e-3)
    for (tokens, one), (count, other) in zip(*rows, strict=True):
        assert tokens == count and one == pytest.approx(other, abs=1e-3)
    assert [count for count, _ in rows[0]] == [7, 0, 8]
    assert found[1]["perplexity"] is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--file", "a.txt", "b"], "Give prompts or --file, not both"),
        (["--n", "0", "b"], "--n is 0; it must be at least 1"),
        (["--score", "--n", "2", "--xla", "b"], "--score makes no new text: leave out --n, --xla"),
        (["--stream", "--json", "b"], "--stream is for text alone"),
        (["--score", "--top-k", "3", "b"], "--score makes no new text: leave out --top-k"),
        (["--model", "EXPORT", "--min-p", "0.1", "--beam-size", "2"], "no --min-p, --beam-size"),
        (["--model", "EXPORT", "--temperature", "-1", "b"], "temperature must be from 0"),
        (
            ["--model", "EXPORT", "--n", "2", "b"],
            "the same text each time, .* give --seed with --n",
        ),
        (["--model", "EXPORT", "--stream", "b"], "is a SavedModel, which cannot --stream"),
        (["--model", "EXPORT", "caf\udce9"], r"prompts\[0\] holds half a character"),
        (["--model", "RUN", "caf\udce9"], r"prompts\[0\] holds half a character"),
        (["--model", "EXPORT", "--score", "caf\udce9"], r"texts\[0\] holds half a character"),
        (["--model", "EXPORT", "--xla", "b"], "is a SavedModel, which --xla cannot compile"),
        (["--model", "RUN", "--temperature", "-1", "b"], "temperature must be from 0"),
        (["--model", "EMPTY"], "holds no model: there is no config.json"),
    ],
)
def test_what_cannot_be_answered_is_refused(trained, monkeypatch, tmp_path, arguments, words):
    folders = {"EXPORT": trained / "models" / "sea" / "1", "RUN": trained / "sea"}
    folders["EMPTY"] = tmp_path
    arguments = [str(folders.get(argument, argument)) for argument in arguments]
    with pytest.raises(SystemExit, match=words):
        here(monkeypatch, "gpt_generate", arguments)


@pytest.mark.slow
def test_a_gpt2_directory_is_asked_and_gone_on_from(tmp_path, monkeypatch, capsys):
    tokenizer = ByteLevelBPETokenizer.train([sentences(60)], 280, pad_token=None)
    fields = {"pad_token_id": -1, "bos_token_id": 0, "eos_token_id": 0, "embedding_dropout": 0.1}
    set_seed(1)
    config = GptConfig(
        tokenizer.vocab_size, **SHAPE, max_position_embeddings=32, **fields, initializer_range=0.3
    )
    model = Gpt(config)
    model.build()
    directory = tmp_path / "gpt2"
    save_huggingface(model, directory)
    save_byte_level_bpe(tokenizer, directory)
    asked = ["--model", directory, "--temperature", 0, "--max-new-tokens", 5, "the sea"]
    (found,) = generated(monkeypatch, capsys, *asked)
    ids = [0, *tokenizer.tokenize("the sea").numpy()]
    for _ in range(5):
        ids.append(int(np.argmax(model({"token_ids": np.array([ids])})[0, -1])))
        if ids[-1] == tokenizer.eos_id:
            break
    expected = tokenizer.detokenize(ids).numpy().decode()
    # A last character that lacks bytes is left out.
    assert found["full_text"].rstrip("\ufffd") == expected.rstrip("\ufffd")
    (tmp_path / "a.txt").write_text(sentences(60))
    options = {"init": str(directory), "text": [str(tmp_path / "a.txt")], "output": str(tmp_path)}
    begun, _, batches = gpt_train.prepare(GptTrainOptions(**options))
    assert begun.model.config == config
    assert begun.tokenizer.vocabulary == tokenizer.vocabulary
    _, labels = next(batches["valid"].batches())
    assert -1 in labels  # there is no id of padding: what it stands for is not learned
