"""The command that asks a server, line by line: a stub of it, with signatures made up here."""

import io
import json
import sys

import client as command
import command_line
import pytest
import tensorflow as tf
from serving.serving_stub import Fault, Function, RestStub, StubModel

STRING, FLOAT, INT, BOOL = tf.string, tf.float32, tf.int32, tf.bool


def signature(inputs: dict, outputs: dict, call) -> Function:
    specs = [
        {name: tf.TensorSpec([None, *[None] * rank], dtype) for name, (dtype, rank) in side.items()}
        for side in (inputs, outputs)
    ]
    return Function(call, *specs)


def texts(*names: str) -> dict:
    return dict.fromkeys(names, (STRING, 0))


def column(text: tf.Tensor, value, dtype=None) -> tf.Tensor:
    """The same for each row."""
    value = tf.constant(value, dtype)
    return tf.tile(value[None], [tf.shape(text)[0], *[1] * value.shape.rank])


def translator() -> dict[str, Function]:
    def best(text):
        return {
            "translation": tf.strings.upper(text),
            "score": column(text, -0.5),
            "truncated": tf.strings.length(text) > 9,
        }

    def n_best(text):
        found = tf.stack([tf.strings.upper(text), tf.strings.lower(text)], axis=1)
        scores = column(text, [-0.5, -1.5])
        return {"translations": found, "scores": scores, "truncated": column(text, False)}

    one = {"translation": (STRING, 0), "score": (FLOAT, 0), "truncated": (BOOL, 0)}
    several = {"translations": (STRING, 1), "scores": (FLOAT, 1), "truncated": (BOOL, 0)}
    return {
        "serving_default": signature(texts("text"), one, best),
        "n_best": signature(texts("text"), several, n_best),
    }


def classifier() -> dict[str, Function]:
    def classify(text, text_pair=None):
        label = text if text_pair is None else tf.strings.join([text, text_pair], "+")
        score, scores = column(text, 0.75), column(text, [0.75, 0.25])
        truncated = column(text, False)
        return {"label": label, "score": score, "scores": scores, "truncated": truncated}

    outputs = {"label": (STRING, 0), "score": (FLOAT, 0), "scores": (FLOAT, 1)}
    outputs |= {"truncated": (BOOL, 0)}
    return {
        "serving_default": signature(texts("text"), outputs, classify),
        "pair": signature(texts("text", "text_pair"), outputs, classify),
    }


def tagger() -> dict[str, Function]:
    def tag(text):
        outputs = {"words": tf.stack([text, text], 1), "tags": column(text, ["O", ""])}
        outputs |= {"starts": column(text, [0, 0]), "ends": column(text, [3, 0])}
        return outputs | {"scores": column(text, [0.5, 0.0]), "length": column(text, 1)}

    outputs = {"words": (STRING, 1), "tags": (STRING, 1), "starts": (INT, 1), "ends": (INT, 1)}
    outputs |= {"scores": (FLOAT, 1), "length": (INT, 0)}
    return {"serving_default": signature(texts("text"), outputs, tag)}


def answerer() -> dict[str, Function]:
    def best(question, context):
        raise AssertionError("not asked")

    def n_best(question, context):
        outputs = {"answers": tf.stack([context, tf.zeros_like(context)], 1)}
        outputs |= {"starts": column(question, [0, 0]), "ends": column(question, [3, 0])}
        outputs |= {"scores": column(question, [0.5, float("-inf")])}
        return outputs | {name: column(question, True) for name in ("has_answer", "truncated")}

    outputs = {"answers": (STRING, 1), "starts": (INT, 1), "ends": (INT, 1), "scores": (FLOAT, 1)}
    outputs |= {"has_answer": (BOOL, 0), "truncated": (BOOL, 0)}
    return {
        "serving_default": signature(texts("question", "context"), {"answer": (STRING, 0)}, best),
        "n_best": signature(texts("question", "context"), outputs, n_best),
    }


def fill_mask() -> dict[str, Function]:
    def fill(text):
        outputs = {"tokens": column(text, ["cat", ""]), "scores": column(text, [0.5, 0.0])}
        return outputs | {"truncated": column(text, False)}

    outputs = {"tokens": (STRING, 1), "scores": (FLOAT, 1), "truncated": (BOOL, 0)}
    return {"serving_default": signature(texts("text"), outputs, fill)}


def embedder() -> dict[str, Function]:
    def embed(text):
        return {"embedding": column(text, [0.5, -2.0]), "truncated": column(text, False)}

    outputs = {"embedding": (FLOAT, 1), "truncated": (BOOL, 0)}
    return {"serving_default": signature(texts("text"), outputs, embed)}


def generator() -> dict[str, Function]:
    def generate(prompt, **options):
        text = tf.strings.as_string(options.get("seed", column(prompt, 99)))
        full_text = tf.strings.join([prompt, text])
        outputs = {"text": text, "full_text": full_text, "score": column(prompt, -0.5)}
        return outputs | {"truncated": tf.strings.length(prompt) > 9}

    def score(text):
        outputs = {"log_probability": column(text, -2.0), "tokens": column(text, 2)}
        return outputs | {"truncated": column(text, False)}

    options = {"max_new_tokens": (INT, 0), "temperature": (FLOAT, 0), "top_k": (INT, 0)}
    options |= {"top_p": (FLOAT, 0), "seed": (INT, 0)}
    outputs = {"text": (STRING, 0), "full_text": (STRING, 0), "score": (FLOAT, 0)}
    outputs |= {"truncated": (BOOL, 0)}
    scores = {"log_probability": (FLOAT, 0), "tokens": (INT, 0), "truncated": (BOOL, 0)}
    return {
        "serving_default": signature(texts("prompt"), outputs, generate),
        "generate": signature(texts("prompt") | options, outputs, generate),
        "score": signature(texts("text"), scores, score),
    }


def typed(text: str) -> io.TextIOWrapper:
    """A standard input that holds a text."""
    return io.TextIOWrapper(io.BufferedReader(io.BytesIO(text.encode("utf-8"))))


@pytest.fixture
def ask(monkeypatch, capsys):
    """Runs the command on lines of standard input; gives its output lines and its last stub."""

    def ask(functions, lines, *arguments):
        model = StubModel("m", {1: functions, 2: functions}, {"stable": 1})
        with RestStub(model) as stub:
            ask.model = model
            monkeypatch.setattr(sys, "stdin", typed("".join(line + "\n" for line in lines)))
            monkeypatch.setattr(
                sys, "argv", ["client.py", "--address", stub.url, "--model", "m", *arguments]
            )
            command_line.run(command.main)
        return capsys.readouterr().out.splitlines()

    return ask


def test_a_translation_for_each_line(ask, capsys):
    assert ask(translator(), ["ein", "", "zwei 🙂"]) == ["EIN", "", "ZWEI 🙂"]
    assert ask(translator(), ["ein"], "--n-best", "2") == ["1\t-0.5000\tEIN", "1\t-1.5000\tein"]


def test_lines_that_were_cut_are_counted(monkeypatch, capsys):
    with RestStub(StubModel("m", {1: translator()})) as stub:
        monkeypatch.setattr(sys, "stdin", typed("short\nlong as it is\n"))
        monkeypatch.setattr(sys, "argv", ["client.py", "--address", stub.url, "--model", "m"])
        command_line.run(command.main)
    assert capsys.readouterr().err.startswith("1 of 2 lines were cut")


def test_a_file_in_requests_of_some_lines(ask, tmp_path):
    file = tmp_path / "texts.txt"
    file.write_text("".join(f"text {number}\n" for number in range(7)), encoding="utf-8")
    found = ask(translator(), [], "--batch-size", "3", str(file))
    assert found == [f"TEXT {number}" for number in range(7)]
    assert [len(inputs["text"]) for *_, inputs in ask.model.asked] == [3, 3, 1]


def test_a_version_or_a_label(ask):
    for arguments, asked in (
        ([], (None, None)),
        (["--version", "1"], (1, None)),
        (["--label", "stable"], (None, "stable")),
    ):
        ask(translator(), ["a"], *arguments)
        assert [request[:2] for request in ask.model.asked] == [asked]


def test_json_for_each_line_as_bert_predict_writes_it(ask):
    found = [json.loads(line) for line in ask(classifier(), ["one", "one\ttwo", "three"])]
    assert [row["label"] for row in found] == ["one", "one+two", "three"]
    expected = {"label": "one", "score": 0.75, "scores": [0.75, 0.25], "truncated": False}
    assert found[0] == expected
    word = {"word": "Ada", "tag": "O", "start": 0, "end": 3, "score": 0.5}
    assert [json.loads(line) for line in ask(tagger(), ["Ada"])] == [{"words": [word]}]
    answer = {"text": "Ada", "start": 0, "end": 3, "score": 0.5}
    assert [json.loads(line) for line in ask(answerer(), ["Who?\tAda"])] == [
        {"answers": [answer], "has_answer": True, "truncated": True}
    ]
    assert [json.loads(line) for line in ask(fill_mask(), ["a [MASK]"])] == [
        {"tokens": ["cat"], "scores": [0.5], "truncated": False}
    ]
    found = [json.loads(line) for line in ask(embedder(), ["a"])]
    assert found == [{"embedding": [0.5, -2.0]}]


def test_a_line_that_is_no_pair_is_named(ask):
    with pytest.raises(SystemExit, match="standard input, line 4: 'no tab' must be two texts"):
        ask(answerer(), ["a\tb", "c\td", "e\tf", "no tab"], "--batch-size", "2")


def test_texts_and_scores_as_gpt_generate_writes_them(ask):
    assert ask(generator(), ["a", "b"]) == ["a99", "-" * 20, "b99"]
    assert ask(generator(), ["a", "b"], "--seed", "7", "--n", "2", "--json") == [
        json.dumps({"prompt": p, "text": s, "full_text": p + s, "score": -0.5, "truncated": False})
        for p, s in (("a", "7"), ("a", "8"), ("b", "9"), ("b", "10"))
    ]
    assert ask(generator(), ["a"], "--score") == ["-2.0000\t2\t2.7183"]


@pytest.mark.parametrize(
    ("functions", "arguments", "fault"),
    [
        (tagger, ["--n-best", "2", "--seed", "1"], "m is a TokenTagger, which takes no --n-best"),
        (tagger, ["--xla"], "TokenTagger, which takes no --xla"),
        (translator, ["--temperature", "0"], "Translator, which takes no --temperature"),
        (translator, ["--n-best", "0"], "--n-best is 0; it must be at least 1"),
        (translator, ["--n-best", "3"], "gives 2 translations, not 3"),
        (translator, ["--version", "7"], "does not serve version 7 of model 'm'"),
        (translator, ["--version", "1", "--label", "stable"], "a version or a label, not both"),
        (translator, ["--timeout", "0"], "timeout must be above 0"),
        (generator, ["--score", "--seed", "1"], "--score makes no new text: leave out --seed"),
        (generator, ["--n", "2"], "give --seed with --n"),
        (generator, ["--top-p", "2"], r"top_p must be from 0 to 1 \(1: off\), not 2.0"),
        (generator, ["--xla"], "not found in signature def"),
        (translator, ["no-such-file.txt"], "no-such-file.txt"),
    ],
)
def test_a_mistake_is_one_sentence(ask, functions, arguments, fault):
    with pytest.raises(SystemExit, match=fault) as caught:
        ask(functions(), ["a"], *arguments)
    assert str(caught.value).startswith("client.py: ") and "\n" not in str(caught.value)


def test_no_server_is_one_sentence(monkeypatch):
    with RestStub(StubModel("m", faults=[Fault("UNAVAILABLE", "loading")])) as stub:
        monkeypatch.setattr(
            sys,
            "argv",
            ["client.py", "--address", stub.url, "--model", "m", "--retries", "0"],
        )
        with pytest.raises(SystemExit, match=f"client.py: {stub.url} is not available: loading"):
            command_line.run(command.main)
