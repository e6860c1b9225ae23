"""What a client raises where a server does not answer: one sentence each."""

from __future__ import annotations


class ServingError(OSError):
    """A request without an answer."""


class ServerUnavailable(ServingError):
    """Nobody listens at the address, or the server is too busy, however often it was asked."""


class ServerTimeout(ServingError, TimeoutError):
    """No answer in time."""


class ModelNotFound(ServingError):
    """The server has no such model, version or label, or not yet."""


class RequestRefused(ServingError, ValueError):
    """The server finds fault with the request."""


class StatusError(Exception):
    """What a server, or the way to it, says instead of an answer.

    Args:
        code: name of the status, as gRPC has it: "UNAVAILABLE", "NOT_FOUND", ...
        message: in the server's own words.

    Attributes:
        tries: how often it was asked.
    """

    def __init__(self, code: str, message: str):
        super().__init__(code, message)
        self.code, self.tries = code, 1
        self.message = " ".join(message.split()).rstrip(".") or "no reason given"


def explained(error: StatusError, model: str, address: str) -> ServingError:
    """The exception for a status.

    Args:
        error: the status.
        model: what was asked, in words.
        address: the server's.

    >>> explained(StatusError("NOT_FOUND", "Nothing here."), "model 'x'", "http://h:1")
    ModelNotFound("http://h:1 does not serve model 'x': Nothing here.")
    """
    message = error.message
    if error.code == "UNAVAILABLE":
        asked = "" if error.tries == 1 else f" after {error.tries} tries"
        return ServerUnavailable(f"{address} is not available{asked}: {message}.")
    if error.code == "DEADLINE_EXCEEDED":
        return ServerTimeout(f"{address} did not answer for {model} in time: {message}.")
    # A label that is not there is a fault of the request to the server, a missing version is not.
    if error.code == "NOT_FOUND" or "version label" in message:
        return ModelNotFound(f"{address} does not serve {model}: {message}.")
    if error.code in ("INVALID_ARGUMENT", "FAILED_PRECONDITION", "OUT_OF_RANGE"):
        return RequestRefused(f"{address} refuses the request to {model}: {message}.")
    return ServingError(f"{address} gave no answer for {model} ({error.code}): {message}.")
