"""A limit of the time that an HTTP response takes in all."""

from __future__ import annotations

import http.client
import io
import socket
import time
from typing import Any


class Deadline:
    """A moment in some seconds, after which nothing more is read.

    The time-out of a socket is for each piece that arrives: a server that sends a byte now and
    then, of its headers, say, or says "100 Continue" for ever, could hold a client for ever.

    >>> connection = http.client.HTTPConnection("localhost", 8501)
    >>> connection.response_class = Deadline(30.0).response
    """

    def __init__(self, seconds: float):
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds until then.

        Raises:
            TimeoutError: when there are none.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def response(self, connection: socket.socket, **options: Any) -> http.client.HTTPResponse:
        """A response, in place of `HTTPConnection.response_class`."""
        return http.client.HTTPResponse(_Reader(connection, self), **options)


class _Reader:
    """All that a response needs of a socket."""

    def __init__(self, connection: socket.socket, deadline: Deadline):
        self._connection, self._deadline = connection, deadline

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Stream(self._connection, self._deadline))


class _Stream(io.RawIOBase):
    """What arrives until the deadline."""

    def __init__(self, connection: socket.socket, deadline: Deadline):
        super().__init__()
        # It stays open when the connection lets go of the socket, which it does before a body.
        self._raw = connection.makefile("rb", buffering=0)
        self._connection, self._deadline = connection, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._connection.settimeout(self._deadline.left())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()
