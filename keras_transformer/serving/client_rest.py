"""The REST API of TensorFlow Serving, by the standard library.

A request is one small JSON document over HTTP, so that `http.client` is all it needs; each has a
connection of its own, so that a balancer may send each to another server.
"""

from __future__ import annotations

import base64
import http.client
import json
import re
import socket
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import SplitResult

import numpy as np

from keras_transformer.serving.client_deadline import Deadline
from keras_transformer.serving.client_errors import ServingError, StatusError
from keras_transformer.serving.client_metadata import (
    Signature,
    VersionStatus,
    signatures_of,
    versions_of,
)
from keras_transformer.serving.client_requests import ServedModel

Found = TypeVar("Found")

CODES = {
    400: "INVALID_ARGUMENT",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
"""Names of the server's status by those of HTTP."""

_IN_PATHS = re.compile(r"[A-Za-z0-9._~-]+")


class RestTransport:
    """Asks one model over HTTP.

    Args:
        address: of the server, with the scheme ``http`` or ``https`` and any path before ``/v1``.
        model: the model.

    Raises:
        ValueError: for a model's name or a label that cannot stand in a path.
    """

    def __init__(self, address: SplitResult, model: ServedModel):
        for part in filter(None, (model.name, model.label)):
            if not _IN_PATHS.fullmatch(part):
                raise ValueError(
                    f"Over REST the name of a model or label has letters, digits and ._~- only, "
                    f"not {part!r}; gRPC takes any."
                )
        self._address, self._model = address, model
        self._path = f"{address.path.rstrip('/')}/v1/models/{model.name}"
        self._served = self._path
        if model.version is not None:
            self._served += f"/versions/{model.version}"
        elif model.label is not None:
            self._served += f"/labels/{model.label}"

    def predict(self, signature: str, inputs: dict[str, list], timeout: float) -> dict[str, list]:
        """The outputs of a signature, by name; decimals are read as the float32 that they are."""
        columns = {name: [_json_value(v) for v in values] for name, values in inputs.items()}
        # In columns: the answer then says the outputs' names once, not once a row.
        request = {"signature_name": signature, "inputs": columns}
        body = json.dumps(request, ensure_ascii=False, allow_nan=False).encode()
        outputs = self._ask("POST", f"{self._served}:predict", timeout, body).get("outputs")
        if not isinstance(outputs, dict):  # the name of a single output is left out
            raise ServingError(
                f"The signature {signature!r} of {self._model} does not give several outputs, as "
                "those of all tasks do: it is of another kind of model."
            )
        return outputs

    def signatures(self, timeout: float) -> dict[str, Signature]:
        """The signatures of the model."""
        answer = self._ask("GET", f"{self._served}/metadata", timeout)
        return _read(lambda: signatures_of(answer["metadata"]["signature_def"]), answer)

    def versions(self, timeout: float) -> list[VersionStatus]:
        """The versions that the server has, or had, of the model."""
        answer = self._ask("GET", self._path, timeout)
        found = "model_version_status"  # which a document of something else has not
        return _read(lambda: versions_of({found: answer[found]}), answer)

    def close(self) -> None:
        """Nothing is kept open."""

    def _ask(
        self, method: str, path: str, timeout: float, body: bytes | None = None
    ) -> dict[str, Any]:
        deadline = Deadline(timeout)
        connection = self._connection(timeout)
        connection.response_class = deadline.response
        try:
            connection.connect()
            connection.sock.settimeout(deadline.left())
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            content = _content(response)
        except TimeoutError as error:
            raise StatusError("DEADLINE_EXCEEDED", f"{timeout:.3g} seconds are over") from error
        except ConnectionRefusedError as error:
            raise StatusError("UNAVAILABLE", "nobody listens there") from error
        except socket.gaierror as error:
            fault = f"there is no host of that name ({error.strerror})"
            raise StatusError("UNKNOWN", fault) from error
        except (OSError, http.client.HTTPException) as error:
            fault = f"the connection broke off ({_in_words(error)})"
            if isinstance(error, http.client.BadStatusLine) and not isinstance(error, OSError):
                fault = f"what came is no HTTP ({_in_words(error)}), as from a port of gRPC"
            raise StatusError("UNKNOWN", fault) from error
        finally:
            connection.close()
        answer = _document(content)
        place = response.headers.get("Location")
        if place and 300 <= response.status < 400:  # to a page where one logs in, say
            fault = f"it sends one on to {place!r:.200}; give the server's own address"
            raise StatusError(f"HTTP {response.status}", fault)
        if response.status != 200:
            code = CODES.get(response.status, f"HTTP {response.status}")
            raise StatusError(code, _fault(answer, content, code))
        if not isinstance(answer, dict):
            raise StatusError("UNKNOWN", _not_serving(content))
        return answer

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        secure = self._address.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        return kind(self._address.hostname, self._address.port, timeout=timeout)


def _json_value(value: str | bytes | int | float) -> Any:
    """Bytes that are no UTF-8 go in base64, as the API has it."""
    return {"b64": base64.b64encode(value).decode("ascii")} if isinstance(value, bytes) else value


def _content(response: http.client.HTTPResponse) -> bytes:
    """The body, however long a header says that it is: memory is taken for what arrives only."""
    parts = iter(lambda: response.read1(2**16), b"")
    content = b"".join(parts)
    if response.length:  # read1 does not say it
        raise http.client.IncompleteRead(content, response.length)
    return content


def _document(content: bytes) -> Any:
    """What a JSON document holds; None for another."""
    try:
        return json.loads(content.decode("utf-8"), parse_float=_float32)
    except (ValueError, RecursionError):
        return None


def _float32(text: str) -> float:
    return float(np.float32(text))


def _fault(answer: Any, content: bytes, code: str) -> str:
    if isinstance(answer, dict) and isinstance(answer.get("error"), str):
        return answer["error"]
    if code == "UNAVAILABLE":  # of a balancer, say
        return "it is too busy, or not ready"
    return _not_serving(content)


def _read(read: Callable[[], Found], answer: dict[str, Any]) -> Found:
    """What is read from a document, which may be that of something else."""
    try:
        return read()
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StatusError("UNKNOWN", _not_serving(json.dumps(answer).encode())) from error


def _not_serving(content: bytes) -> str:
    shown = " ".join(content[:200].decode("utf-8", "replace").split())
    return f"it does not answer as TensorFlow Serving's REST API does, but {shown!r}"


def _in_words(error: Exception) -> str:
    words = getattr(error, "strerror", None) or str(error) or type(error).__name__
    # A line of what is no HTTP may hold anything, such as what a terminal takes for commands.
    return words if words.isprintable() else f"{words!r:.200}"
