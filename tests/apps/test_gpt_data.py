"""What `gpt_train.py` makes of its options before it trains: texts, tokenizers, batches."""

import json
import math
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import command_line
import gpt_texts
import gpt_train
import pytest
from apps.gpt_words import SHAPE, sentences
from gpt_sections import Sections
from gpt_train_options import GptTrainOptions

from keras_transformer.data import ExampleBatches
from keras_transformer.text import CharacterTokenizer, load_tokenizer


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


def test_only_the_beginning_of_what_is_held_out_may_be_scored_and_the_report_says_so(tmp_path):
    text = sentences(40)
    (tmp_path / "a.txt").write_text(text)
    options = {"text": [str(tmp_path / "a.txt")], "held_out": 0.5}
    whole = gpt_texts.load_splits(GptTrainOptions(**options))
    splits = gpt_texts.load_splits(GptTrainOptions(**options, valid_characters=100))
    assert texts_of(splits["train"]) == texts_of(whole["train"])
    assert texts_of(splits["valid"]) == texts_of(whole["valid"])[:100]
    counts = gpt_texts.counts(splits["valid"])
    assert "(of its first 100 characters)" in counts and ", 100 characters" in counts


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
        ({"init": "a", "model": {"hidden_size": 8}}, "--model is for a new model: leave it out"),
        ({"init": "a", "tokenizer": "char"}, "--tokenizer is for a new model: leave it out with"),
        ({"text": ["a"], "schedule": "cosine", "max_minutes": 1.0}, "give --max-steps or --epochs"),
        ({"model": {"hidden_sizes": 8}}, "--model has no field 'hidden_sizes'"),
        ({"held_out": 1.0}, "--held-out is 1; it must be more than 0 and less than 1"),
        ({"score_every": 0}, "--score-every is 0; it must be at least 1"),
        ({"block_size": 0}, "--block-size is 0; it must be at least 1"),
        ({"sample_tokens": 20_000}, "--sample-tokens is 20000; it must be from 0 to 10000"),
        ({"temperature": -1.0}, "temperature must be from 0 to"),
        ({"prompts": ["a"], "block_size": 2}, "--block-size is 2; with --prompts it must be at"),
        ({"patience": 0}, "--patience is 0; it must be at least 1"),
        ({"learning_rate": 0.0}, "--learning-rate is 0; it must be more than 0"),
        ({"clip_norm": -1.0}, "--clip-norm is -1; it must be at least 0"),
        ({"weight_decay": -0.1}, "--weight-decay is -0.1; it must be at least 0"),
        ({"beta_2": 1.0}, "--beta-2 is 1; it must be from 0 to less than 1"),
        ({"end_share": 1.5}, "--end-share is 1.5; it must be from 0 to 1"),
        ({"learning_rate": math.inf}, "--learning-rate is inf; it must be finite"),
        ({"weight_decay": math.inf}, "--weight-decay is inf; it must be finite"),
        ({"seed": -1}, "--seed is -1; it must be from 0 to 2147483647"),
        ({"seed": 2**31}, "--seed is 2147483648; it must be from 0 to 2147483647"),
        ({"vocab_size": 0}, "--vocab-size is 0; it must be at least 1"),
        ({"vocab_size": -3}, "--vocab-size is -3; it must be at least 1"),
        ({"batch_size": 10**12}, "--batch-size is 1000000000000; it must be at most 1048576"),
        ({"text": [""]}, "--text has a blank name in it"),
        ({"prompts": ["a"], "valid_prompts": [" "]}, "--valid-prompts has a blank name in it"),
        ({"model": {"vocab_size": 9}}, "--model has vocab_size, which the tokenizer sets"),
        ({"model": {"eos_token_id": 9}}, "--model has eos_token_id, which the tokenizer sets"),
        ({"model": {"hidden_act": "foo"}}, "--model: .*foo"),
        (
            {"model": {"hidden_size": 17, "num_attention_heads": 4}},
            "--model: num_attention_heads=4 must divide hidden_size=17",
        ),
    ],
)
def test_options_that_do_not_fit_together_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        GptTrainOptions(**options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"text": ["a.txt"], "text_field": "b"}, "--text-field is for JSON lines and TFDS data"),
        ({"text_field": "b"}, "--text-field is for JSON lines and TFDS data"),
        ({"prompt_field": "b"}, "--prompt-field is for --prompts: give that, too"),
        ({"completion_field": "completion"}, "--completion-field is for --prompts: give that, too"),
        ({"text": ["a.jsonl"], "data_dir": "b"}, "--data-dir is for TFDS data: give a --text of"),
        ({"prompts": ["a"], "data_dir": "b"}, "--data-dir is for TFDS data: give a --text of"),
        ({"prompts": ["a"], "packing": "stream"}, "--packing is for --text: leave it out with --p"),
        ({"prompts": ["a"], "document": "file"}, "--document is for --text: leave it out with --p"),
        ({"prompts": ["a"], "valid_characters": 9}, "--valid-characters is for --text: leave it"),
        ({"prompts": ["a"], "text_field": "b"}, "--text-field is for --text: leave it out with --"),
        ({"prompts": ["builtin"], "prompt_field": "b"}, "--prompt-field is for JSON lines: leave"),
        ({"text": ["a.jsonl.gz"], "document": "paragraph"}, "--document is for files of text, and"),
        ({"text": ["a"], "valid_text": ["b"], "held_out": 0.1}, "--held-out is .* --valid-text"),
        (
            {"prompts": ["a"], "valid_prompts": ["b"], "held_out": 0.2},
            "--held-out is for data without validation: leave it out with --valid-prompts",
        ),
        (
            {"schedule": "inverse_sqrt", "end_share": 0.1},
            "--end-share is for linear and cosine: leave it out with --schedule inverse_sqrt",
        ),
        ({"text": ["a"], "max_minutes": 1.0, "end_share": 0.0}, "leave it out with --schedule inv"),
    ],
)
def test_options_without_an_effect_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        GptTrainOptions(**options)


def test_options_are_taken_where_they_have_an_effect_and_else_stay_unsaid():
    jsonl = GptTrainOptions(text=["a.jsonl"], text_field="b")
    assert (jsonl.text_field, jsonl.document, jsonl.packing) == ("b", None, "stream")
    mixed = GptTrainOptions(text=["a.jsonl", "b"], text_field="c", document="paragraph")
    assert (mixed.text_field, mixed.document, mixed.held_out) == ("c", "paragraph", 0.1)
    tfds = GptTrainOptions(text=["tfds:lm1b"], data_dir="a", text_field="b", end_share=0.0)
    assert (tfds.data_dir, tfds.text_field, tfds.end_share) == ("a", "b", 0.0)
    prompts = GptTrainOptions(prompts=["a"], prompt_field="q")
    assert (prompts.prompt_field, prompts.completion_field) == ("q", "completion")
    assert (prompts.packing, prompts.document, prompts.end_share) == (None, None, 0.1)
    again = GptTrainOptions(prompts=["a"], packing="stream", document="file", resume=True)
    assert (again.packing, again.document) == ("stream", "file")


@pytest.mark.parametrize(
    ("output", "name"), [("runs/x/../y", "y"), ("runs/x/..", "runs"), (".", "here"), ("a/", "a")]
)
def test_an_export_has_the_name_that_the_folder_of_the_run_has(monkeypatch, tmp_path, output, name):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert GptTrainOptions(output=output).export == str(Path("saved_models", name))


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


@pytest.mark.parametrize(("max_steps", "sections"), [(None, 10**6), (6, 2)])
def test_where_only_the_time_is_limited_nothing_else_ends_training(
    monkeypatch, max_steps, sections
):
    asked = {}
    monkeypatch.setattr(gpt_train.training_run, "fit", lambda *_, **limits: asked.update(limits))
    options = GptTrainOptions(
        text=["a"], max_minutes=1.0, max_steps=max_steps, schedule="inverse_sqrt", score_every=3
    )
    generator = SimpleNamespace(model=SimpleNamespace(optimizer=SimpleNamespace(iterations=0)))
    batches = {"train": counted([])}
    total = gpt_train.count_updates(options, batches["train"].count_batches())
    gpt_train.fit(options, generator, batches, total, prompt="", report=None)
    assert (asked["epochs"], asked["max_steps"]) == (sections, max_steps)


def test_a_loss_that_has_gone_astray_has_a_perplexity():
    class Astray:
        metrics = ()

        def evaluate(self, *_, **__):
            return {"token_loss": 1e4, "token_accuracy": 0.0}

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(gpt_train, "count_tokens", lambda _: 5.0)
        scores = gpt_train.evaluate(Astray(), counted([]))
    assert (scores.loss, scores.perplexity) == (1e4, math.inf)


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


# Tokenizers and batches.


def prepared(folder: Path, **options):
    """What `gpt_train.py` makes of options before it trains."""
    options = GptTrainOptions(**{"model": SHAPE, "block_size": 32, "output": str(folder)} | options)
    return gpt_train.prepare(options)


def test_a_vocabulary_of_characters_has_those_of_the_text_and_no_others(tmp_path, capsys):
    (tmp_path / "a.txt").write_text(sentences(60))
    (tmp_path / "b.txt").write_text("Q! the sea?\n")
    generator, _, batches = prepared(
        tmp_path / "run",
        text=[str(tmp_path / "a.txt")],
        valid_text=[str(tmp_path / "b.txt")],
        tokenizer="char",
    )
    tokenizer = load_tokenizer(tmp_path / "run" / "tokenizer")
    assert isinstance(tokenizer, CharacterTokenizer)
    found = [tokenizer.id_to_token(index) for index in range(4, tokenizer.vocab_size)]
    assert sorted(found) == sorted(set(sentences(60)))
    assert generator.model.config.vocab_size == tokenizer.vocab_size
    assert gpt_train.count_unknown(batches["valid"], tokenizer) == 3
    assert "has 3 characters that the tokenizer does not know" in capsys.readouterr().out
    assert gpt_train.count_unknown(batches["train"], tokenizer) == 0


def test_a_tokenizer_says_when_the_text_gives_fewer_ids_than_asked_for(tmp_path):
    (tmp_path / "a.txt").write_text(sentences(60))
    options = GptTrainOptions(
        model=SHAPE, block_size=32, output=str(tmp_path / "run"),
        text=[str(tmp_path / "a.txt")],
    )  # fmt: skip
    generator, _, _ = gpt_train.prepare(options)
    count = generator.tokenizer.vocab_size
    assert count < 8000
    said = f"Tokenizer: sentencepiece, {count} ids (the text gives no more; asked for were "
    tail = "); blocks of 32 tokens"
    assert gpt_train.describe_tokenizer(options, generator) == f"{said}8,000{tail}"
    options.vocab_size = count + 1
    assert gpt_train.describe_tokenizer(options, generator) == f"{said}{count + 1}{tail}"
    options.vocab_size = count
    assert gpt_train.describe_tokenizer(options, generator) == (
        f"Tokenizer: sentencepiece, {count} ids; blocks of 32 tokens"
    )


def test_what_is_read_is_counted_in_texts(tmp_path):
    (tmp_path / "a.txt").write_text("One.\n\nTwo\0.\n")
    options = {"text": [str(tmp_path / "a.txt")], "valid_text": ["builtin"]}
    paragraphs = GptTrainOptions(**options, document="paragraph")
    found = gpt_texts.load(paragraphs, paragraphs.text, "train")
    assert gpt_texts.counts(found).endswith(
        "a.txt: 2 texts, 11 characters, repaired 1 (NUL replaced by a space)"
    )
    whole = GptTrainOptions(**options)
    assert "a.txt: 1 text, " in gpt_texts.counts(gpt_texts.load(whole, whole.text, "train"))
    builtin = gpt_texts.counts(gpt_texts.load(whole, ["builtin"], "valid"))
    assert re.fullmatch(r"builtin:valid: [\d,]+ texts, [\d,]+ sentences, [\d,]+ char.*", builtin)


@pytest.mark.parametrize("kind", ["sentencepiece", "bpe"])
def test_subwords_spell_the_line_ends_between_sentences(tmp_path, kind):
    (tmp_path / "a.txt").write_text(sentences(60))
    generator, data, batches = prepared(
        tmp_path / "run",
        text=[str(tmp_path / "a.txt")],
        tokenizer=kind,
        vocab_size=300,
        packing="documents",
        document="paragraph",
    )
    config, tokenizer = generator.model.config, generator.tokenizer
    assert config.vocab_size == tokenizer.vocab_size <= 300
    ids = [config.pad_token_id, config.bos_token_id, config.eos_token_id]
    assert ids == [tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id]
    report = batches["train"].report
    assert report.text_bytes == len(texts_of(data["train"])) > report.tokens
    assert gpt_train.count_unknown(batches["valid"], tokenizer) == 0
    features, _ = next(batches["valid"].batches())
    assert set(features) == {"token_ids", "segment_ids"}
    assert features["token_ids"][0, 0] == generator.start_id == tokenizer.eos_id


def test_a_text_shorter_than_a_block_is_one_padded_row(tmp_path):
    (tmp_path / "a.txt").write_text("Few words.\n")
    options = {"text": [str(tmp_path / "a.txt")], "tokenizer": "char"}
    _, _, batches = prepared(tmp_path / "run", **options)
    assert batches["train"].count_batches() == batches["valid"].count_batches() == 1
    assert batches["valid"].report.tokens == 3  # the last of ten characters, the line end, the end
    (tmp_path / "a.txt").write_text("x\n")
    with pytest.raises(ValueError, match="share of 0.1 of 2 characters leaves no text for"):
        prepared(tmp_path / "run", **options)


def test_updates_are_counted_by_steps_or_epochs_whichever_end_first():
    count = gpt_train.count_updates
    assert count(GptTrainOptions(text=["a"], epochs=3), 7) == 21
    assert count(GptTrainOptions(text=["a"], epochs=3, max_steps=20), 7) == 20
    assert count(GptTrainOptions(text=["a"], max_steps=100), 7) == 100
    assert count(GptTrainOptions(text=["a"], max_minutes=1.0), 7) is None
