"""The modules of this directory, and the small tasks of another, import each other by name."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tasks")]


@pytest.fixture
def stub():
    """A stub of a server that answers with the text itself."""
    from serving_stub import RestStub

    with RestStub() as stub:
        yield stub


@pytest.fixture
def client(stub):
    """A client of it."""
    from keras_transformer.serving import Client

    return Client(stub.url, "echo")
