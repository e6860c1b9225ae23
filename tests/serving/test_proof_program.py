"""The program that runs exports without Python reads what is right and refuses what is wrong."""

from __future__ import annotations

import base64
import json
import subprocess

import pytest
import small_exports
import tensorflow as tf

SPECS = {
    "text": tf.TensorSpec([None], tf.string),
    "number": tf.TensorSpec([None], tf.int32),
    "large": tf.TensorSpec([None], tf.int64),
    "share": tf.TensorSpec([None], tf.float32),
    "flag": tf.TensorSpec([None], tf.bool),
}


class Echo(tf.Module):
    """Gives back what it is given, in several ways."""

    @tf.function(input_signature=list(SPECS.values()))
    def echo(self, text, number, large, share, flag):
        return {
            "text": text,
            "encoded": tf.io.encode_base64(text, pad=True),
            "number": number,
            "large": large,
            "share": share,
            "flag": flag,
            "table": tf.stack([number, number], 1),
        }

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def twice(self, text):
        return {"twice": tf.strings.join([text, text])}

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32, name="x")])
    def compiled(self, x):
        return {"y": tf.function(lambda x: x * x + 1, jit_compile=True)(x)}

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32, name="x")])
    def of_python(self, x):
        return {"y": tf.ensure_shape(tf.py_function(lambda x: x + 1, [x], tf.float32), [])}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder, echo = tmp_path_factory.mktemp("echo"), Echo()
    signatures = {"serving_default": echo.twice, "echo": echo.echo}
    signatures |= {"compiled": echo.compiled, "of_python": echo.of_python}
    tf.saved_model.save(echo, str(folder), signatures=signatures)
    return folder


def run(model, lines: str, *options: str) -> tuple[int, list[dict], str]:
    """The exit status, the answers, and what was said beside them."""
    command = [small_exports.runner().program, *options, model]
    done = subprocess.run(command, input=lines.encode(), capture_output=True, timeout=300)
    answers = [json.loads(line) for line in done.stdout.decode("utf-8").splitlines()]
    return done.returncode, answers, done.stderr.decode()


def test_values_of_every_type_pass_unchanged(model):
    texts = ["", "nul \0 in", 'quotes " \\ / \b\f\n\r\t', "茶🙂", b"\xff\x80 \0", b"ab", "é"]
    given = {
        "text": texts,
        "number": [0, -1, 2**31 - 1, -(2**31), 5, 6, 7],
        "large": [0, 2**63 - 1, -(2**63), 1, 2, 3, 4],
        "share": [0.0, -1.5, 1e30, 0.1, 1e-40, 3.4028234663852886e38, 7],
        "flag": [True, False, True, True, False, False, True],
    }
    with small_exports.runner().load(model) as served:
        with pytest.raises(UnicodeDecodeError):  # bytes come back as they are
            served.ask("echo", given)
    given["text"] = [text for text in texts if text != b"\xff\x80 \0"] + ["x"]
    with small_exports.runner().load(model) as served:
        found = served.ask("echo", given)["outputs"]
        sizes = served.ask("echo", {name: given[name][:0] for name in given})["outputs"]
    raw = [text if isinstance(text, bytes) else text.encode() for text in given["text"]]
    assert found["text"] == [text.decode() for text in raw]
    assert found["encoded"] == [base64.urlsafe_b64encode(text).decode() for text in raw]
    assert found["table"] == [[n, n] for n in given["number"]]
    expected = tf.constant(given["share"], tf.float32).numpy()
    assert (tf.constant(found["share"], tf.float32).numpy() == expected).all()
    assert all(isinstance(value, float) for value in found["share"])
    for name in ("number", "large", "flag"):
        assert found[name] == given[name]
    assert all(values == [] for values in sizes.values())


def test_every_way_to_write_a_text_is_read(model):
    lines = r"""
{"inputs": {"text": ["\u8336 \ud83d\ude42 \u0000 \/ \"", "茶"]}}
{"inputs": ["a"]}
 { "inputs" : { "text" : [ { "b64" : "w6k=" } , "" ] } , "signature_name" : "serving_default" } 
{"signature_name": "serving_default", "other": [1, {"a": null}, -1.5e3, true], "inputs": ["b"]}
{"inputs": {"te\u0078t": []}}
""".strip()
    status, answers, _ = run(model, lines)
    assert [answer["outputs"]["twice"] for answer in answers] == [
        [2 * '茶 🙂 \0 / "', "茶茶"], ["aa"], ["éé", ""], ["bb"], []
    ]  # fmt: skip
    assert status == 0


WRONG = {
    "": "must be an object of JSON",
    "[]": 'with "inputs"',
    "{": "must be an object",
    '{"inputs": ["a"]': "must be an object",
    '{"inputs": ["a"]} x': "must be an object",
    '{"inputs": ["a",]}': "must be an object",
    '{"inputs": ["\\ud83d"]}': "must be an object",
    '{"inputs": ["\\x"]}': "must be an object",
    '{"inputs": ["a\tb"]}': "must be an object",
    '{"inputs": ' + 100 * "[" + 100 * "]" + "}": "must be an object",
    '{"inputs": {"txt": ["a"]}}': 'input "text" is missing',
    '{"inputs": {"text": ["a"], "more": []}}': "an input is unknown",
    '{"inputs": {"text": ["a"], "text": ["b"]}}': "given twice",
    '{"inputs": {"text": [1]}}': 'input "text": value 0',
    '{"inputs": {"text": ["a", ["b"]]}}': 'input "text": value 1',
    '{"inputs": {"text": [{"b64": "a"}]}}': 'input "text": value 0',
    '{"inputs": {"text": [null]}}': 'input "text": value 0',
    '{"inputs": ["a"], "signature_name": "other"}': 'no signature "other"',
    '{"inputs": ["a"], "signature_name": 1}': "must be a string",
}


def test_what_is_wrong_is_refused_and_concerns_no_other_request(model):
    sound = '{"inputs": ["a"]}'
    lines = "".join(f"{line}\n{sound}\n" for line in WRONG)
    status, answers, _ = run(model, lines)
    assert status == 2
    assert answers[1::2] == [{"outputs": {"twice": ["aa"]}}] * len(WRONG)
    for answer, (line, words) in zip(answers[::2], WRONG.items(), strict=True):
        assert words in answer["error"], line


OF_ANOTHER_TYPE = {
    "number": ["1.5", "1e3", "2147483648", '"1"', "true", "null"],
    "large": ["9223372036854775808", "1.0"],
    "share": ['"a"', "false", "[1]"],
    "flag": ["0", '"true"', "null"],
}


def test_a_value_of_another_type_is_refused(model):
    usual = {"text": '"a"', "number": "1", "large": "1", "share": "1", "flag": "true"}
    cases = [(name, value) for name, values in OF_ANOTHER_TYPE.items() for value in values]
    lines = []
    for name, value in [*cases, ("number", "2")]:
        inputs = ", ".join(f'"{key}": [{given}]' for key, given in (usual | {name: value}).items())
        lines.append(f'{{"signature_name": "echo", "inputs": {{{inputs}}}}}\n')
    _, (*answers, sound), _ = run(model, "".join(lines))
    assert sound["outputs"]["number"] == [2]
    for answer, (name, value) in zip(answers, cases, strict=True):
        assert f'input "{name}": value 0 is not of the type' in answer["error"], value


def test_threads_answer_in_the_order_of_the_requests(model):
    texts = [[f"{number}-{row}" for row in range(number % 7)] for number in range(300)]
    with small_exports.runner().load(model, threads=8) as served:
        answers = served.ask_all([("serving_default", {"text": rows}) for rows in texts])
    found = [answer["outputs"]["twice"] for answer in answers]
    assert found == [[2 * text for text in rows] for rows in texts]


def test_what_must_be_compiled_is_refused_unless_xla_is_allowed(model):
    line = '{"signature_name": "compiled", "inputs": {"x": 3}}'
    status, (answer,), _ = run(model, line)
    assert status == 2 and "XLA" in answer["error"]
    status, (answer,), _ = run(model, line, "-x")
    assert status == 0 and answer == {"outputs": {"y": 10.0}}


def test_what_needs_python_does_not_work(model):
    _, (answer,), _ = run(model, '{"signature_name": "of_python", "inputs": {"x": 3}}')
    assert "error" in answer


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-t", "0"], "usage: run_export [-x]"),
        (["-y"], "usage: run_export [-x]"),
        (["another"], "usage: run_export [-x]"),
        ([], "nowhere: Could not find SavedModel"),
    ],
)
def test_wrong_calls_end_with_a_sentence(tmp_path, options, words):
    status, answers, said = run(tmp_path / "nowhere", "", *options)
    assert (status, answers) == (1, []) and words in said


def test_a_process_that_dies_or_is_silent_is_an_error(model, tmp_path):
    with small_exports.runner().load(tmp_path) as served:
        with pytest.raises(RuntimeError, match=r"status 1: [\s\S]*Could not find SavedModel"):
            served.ask("serving_default", {"text": ["a"]})
    with small_exports.runner().load(model) as served:
        with pytest.raises(TimeoutError, match="no answer after 0 s"):
            served.ask("serving_default", {"text": ["a"]}, seconds=0)
