"""What the REST client says where a server finds fault, says something else, or says nothing.

The server is a stub: that a real one answers so is not shown here.
"""

import json
import re
import threading

import pytest
from serving_stub import Answer, Fault, RestStub, answering, free_port

from keras_transformer.serving import (
    Client,
    ModelNotFound,
    RequestRefused,
    ServerTimeout,
    ServerUnavailable,
    ServingError,
)
from keras_transformer.serving.client_retries import FIRST_PAUSE, Retries


def patient(client: Client, limit: int = 3) -> list[float]:
    """Makes a client wait without waiting; gives the pauses that it will have made."""
    pauses: list[float] = []
    client._retries = Retries(limit, sleep=pauses.append)
    return pauses


# Answers of something else ------------------------------------------------------------------------


def test_another_task_is_told_by_its_outputs(client):
    with pytest.raises(RequestRefused, match=r"of another task: .*gives score, translation"):
        client.tag(["a"])
    with pytest.raises(RequestRefused, match=r"of another task: .*no label"):
        client.classify(["a"])  # a score there is, as a regression gives it
    with pytest.raises(RequestRefused, match='"n_best" not found in signature def'):
        client.translate(["a"], n_best=2)
    with pytest.raises(RequestRefused, match="Missing named input: text"):
        client.generate(["a"])


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


@pytest.mark.parametrize("content", ["{}", '{"detail": "hello"}', '{"metadata": [1]}'])
def test_a_document_of_something_else_describes_no_model(content):
    with RestStub(respond=answering(200, content)) as stub:
        client = Client(stub.url, "echo")
        for ask in (client.signatures, client.versions, client.task, client.ready):
            with pytest.raises(ServingError, match="does not answer as TensorFlow Serving's REST"):
                ask()


def test_outputs_without_names_are_said_to_be_none():
    with RestStub(respond=answering(200, '{"outputs": {}}')) as stub:
        with pytest.raises(RequestRefused, match="gives nothing, no translation"):
            Client(stub.url, "echo").translate(["a"])


def test_where_a_server_sends_one_on_is_said():
    with RestStub() as stub:

        def handle(self) -> None:
            self.send_response(302)
            self.send_header("Location", "https://example.org/login")
            self.send_header("Content-Length", "0")
            self.end_headers()

        stub._server.RequestHandlerClass.do_POST = handle
        with pytest.raises(ServingError, match=r"on to 'https://example.org/login'; give the"):
            Client(stub.url, "echo").translate(["a"])


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


def test_what_is_no_http_is_shown_as_no_terminal_would_obey():
    with RestStub() as stub:
        handler = stub._server.RequestHandlerClass
        handler.do_POST = lambda self: self.wfile.write(b"\x1b[2Jgone\r\n")
        with pytest.raises(ServingError, match=r"no HTTP \('\\x1b\[2Jgone.*port of gRPC"):
            Client(stub.url, "echo").translate(["a"])


@pytest.mark.parametrize("content", [b'{"outputs": {}', b""])
def test_half_an_answer_is_none(content):
    with RestStub(respond=answering(200, content, length=1000)) as stub:
        with pytest.raises(ServingError, match="the connection broke off"):
            Client(stub.url, "echo").translate(["a"])
    assert len(stub.requests) == 1
