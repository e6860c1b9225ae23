"""The REST client: what it sends, what it makes of answers and of their absence.

The server is a stub: that a real one answers so is not shown here.
"""

import json
import re
import socket
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from serving_stub import Answer, Fault, RestStub, StubModel, echo

from keras_transformer.serving import (
    Client,
    ModelNotFound,
    RequestRefused,
    ServerTimeout,
    ServerUnavailable,
    ServingError,
)
from keras_transformer.serving.client_retries import FIRST_PAUSE, Retries

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


@pytest.fixture
def stub():
    with RestStub() as stub:
        yield stub


@pytest.fixture
def client(stub):
    return Client(stub.url, "echo")


def patient(client: Client, limit: int = 3) -> list[float]:
    """Makes a client wait without waiting; gives the pauses that it will have made."""
    pauses: list[float] = []
    client._retries = Retries(limit, sleep=pauses.append)
    return pauses


def free_port() -> int:
    """Where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def answering(status: int, content: str | bytes, length: int | None = None):
    content = content.encode() if isinstance(content, str) else content
    return lambda method, path, body: Answer(status, content, length)


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
        client.predict("serving_default", {"i": [np.int64(1)], "f": [np.float32(1)], "m": [2]})
    (*_, inputs) = stub.model.asked[0]
    assert [type(inputs[name][0]) for name in ("i", "f", "m")] == [int, float, int]


def test_another_task_is_told_by_its_outputs(client):
    with pytest.raises(RequestRefused, match=r"of another task: .*gives score, translation"):
        client.tag(["a"])
    with pytest.raises(RequestRefused, match='"n_best" not found in signature def'):
        client.translate(["a"], n_best=2)
    with pytest.raises(RequestRefused, match="Missing named input: text"):
        client.generate(["a"])


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


def test_places_that_hold_nothing_are_left_out():
    for nothing in ("-1e9", "-Infinity"):
        found = f'{{"translations": [["b", ""]], "scores": [[-0.5, {nothing}]]'
        answer = f'{{"outputs": {found}, "truncated": [false]}}}}'
        with RestStub(respond=answering(200, answer)) as stub:
            assert Client(stub.url, "m").translate(["a"], n_best=2) == [(["b"], [-0.5], False)]


@pytest.mark.parametrize(
    ("outputs", "fault"),
    [
        (["b"], "does not give several outputs"),
        ({"translation": ["b"], "score": [0.0, 1.0]}, "does not give one score for each of 1 rows"),
        ({"translation": "b"}, "does not give one translation for each of 1 rows"),
    ],
)
def test_answers_of_other_shapes_are_not_taken(outputs, fault):
    with RestStub(respond=answering(200, json.dumps({"outputs": outputs}))) as stub:
        with pytest.raises(ServingError, match=fault):
            Client(stub.url, "echo").translate(["a"])


@pytest.mark.parametrize(
    ("status", "content"),
    [
        (200, "<html>hello</html>"),
        (200, '["a"]'),
        (200, b'{"outputs": "\xff"}'),
        (404, "<html>no such page</html>"),
        (302, ""),
        (500, "trace"),
    ],
)
def test_what_does_not_answer_as_the_server_does_is_named(status, content):
    with RestStub(respond=answering(status, content)) as stub:
        with pytest.raises(ServingError, match="does not answer as TensorFlow Serving's REST API"):
            Client(stub.url, "echo").translate(["a"])
    assert len(stub.requests) == 1


# Errors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "message", "error"),
    [
        ("NOT_FOUND", "Servable not found for request: Latest(ümlaut)", ModelNotFound),
        ("INVALID_ARGUMENT", "Unrecognized servable version label: beta", ModelNotFound),
        ("INVALID_ARGUMENT", "Something is wrong.", RequestRefused),
        ("DEADLINE_EXCEEDED", "Run() took too long", ServerTimeout),
        ("RESOURCE_EXHAUSTED", "Too large", ServingError),
        ("INTERNAL", "Oops", ServingError),
    ],
)
def test_a_fault_of_the_server_is_said_in_its_words_and_not_tried_again(
    stub, client, code, message, error
):
    stub.model.faults = [Fault(code, message)]
    with pytest.raises(error, match=re.escape(message.rstrip("."))) as caught:
        client.translate(["a"])
    assert type(caught.value) is error and stub.url in str(caught.value)
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")
    assert not str(caught.value).endswith("..")
    assert len(stub.requests) == 1


def test_missing_models_versions_and_labels_are_named(stub):
    for choice, shown in (
        ({"model": "other"}, "does not serve model 'other'"),
        ({"model": "echo", "version": 7}, "does not serve version 7 of model 'echo'"),
        ({"model": "echo", "label": "beta"}, "does not serve version 'beta' of model 'echo'"),
    ):
        with pytest.raises(ModelNotFound, match=shown):
            Client(stub.url, **choice).translate(["a"])


def test_a_busy_server_is_asked_again_after_longer_and_longer_pauses(stub, client):
    pauses = patient(client)
    stub.model.faults = [Fault("UNAVAILABLE", "The batch scheduling queue is full")] * 3
    assert client.translate(["a"])[0].texts == ["a"]
    assert len(stub.requests) == 4
    for number, pause in enumerate(pauses):
        assert 0.5 <= pause / (FIRST_PAUSE * 2**number) <= 1
    assert len(pauses) == 3


def test_no_more_often_than_allowed(stub, client):
    pauses = patient(client, limit=2)
    stub.model.faults = [Fault("UNAVAILABLE", "The batch scheduling queue is full")] * 3
    with pytest.raises(ServerUnavailable, match="not available after 3 tries: The batch"):
        client.translate(["a"])
    assert len(stub.requests) == 3 and len(pauses) == 2


def test_not_beyond_the_time_of_the_request(stub):
    client = Client(stub.url, "echo", timeout=FIRST_PAUSE / 4)
    stub.model.faults = [Fault("UNAVAILABLE", "full")]
    with pytest.raises(ServerUnavailable, match="is not available: full"):
        client.translate(["a"])
    assert len(stub.requests) == 1


def test_a_server_that_starts_late_is_waited_for():
    port = free_port()
    client = Client(f"http://127.0.0.1:{port}", "echo")
    with pytest.raises(ServerUnavailable, match="after 2 tries: nobody listens there"):
        patient(client, limit=1)
        client.translate(["a"])
    started = []

    def start(pause: float) -> None:
        started.append(RestStub(port=port).__enter__())

    client._retries = Retries(1, sleep=start)
    assert client.translate(["a"])[0].texts == ["a"]
    started[0].__exit__()


def test_no_host_of_that_name():
    with pytest.raises(ServingError, match="there is no host of that name"):
        Client("http://no-such-host.invalid:8501", "echo").translate(["a"])


@pytest.fixture
def silent():
    """A server that never answers."""
    end = threading.Event()

    def wait(method: str, path: str, body: bytes) -> Answer:
        end.wait()
        return Answer(503, b"")

    with RestStub(respond=wait) as stub:
        yield stub
        end.set()


def test_a_server_that_does_not_answer_is_given_up(silent):
    with pytest.raises(ServerTimeout, match=r"model 'echo' in time: 0.2 seconds are over"):
        Client(silent.url, "echo", timeout=0.2).translate(["a"])
    assert len(silent.requests) == 1  # not tried again


def test_an_answer_without_end_is_given_up():
    end = threading.Event()
    with RestStub() as stub:
        handler = stub._server.RequestHandlerClass

        def handle(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(10**12))
            self.end_headers()
            while not end.is_set():
                self.wfile.write(b" " * 1000)

        handler.do_POST = handle
        try:
            with pytest.raises(ServerTimeout, match="in time"):
                Client(stub.url, "echo", timeout=0.3).translate(["a"])
        finally:
            end.set()


@pytest.mark.parametrize("content", [b'{"outputs": {}', b""])
def test_half_an_answer_is_none(content):
    with RestStub(respond=answering(200, content, length=1000)) as stub:
        with pytest.raises(ServingError, match="the connection broke off"):
            Client(stub.url, "echo").translate(["a"])
    assert len(stub.requests) == 1


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
    """They are the standard library's, NumPy's and each other's; the package around them is not."""
    root = Path(__file__).parents[2]
    program = f"""
import sys, types
for name in ("keras_transformer", "keras_transformer.serving"):
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
