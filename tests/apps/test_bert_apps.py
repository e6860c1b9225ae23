"""The commands that pretrain, fine-tune and ask a BERT, on what comes with the package."""

import dataclasses
import json
import shutil
import sys
from functools import cache
from itertools import islice
from pathlib import Path

import bert_finetune
import bert_predict
import bert_start
import command_line
import numpy as np
import pytest
import tensorflow as tf
from bert_finetune_options import BertFinetuneOptions
from bert_pretrain import load_texts
from bert_pretrain_options import BertPretrainOptions

from keras_transformer.checkpoints import save_huggingface
from keras_transformer.data import builtin_documents
from keras_transformer.data.small_tasks import names, reviews, stories
from keras_transformer.inspection.training_report import read_report
from keras_transformer.models import Bert, BertConfig, BertSpanQA
from keras_transformer.tasks.text_classifier import Classification as Label
from keras_transformer.text import load_tokenizer

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
    """A folder with a BERT pretrained for a few updates, on a few of the texts of the package."""
    folder = tmp_path_factory.mktemp("bert")
    documents = ("\n".join(document) + "\n" for document in islice(builtin_documents(), 12))
    (folder / "texts.txt").write_text("\n".join(documents), encoding="utf-8")
    with pytest.MonkeyPatch.context() as monkeypatch:
        here(
            monkeypatch,
            "bert_pretrain",
            [
                "--text", folder / "texts.txt", "--held-out", 0.2, "--model", json.dumps(SMALL),
                "--vocab-size", 600, "--max-length", 48, "--batch-size", 16, "--max-steps", 4,
                "--output", folder / "run", "--export", folder / "models",
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
    report = read_report(pretrained)
    assert report["scores"] | {"updates": 4} == results and report["state"] == "done"
    assert report["epochs"][-1]["updates"] == 4
    assert (pretrained.parent / "models" / "1" / "saved_model.pb").is_file()
    assert (pretrained.parent / "models" / "1" / "signatures.md").is_file()


def test_pretraining_begins_with_what_counting_gives(pretrained):
    """Four updates do not teach 600 tokens' frequencies: it has them from the start."""
    results = json.loads((pretrained / "results.json").read_text())
    assert results["masked_token_perplexity"] < 1.1 * results["unigram_perplexity"] < 300


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


def test_a_pretrained_bert_is_exported_for_its_vectors(pretrained, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    here(monkeypatch, "export", ["--model", str(pretrained), "--use", "embed"])
    assert "TextEmbedder: serving_default, tokens\n" in capsys.readouterr().out
    exported = tf.saved_model.load("saved_models/embed/1").signatures["serving_default"]
    (vector,) = ask(
        monkeypatch, capsys, ["a value"], tmp_path, "--model", str(pretrained), "--use", "embed"
    )
    served = exported(text=tf.constant(["a value"]))["embedding"].numpy()
    np.testing.assert_allclose(served, [vector["embedding"]], atol=1e-6)


@pytest.fixture
def few_rows(monkeypatch):
    """The data that comes with the package, but little of it."""
    counts = {"train": 200, "valid": 20, "test": 40}
    for module, number, made in (
        (reviews, "COUNTS", "_reviews"),
        (names, "COUNTS", "_sentences"),
        (stories, "STORIES", "_questions"),
    ):
        monkeypatch.setattr(module, number, counts)
        monkeypatch.setattr(module, made, cache(getattr(module, made).__wrapped__))


@pytest.mark.parametrize(
    ("task", "line", "key"),
    [
        ("classify", "a moving story", "label"),
        ("tag", "Anna lives in Rome", "words"),
        pytest.param(
            "qa",
            "Where does Anna live?\tAnna lives in Rome.",
            "answers",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_each_task_is_learned_from_a_pretrained_bert_and_asked(
    pretrained, few_rows, monkeypatch, capsys, tmp_path, task, line, key
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
    report = read_report(run)
    assert report["scores"]["test"] == results["test"] and len(report["samples"]) == 5
    assert {"train", "valid", "test"} == report["data"].keys()
    assert report["score"]["name"] in report["epochs"][-1]
    assert (tmp_path / "models" / "1" / "saved_model.pb").is_file()
    assert (tmp_path / "models" / "1" / "signatures.md").is_file()
    found, blank = ask(monkeypatch, capsys, [line, ""], tmp_path, "--model", str(run))
    assert key in found and key in blank


def test_data_of_one_file_needs_the_other_splits(monkeypatch, tmp_path):
    with pytest.raises(SystemExit, match="No validation data is given: give --valid"):
        here(monkeypatch, "bert_finetune", ["--train", "a.tsv", "--output", tmp_path / "run"])


def write_documents(folder: Path, files: int, documents: int) -> Path:
    """A folder of files of texts; no sentence stands in it twice."""
    folder.mkdir()
    for file in range(files):
        texts = (f"Text {file} {n} begins.\nIt ends with {file} {n}.\n" for n in range(documents))
        (folder / f"{file}.txt").write_text("\n".join(texts))
    return folder


def test_without_data_the_english_of_python_is_learned():
    texts = load_texts(BertPretrainOptions())
    counts = {split: documents.check().documents for split, documents in texts.items()}
    assert counts["train"] > 50 and min(counts["valid"], counts["test"]) >= 2


def test_documents_are_held_out_of_the_texts_where_none_are_given(tmp_path):
    books = write_documents(tmp_path / "books", files=4, documents=25)
    own = write_documents(tmp_path / "own", files=1, documents=3)
    texts = load_texts(BertPretrainOptions(text=str(books), held_out=0.05))
    assert [(split, part.report.documents) for split, part in texts.items()] == [
        ("train", 90),
        ("valid", 5),
        ("test", 5),
    ]
    sentences = [sentence for part in texts.values() for sentence in part.sentences()]
    assert len(set(sentences)) == len(sentences) == 200
    options = BertPretrainOptions(text=str(books), held_out=0.05, valid_text=str(own))
    texts = load_texts(options)
    assert [part.report.documents for part in texts.values()] == [95, 3, 5]
    texts = load_texts(dataclasses.replace(options, test_text=str(own)))
    assert [part.report.documents for part in texts.values()] == [100, 3, 3]


def test_too_few_documents_to_hold_out_are_refused(monkeypatch, tmp_path):
    books = write_documents(tmp_path / "books", files=2, documents=5)
    arguments = ["--text", books, "--output", tmp_path / "run"]
    message = r"10 documents .* takes 88, .*\(--held-out .*; --valid-text and --test-text take file"
    with pytest.raises(SystemExit, match=message):
        here(monkeypatch, "bert_pretrain", arguments)
    with pytest.raises(SystemExit, match=r"for test; it takes 25, .*; --test-text take"):
        here(
            monkeypatch,
            "bert_pretrain",
            [*arguments, "--no-next-sentence", "--valid-text", books / "0.txt"][2:]
            + ["--text", books / "1.txt"],
        )
    with pytest.raises(SystemExit, match="--held-out is 0.5; it must be more than 0 and less"):
        here(monkeypatch, "bert_pretrain", [*arguments, "--held-out", 0.5])


def test_texts_to_score_with_do_not_lie_among_those_to_train_on(monkeypatch, tmp_path):
    books = write_documents(tmp_path / "books", files=2, documents=5)
    arguments = ["--output", tmp_path / "run"]
    with pytest.raises(SystemExit, match="--valid-text .*1.txt lies in the folder of --text, "):
        here(
            monkeypatch,
            "bert_pretrain",
            [*arguments, "--text", books, "--valid-text", books / "1.txt"],
        )
    with pytest.raises(SystemExit, match="--test .*1.txt lies in the folder of --train, "):
        here(
            monkeypatch,
            "bert_finetune",
            [*arguments, "--train", books, "--valid", "a.tsv", "--test", books / "1.txt"],
        )
    for scored in (books, books / "../books/."):
        with pytest.raises(SystemExit, match="--valid-text .*books.* is what --text trains on: a"):
            here(
                monkeypatch, "bert_pretrain", [*arguments, "--text", books, "--valid-text", scored]
            )


FILES = {
    "classify": ("a.tsv", "good\tyes\nbad\tno\n"),
    "tag": ("a.conll", "Ada B-PER\nsleeps O\n\nOh O\n"),
    "qa": (
        "a.json",
        json.dumps(
            {
                "data": [
                    {
                        "paragraphs": [
                            {
                                "context": "Ada sleeps.",
                                "qas": [
                                    {
                                        "id": name,
                                        "question": "Who?",
                                        "answers": [{"text": "Ada", "answer_start": 0}],
                                    }
                                    for name in ("q1", "q2")
                                ],
                            }
                        ]
                    }
                ]
            }
        ),
    ),
}


@pytest.mark.parametrize("task", FILES)
def test_folders_serve_as_data_for_each_task(tmp_path, task):
    name, content = FILES[task]
    for folder in ("train", "train/more", "valid"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(content)
    (tmp_path / "test.data").write_text(content)
    recipe = bert_finetune.TASKS[task](
        BertFinetuneOptions(
            task=task,
            train=str(tmp_path / "{split}"),
            test=str(tmp_path / "test.data"),
        )
    )
    kept = {split: data.check().kept for split, data in recipe.splits.items()}
    assert kept == {"train": 4, "valid": 2, "test": 2}


def test_a_folder_without_a_model_is_named(monkeypatch, tmp_path):
    with pytest.raises(SystemExit, match="holds no model: there is no config.json"):
        here(monkeypatch, "bert_finetune", ["--init", tmp_path, "--output", str(tmp_path / "run")])


def test_a_resumed_run_goes_on_without_the_folder_it_began_with(pretrained, tmp_path):
    began = shutil.copytree(pretrained, tmp_path / "began")
    run = tmp_path / "run"
    options = BertFinetuneOptions(init=str(began), max_length=48, output=str(run))
    model, tokenizer = bert_start.start(options, list, BertSpanQA)
    (began / "tokenizer" / "vocab.txt").write_text("[UNK]\n")  # another vocabulary since
    (run / "checkpoints").mkdir()
    (run / "checkpoints" / "epoch-0001-batch-00000000.npz").touch()
    again, same = bert_start.start(dataclasses.replace(options, resume=True), list, BertSpanQA)
    assert again.config == model.config and same.vocabulary == tokenizer.vocabulary
    assert [w.shape for w in again.weights] == [w.shape for w in model.weights]


def test_a_tokenizer_that_does_not_fit_is_refused_before_pretraining(
    pretrained, monkeypatch, tmp_path
):
    tokenizer = load_tokenizer(pretrained / "tokenizer")
    bert = Bert(BertConfig(tokenizer.vocab_size + 5, max_position_embeddings=48, **SMALL))
    bert.build()
    save_huggingface(bert, tmp_path / "other")
    tokenizer.save(tmp_path / "other")
    given = ["--init", tmp_path / "other", "--text", pretrained.parent / "texts.txt"]
    given += ["--held-out", 0.2, "--max-length", 48, "--output", tmp_path / "run"]
    with pytest.warns(UserWarning, match="start at random"), pytest.raises(SystemExit) as stop:
        here(monkeypatch, "bert_pretrain", [*given, "--export", tmp_path / "models"])
    assert "The tokenizer has 600 ids, the model 605." in str(stop.value)
    assert not (tmp_path / "run" / "checkpoints").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "tag", "regression": True}, "--regression is for --task classify, not for --ta"),
        ({"task": "tag", "pooling": "mean"}, "--pooling is for --task classify, not for --task "),
        ({"task": "qa", "balanced": True}, "--balanced is for --task classify, not for --task qa"),
        ({"task": "tag", "no_answer_threshold": 0.5}, "--no-answer-threshold is for --task qa"),
        ({"balanced": True, "regression": True}, "--balanced weighs labels, but with --regressio"),
        ({"task": "qa", "stride": 0}, "--stride is 0; it must be at least 1"),
        ({"max_steps": 0}, "--max-steps is 0; it must be more than 0"),
        ({"max_minutes": -1.0}, "--max-minutes is -1; it must be more than 0"),
        ({"epochs": 0}, "--epochs is 0; it must be more than 0"),
        ({"warmup_share": 1.0}, "--warmup-share is 1; it must be from 0 to less than 1"),
    ],
)
def test_options_that_leave_nothing_to_do_or_are_of_another_task_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        BertFinetuneOptions(**options)


def test_tags_that_mark_no_entities_are_chosen_by_the_accuracy_of_words(tmp_path):
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.conll").write_text("Ada N\nruns V\n")
    tag = bert_finetune.TASKS["tag"]
    recipe = tag(BertFinetuneOptions(task="tag", train=str(tmp_path / "{split}.conll")))
    assert recipe.measure == "word_accuracy"
    assert tag(BertFinetuneOptions(task="tag")).measure == "f1"


def test_tags_that_training_never_shows_are_named_and_labels_refused(tmp_path):
    for split, tag in (("train", "B-PER"), ("valid", "B-LOC"), ("test", "B-PER")):
        (tmp_path / f"{split}.conll").write_text(f"Rome {tag}\nsleeps O\n")
        (tmp_path / f"{split}.tsv").write_text(f"a\t1\nb\t{'2' if split != 'test' else '3'}\n")
    options = BertFinetuneOptions(task="tag", train=str(tmp_path / "{split}.conll"))
    with pytest.warns(UserWarning, match=r"valid\.conll: no training sentence has the tag B-LOC;"):
        recipe = bert_finetune.TASKS["tag"](options)
    assert recipe.labels == ["O", "B-PER"]
    options = BertFinetuneOptions(train=str(tmp_path / "{split}.tsv"))
    with pytest.raises(ValueError, match=r"test\.tsv: no training row has the label 3; labels are"):
        bert_finetune.TASKS["classify"](options)


class Labeller:
    """Says of each text what it was asked."""

    def classify(self, texts, pairs=None):
        columns = texts if pairs is None else zip(texts, pairs, strict=True)
        return [Label(str(column), 1.0, {}, False) for column in columns]


def test_lines_with_a_tab_are_pairs_and_their_neighbours_single_texts():
    lines = ["one", "two\tthree", "", "four\t"]
    found = [answer["label"] for answer in bert_predict.classify(Labeller(), lines)]
    assert found == ["one", "('two', 'three')", "", "('four', '')"]


def test_a_line_that_is_no_pair_is_named_after_the_answers_before_it(monkeypatch, tmp_path, capsys):
    def answer(task, lines):
        return ({"first": first} for first in bert_predict.two_columns(lines)[0])

    monkeypatch.setattr(bert_predict, "open_task", lambda options: Labeller())
    monkeypatch.setitem(bert_predict.ANSWERS, Labeller, answer)
    (tmp_path / "lines.txt").write_text("q\tc\n" * 1030 + "no tab\nq\tc\n")
    with pytest.raises(SystemExit, match=r"lines\.txt, line 1031: 'no tab' must be two texts"):
        here(monkeypatch, "bert_predict", [str(tmp_path / "lines.txt")])
    assert capsys.readouterr().out == '{"first": "q"}\n' * 1030
