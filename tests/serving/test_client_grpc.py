"""The gRPC client, against a stub of the server."""

import builtins
import socket

import numpy as np
import pytest
from serving_stub import Fault, StubModel, echo, grpc_stub

from keras_transformer.serving import (
    Client,
    ModelNotFound,
    RequestRefused,
    ServerTimeout,
    ServerUnavailable,
    ServingError,
)
from keras_transformer.serving.client_retries import Retries


def test_a_missing_package_is_named(monkeypatch):
    usual = builtins.__import__

    def without(name, *arguments, **options):
        if name.startswith("tensorflow_serving"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return usual(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ValueError, match="gRPC needs the package tensorflow-serving-api: pip"):
        Client("grpc://localhost:8500", "echo")


@pytest.fixture
def model():
    pytest.importorskip("tensorflow_serving")
    return StubModel(versions={1: echo(), 3: echo()}, labels={"stable": 1})


@pytest.fixture
def address(model):
    with grpc_stub(model) as address:
        yield address


def test_texts_of_all_scripts_come_back_as_they_were(model, address):
    texts = ["我住在北京。", "👩‍👩‍👧 e\u0301", "nul \0, \0", "", "x" * 5_000_000]
    with Client(address, "echo", batch_size=4) as client:
        found = client.translate(texts)
        assert [translation.texts[0] for translation in found] == texts
        assert found[0] == (["我住在北京。"], [float(np.float32(0.1))], False)
    assert [len(inputs["text"]) for *_, inputs in model.asked] == [4, 1]


def test_the_model_sees_the_very_bytes(model, address):
    function = model.versions[3]["serving_default"]
    model.versions[3]["serving_default"] = function._replace(
        call=lambda text: {"translation": text == b"\xff\xc3", "score": text == ""}
    )
    with Client(address, "echo") as client:
        outputs = client.predict("serving_default", {"text": ["a", b"\xff\xc3"]})
    assert outputs["translation"] == [False, True]


def test_answers_that_are_no_utf_8_are_not_taken(address):
    with Client(address, "echo") as client:
        with pytest.raises(ServingError, match="no UTF-8"):
            client.translate([b"\xff"])  # the stub echoes it, as no task does


def test_a_version_or_a_label_may_be_chosen(model, address):
    for choice in ({}, {"version": 3}, {"label": "stable"}):
        with Client(address, "echo", **choice) as client:
            client.translate(["a"])
    assert [asked[:2] for asked in model.asked] == [(None, None), (3, None), (None, "stable")]


@pytest.mark.parametrize(
    ("code", "message", "error"),
    [
        ("NOT_FOUND", "Servable not found for request", ModelNotFound),
        ("INVALID_ARGUMENT", "Unrecognized servable version label: beta", ModelNotFound),
        ("INVALID_ARGUMENT", "Something is wrong", RequestRefused),
        ("FAILED_PRECONDITION", "Serving signature key not found", RequestRefused),
        ("DEADLINE_EXCEEDED", "too long", ServerTimeout),
        ("INTERNAL", "Oops", ServingError),
    ],
)
def test_a_fault_of_the_server_is_said_in_its_words(model, address, code, message, error):
    model.faults = [Fault(code, message)]
    with Client(address, "echo") as client, pytest.raises(error, match=message) as caught:
        client.translate(["a"])
    assert type(caught.value) is error and not model.asked


def test_a_busy_server_is_asked_again(model, address):
    pauses = []
    model.faults = [Fault("UNAVAILABLE", "The batch scheduling queue is full")] * 4
    with Client(address, "echo") as client:
        client._retries = Retries(2, sleep=pauses.append)
        with pytest.raises(ServerUnavailable, match="after 3 tries: The batch"):
            client.translate(["a"])
        assert len(pauses) == 2 and len(model.faults) == 1
        assert client.translate(["a"])[0].texts == ["a"]
    assert len(pauses) == 3


def test_nobody_listens(model):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with Client(f"grpc://127.0.0.1:{port}", "echo", retries=0) as client:
        assert not client.ready()
        with pytest.raises(ServerUnavailable, match="is not available"):
            client.translate(["a"])


def test_the_server_describes_its_model(address):
    with Client(address, "echo") as client:
        assert client.ready() and client.task() == "Translator"
        assert client.signatures()["serving_default"].inputs == {"text": ("string", (None,))}
        assert client.versions() == [(3, "AVAILABLE", ""), (1, "AVAILABLE", "")]
    with Client(address, "echo", version=2) as client:
        assert not client.ready()
