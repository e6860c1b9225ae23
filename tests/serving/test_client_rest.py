"""The REST client: what it sends, and what it makes of answers.

The server is a stub: that a real one answers so is not shown here.
"""

import json
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from serving_stub import Fault, RestStub, StubModel, answering, echo, free_port

from keras_transformer.serving import Client, RequestRefused, ServingError

TEXTS = [
    "A dog runs.",
    "我住在北京。 ภาษาไทย عربي עברית",
    "👩‍👩‍👧 🙂 e\u0301 \ufeff",
    "nul \0 in between, \0",
    'quote " backslash \\ slash /',
    "\n\r\t\x1b\x7f\u2028\u2029",
    "",
    "x" * 100_000,
]


# Requests ----------------------------------------------------------------------------------------


def test_a_request_is_in_columns_and_names_its_signature(stub, client):
    client.translate(["one", "two"])
    (method, path, body) = stub.requests[0]
    assert (method, path) == ("POST", "/v1/models/echo:predict")
    expected = {"signature_name": "serving_default", "inputs": {"text": ["one", "two"]}}
    assert json.loads(body) == expected


def test_texts_of_all_scripts_come_back_as_they_were(stub, client):
    assert [found.texts[0] for found in client.translate(TEXTS)] == TEXTS
    assert "我住在北京".encode() in stub.requests[0][2]  # as UTF-8, not escaped


def test_bytes_go_as_text_where_they_are_utf_8_and_in_base64_where_not(stub, client):
    with pytest.raises(UnicodeDecodeError):
        b"\xff\xc3".decode()
    stub.model.versions[1]["serving_default"] = echo()["serving_default"]._replace(
        call=lambda text: {"translation": text == b"\xff\xc3", "score": [0.0] * 2}
    )
    outputs = client.predict("serving_default", {"text": ["é".encode(), b"\xff\xc3"]})
    assert outputs["translation"] == [False, True]  # the model saw the very bytes
    assert json.loads(stub.requests[0][2])["inputs"] == {"text": ["é", {"b64": "/8M="}]}


def test_half_a_character_is_refused_before_anything_is_sent(stub, client):
    with pytest.raises(ValueError, match=r"texts\[1\] holds half a character"):
        client.translate(["fine", "broken \ud83d"])
    assert not stub.requests


@pytest.mark.parametrize(
    ("texts", "fault"),
    [
        ("one text", "must be a list of strings, such as .text., not one string"),
        (None, "must be a list of strings, not None"),
        ({"a": 1}, "must be a list of strings"),
        (["a", 1], r"texts\[1\] must be a string, not 1"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(stub, client, texts, fault):
    with pytest.raises(ValueError, match=fault):
        client.tag(texts)
    assert not stub.requests


def test_no_texts_are_no_request(stub, client):
    assert client.translate([]) == [] and client.embed([]).shape[0] == 0
    assert client.classify([], []) == [] and client.generate([], seed=1) == []
    assert not stub.requests


def test_many_texts_are_sent_in_parts_and_answered_in_order(stub):
    texts = [f"text {number}" for number in range(23)]
    client = Client(stub.url, "echo", batch_size=5)
    assert [found.texts[0] for found in client.translate(iter(texts))] == texts
    assert [len(inputs["text"]) for *_, inputs in stub.model.asked] == [5, 5, 5, 5, 3]


def test_several_threads_share_a_client(stub, client):
    def ask(number: int) -> list[str]:
        texts = [f"{number} of {part}" for part in range(3)]
        assert [found.texts[0] for found in client.translate(texts)] == texts
        return texts

    with ThreadPoolExecutor(8) as pool:
        asked = list(pool.map(ask, range(24)))
    assert sorted(inputs["text"] for *_, inputs in stub.model.asked) == sorted(asked)


def test_a_version_or_a_label_may_be_chosen():
    model = StubModel(versions={1: echo(), 3: echo()}, labels={"stable": 1})
    with RestStub(model) as stub:
        for choice in ({}, {"version": 3}, {"label": "stable"}):
            Client(stub.url, "echo", **choice).translate(["a"])
    assert [path for _, path, _ in stub.requests] == [
        "/v1/models/echo:predict",
        "/v1/models/echo/versions/3:predict",
        "/v1/models/echo/labels/stable:predict",
    ]
    assert [asked[:2] for asked in model.asked] == [(None, None), (3, None), (None, "stable")]


def test_a_path_before_the_api_is_kept():
    answer = json.dumps({"outputs": {"translation": ["b"], "score": [0.5], "truncated": [False]}})
    with RestStub(respond=answering(200, answer)) as stub:
        assert Client(f"{stub.url}/models/", "echo").translate(["a"])[0].texts == ["b"]
    assert stub.requests[0][1] == "/models/v1/models/echo:predict"


@pytest.mark.parametrize(
    "address",
    [
        "localhost:8501",
        "localhost",
        "",
        None,
        "ftp://localhost",
        "http://",
        "http://localhost:port",
        "http://me@localhost:8501",
        "http://localhost:8501/?a=b",
        "http://localhost:8501/a b",
        "http://localhost:8501/ä",
        "http://localhost:8501/v1/models/echo:predict",
        "http://a..b:8501",
        f"http://{70 * 'a'}:8501",
        "grpc://localhost",
        "grpc://localhost:8500/v1",
    ],
)
def test_what_is_no_address_is_refused(address):
    with pytest.raises(ValueError, match="address must be such as http://localhost:8501"):
        Client(address, "echo")


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"version": 1, "label": "stable"}, "Give a version or a label, not both"),
        ({"version": "1"}, "version must be a whole number, not '1'"),
        ({"version": -1}, "version must be at least 0"),
        ({"label": ""}, "A model's label must be a text"),
        ({"label": "a b"}, "name of a model or label has letters, digits and"),
        ({"timeout": 0}, "timeout must be above 0"),
        ({"timeout": float("nan")}, "timeout must be above 0"),
        ({"retries": -1}, "retries must be at least 0"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
    ],
)
def test_options_out_of_range_are_refused(options, fault):
    with pytest.raises(ValueError, match=fault):
        Client("http://localhost:8501", "echo", **options)


@pytest.mark.parametrize("name", ["", "a/b", "a:predict", "ä", "..%2f", None])
def test_what_is_no_name_of_a_model_is_refused(name):
    with pytest.raises(ValueError, match="model.s name|name of a model"):
        Client("http://localhost:8501", name)


# Answers -----------------------------------------------------------------------------------------


def test_decimals_are_the_float32_that_the_server_wrote(client):
    assert client.translate(["a"])[0].scores == [float(np.float32(0.1))]


def test_numbers_that_json_has_not_are_understood():
    answer = '{"outputs": {"a": [NaN, Infinity, -Infinity, 1e-30], "b": [1, 2, 3, 4]}}'
    with RestStub(respond=answering(200, answer)) as stub:
        found = Client(stub.url, "m").predict("serving_default", {"x": [1.0] * 4})
    np.testing.assert_array_equal(
        found["a"], [np.nan, np.inf, -np.inf, float(np.float32(1e-30))], strict=True
    )
    assert found["b"] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("inputs", "fault"),
    [
        ({}, "inputs must be lists by the names"),
        ({"x": []}, "as many rows, at least one"),
        ({"x": ["a"], "y": []}, "as many rows, at least one, not {'x': 1, 'y': 0}"),
        ({"x": [float("nan")]}, r"x\[0\] must be a text, an int32 or a finite number, not nan"),
        ({"x": [float("inf")]}, r"x\[0\] must be a text"),
        ({"x": [2**31]}, r"x\[0\] must be a text, an int32"),
        ({"x": [True]}, r"x\[0\] must be a text"),
        ({"x": ["a", 1]}, "x must hold texts or numbers, not both"),
        ({"x": "abc"}, "x must be a list, one value a row"),
    ],
)
def test_what_no_signature_takes_is_refused(stub, client, inputs, fault):
    with pytest.raises(ValueError, match=fault):
        client.predict("serving_default", inputs)
    assert not stub.requests


def test_whole_numbers_and_decimals_stay_what_they_are(stub, client):
    with pytest.raises(RequestRefused, match="Missing named input: text"):
        client.predict(
            "serving_default", {"i": [np.int64(1)], "f": [np.float32(1)], "m": [-(2**31)]}
        )
    (*_, inputs) = stub.model.asked[0]
    assert [type(inputs[name][0]) for name in ("i", "f", "m")] == [int, float, int]


def test_texts_that_were_not_tagged_whole_are_warned_of():
    columns = dict.fromkeys(("words", "tags"), [["a"], ["b"]])
    columns |= dict.fromkeys(("starts", "ends", "scores"), [[0], [0]]) | {"length": [1, 1]}
    for truncated in ([False, False], [False, True]):
        answer = json.dumps({"outputs": columns | {"truncated": truncated}})
        with RestStub(respond=answering(200, answer)) as stub:
            client = Client(stub.url, "tag")
            if any(truncated):
                with pytest.warns(UserWarning, match="1 of 2 texts have more words") as warned:
                    client.tag(["a", "b"])
                assert warned[0].filename == __file__
            else:
                with warnings.catch_warnings(action="error"):
                    assert client.tag(["a", "b"])[1] == [("b", "b", 0, 0, 0)]


def test_texts_that_were_not_read_whole_are_warned_of():
    answer = json.dumps({"outputs": {"embedding": [[1.0], [2.0]], "truncated": [True, False]}})
    with RestStub(respond=answering(200, answer)) as stub:
        with pytest.warns(UserWarning, match="1 of 2 texts are longer than the model") as warned:
            assert Client(stub.url, "embed").embed(["a", "b"]).tolist() == [[1.0], [2.0]]
        assert warned[0].filename == __file__


def test_places_that_hold_nothing_are_left_out():
    for nothing in ("-1e9", "-Infinity"):
        found = f'{{"translations": [["b", ""]], "scores": [[-0.5, {nothing}]]'
        answer = f'{{"outputs": {found}, "truncated": [false]}}}}'
        with RestStub(respond=answering(200, answer)) as stub:
            assert Client(stub.url, "m").translate(["a"], n_best=2) == [(["b"], [-0.5], False)]


# The server --------------------------------------------------------------------------------------


def test_ready_says_whether_the_model_answers(stub, client):
    assert client.ready()
    assert not Client(stub.url, "other").ready()
    assert not Client(stub.url, "echo", version=2).ready()
    assert not Client(stub.url, "echo", label="beta").ready()
    stub.model.faults = [Fault("UNAVAILABLE", "loading")]
    asked = len(stub.requests)
    assert not client.ready() and len(stub.requests) == asked + 1
    stub.model.faults = [Fault("INTERNAL", "broken")]
    with pytest.raises(ServingError, match="broken"):
        client.ready()
    assert not Client(f"http://127.0.0.1:{free_port()}", "echo").ready()


def test_signatures_versions_and_task(client):
    signature = client.signatures()["serving_default"]
    assert signature.inputs == {"text": ("string", (None,))}
    assert signature.outputs["score"] == ("float32", (None,))
    assert client.task() == "Translator"
    assert client.versions() == [(1, "AVAILABLE", "")]


def test_a_model_of_another_kind_is_no_task(stub, client):
    function = echo()["serving_default"]
    stub.model.versions[1] = {"serving_default": function._replace(outputs=function.inputs)}
    with pytest.raises(ServingError, match="is none of the tasks"):
        client.task()


@pytest.mark.slow
def test_the_modules_of_the_client_need_no_tensorflow(stub, tmp_path):
    """Nor do those that they share with the tasks; the packages around them do."""
    root = Path(__file__).parents[2]
    program = f"""
import sys, types
for name in ("", ".serving", ".tasks", ".training"):
    name = "keras_transformer" + name
    package = types.ModuleType(name)
    package.__path__ = [{str(root)!r} + "/" + name.replace(".", "/")]
    sys.modules[name] = package
from keras_transformer.serving.client import Client
assert Client({stub.url!r}, "echo").translate(["a"])[0].texts == ["a"]
heavy = {{"tensorflow", "keras", "grpc", "google.protobuf", "requests"}} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
