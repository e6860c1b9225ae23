"""What explain.py prints and writes, and what it says of mistakes."""

import dataclasses
import re
import shlex
import sys
from pathlib import Path

import command_line
import explain
import explain_models
import pytest
import small_berts
from numpy.testing import assert_allclose

from keras_transformer.checkpoints import save_huggingface, save_wordpiece
from keras_transformer.inspection.word_vectors import vectors_in_context

PAGE = Path(__file__).parents[2] / "docs" / "explain.md"


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["explain.py", *arguments])
        command_line.run(explain.main)
        return capsys.readouterr().out

    return run


@pytest.fixture
def refused(run, capsys):
    def refused(*arguments):
        with pytest.raises(SystemExit) as ended:
            run(*arguments)
        return f"{ended.value.code} {capsys.readouterr().err}"

    return refused


@pytest.fixture(scope="module")
def bert_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "embedder"
    small_berts.make("embedder").save(folder)
    return str(folder)


def test_without_a_topic_it_lists_them(run):
    printed = run()
    assert [line.split()[0] for line in printed.splitlines()[1:]] == [*explain.TOPICS, "all"]


def test_all_topics_come_out_as_text_and_as_a_page(run, tmp_path):
    pytest.importorskip("matplotlib")
    printed = run("all", "--page", "pages/all.html")
    page = (tmp_path / "pages" / "all.html").read_text(encoding="utf-8")
    assert "Written: pages/all.html" in printed
    for title in ("Attention, with projections", "Softmax", "Positions", "Learning-rate schedules"):
        assert f"{title}\n{'=' * len(title)}\n" in printed and f"<h2>{title}</h2>" in page
    for number in ("1.9965", "0.6870", "1.2093", "1.5906"):
        assert number in printed and f">{number}</td>" in page
    assert page.count("<svg") == 4  # temperature, positions, activations, schedules
    assert "http:" not in page.replace("http://www.w3.org/", "")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["softmax", "--scores", "3.2", "5.1", "-1.7"], "0.1300    0.8690    0.0010"),
        (["softmax", "--temperature", "5"], "5. Temperature 5"),
        (["lookup", "--scores", "0", "0", "--values", "1", "2"], "      1.5000"),
        (["scaling", "--scores", "112", "96"], "0.8808  0.1192"),
        (["gradient", "--scores", "0", "0", "--true-class", "2"], "0.5000  -0.5000"),
        (["mask", "--length", "2"], "position 1  0.5000  0.5000"),
        (["positions", "--length", "3"], "position 2  0.9093  -0.4161  0.0200  0.9998"),
        (["schedules", "--peak", "1", "--warmup-steps", "2", "--total-steps", "5"], "Peak 1 after"),
        (["attention", "--causal"], "Attention, without projections, causal"),
        (["attention", "--numbers", '{"x": [[1, 0], [0, 1]], "words": ["a", "dog"]}'], "to dog"),
    ],
)
def test_numbers_of_ones_own(run, arguments, expected):
    assert expected in run(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sofmax"], r"topics are attention, .* and all, not 'sofmax'\. Did you mean softmax\?"),
        (["softmax", "--scores", "3", "x"], "--scores takes numbers, not '3 x'"),
        (["softmax", "--temperature", "hot"], "--temperature takes a number, not 'hot'"),
        (["lookup", "--values", "1", "2"], "lookup takes --values together with --scores"),
        (["lookup", "--scores", "1", "2"], "lookup takes --scores together with --values"),
        (["neighbours", "--analogy", "a", "b"], "--analogy needs 3 values"),
        (["attention", "--numbers", '{"y": [[1]]}'], "--numbers knows x, wq, wk, wv, words"),
        (["attention", "--numbers", '{"wq": [[1]]}'], "--numbers needs x"),
        (["attention", "--numbers", "[1]"], "--numbers takes a JSON object"),
        (["contexts"], "give its folder by --model"),
        (["neighbours", "--model", "nowhere"], "There is no folder nowhere"),
        (["shapes", "--preset", "huge"], "preset must be one of tiny"),
        (["shapes", "--vocab-size", "5"], "--vocab-size must be at least"),
        (["shapes", "--text", "a", "b"], "shapes takes one --text, not 2"),
        (["shapes", "--family", "gpt", "--target", "b"], "there is no target"),
        (["mask", "--page", "."], "--page . is a folder"),
        (
            ["mask", "--scores", "1", "2"],
            "--scores belongs to softmax, lookup, .*; nothing in mask",
        ),
        (
            ["softmax", "mask", "--top", "3"],
            "--top belongs to neighbours; nothing in softmax, mask",
        ),
        (
            ["shapes", "--model", "x", "--text", "a", "--family", "gpt"],
            "--family is for .* without",
        ),
    ],
)
def test_mistakes_are_one_sentence(refused, arguments, message):
    said = refused(*arguments)
    assert re.search(message, said), said
    assert "Traceback" not in said


def test_every_option_but_those_of_all_topics_says_whose_it_is():
    names = {option.name for option in dataclasses.fields(explain.ExplainOptions)}
    assert names - set(explain.TAKEN_BY) == {"topics", "page"}
    assert {topic for topics in explain.TAKEN_BY.values() for topic in topics} <= set(
        explain.TOPICS
    )


def test_shapes_of_random_weights_are_the_same_for_the_same_seed(run):
    options = "shapes", "--family", "gpt", "--text", "ab"
    printed = run(*options)
    assert printed == run(*options)
    assert "Its weights are random." in " ".join(printed.split()) and "Probabilities" in printed


DOCUMENTED = [
    (command, output)
    for command, output in re.findall(
        r"^```bash\n([^`]*)^```\n\n```text\n(.*?)^```",
        PAGE.read_text(encoding="utf-8"),
        re.S | re.M,
    )
]


@pytest.mark.parametrize(("command", "output"), DOCUMENTED)
def test_the_page_shows_what_is_printed(run, command, output):
    arguments = shlex.split(command.replace("\\\n", " "))
    printed = run(*arguments[2:])
    for part in output.split("...\n"):
        assert part.rstrip("\n") in printed


def test_the_page_shows_some():
    assert len(DOCUMENTED) == 5


def test_a_vocabulary_of_any_size():
    tokenizer = explain_models.characters(["ab"], 60_000, mask=True)
    assert tokenizer.vocab_size == 60_000
    assert tokenizer.tokenize("ab").shape == (2,) and tokenizer.unk_id not in tokenizer.tokenize(
        "ab"
    )


def test_words_in_the_model_of_a_run(run, bert_folder):
    of_words = ["--word", "dog", "--text", "the dog", "a dog", "--words", "dog", "--top", "2"]
    printed = run("contexts", "neighbours", "--model", bert_folder, *of_words)
    assert "The word “dog” in 2 texts" in printed and "Neighbours of dog" in printed
    printed = run("shapes", "--model", bert_folder, "--text", "the dog")
    assert "Shapes: BertEmbedder" in printed and "Its weights are random" not in printed


def test_a_hugging_face_directory(bert_folder, tmp_path):
    task = explain_models.open_task(bert_folder)
    save_huggingface(task.model, tmp_path)
    save_wordpiece(task.tokenizer, tmp_path)
    found = explain_models.open_task(str(tmp_path))
    ids, vectors = vectors_in_context(found, "dog", "the dog")
    expected_ids, expected = vectors_in_context(task, "dog", "the dog")
    assert ids == expected_ids
    assert_allclose(vectors, expected, atol=1e-5)


@pytest.mark.slow
def test_the_base_model_of_the_2017_paper_has_about_65_million_parameters(run):
    printed = run("shapes", "--preset", "base", "--vocab-size", "37000")
    assert "63,082,496 parameters" in " ".join(printed.split())
    assert "[1, 8, 10, 64]" in printed  # 512 in 8 heads
