"""A server that goes on sending holds no client for longer than a request may take."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from keras_transformer.serving import Client, ServerTimeout

TIMEOUT = 0.3  # seconds


@contextmanager
def dripping(start: bytes, drop: bytes) -> Iterator[str]:
    """The address of a server that begins its answer so, and then sends a drop now and then."""
    end = threading.Event()

    def serve() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(2**16)
            connection.sendall(start)
            while not end.wait(TIMEOUT / 10):
                try:
                    connection.sendall(drop)
                except OSError:  # the client has gone
                    return

    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = threading.Thread(target=serve)
        server.start()
        threading.Timer(20 * TIMEOUT, end.set).start()  # a client that waits fails, and is freed
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        end.set()
        server.join()


HEADERS = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEADERS + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("start", "drop"),
    [
        (b"HTTP/1.1 200 ", b"O"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (HEADERS, b"X"),
        (HEADERS + b"Content-Length: 1000\r\n\r\n", b" "),
        (HEADERS + b"\r\n", b" "),
        (CHUNKED, b"1"),
        (CHUNKED + b"0\r\n", b"X: y\r\n"),
    ],
    ids=["status", "continue", "headers", "body", "until it closes", "chunk", "trailer"],
)
def test_a_server_that_never_ends_is_given_up_in_time(start, drop):
    with dripping(start, drop) as address, Client(address, "echo", timeout=TIMEOUT) as client:
        begin = time.monotonic()
        with pytest.raises(ServerTimeout, match="0.3 seconds are over"):
            client.translate(["a"])
        assert time.monotonic() - begin < 10 * TIMEOUT
