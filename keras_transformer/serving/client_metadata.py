"""What a server says about a model: its signatures and versions."""

from __future__ import annotations

from typing import Any, NamedTuple

DTYPES = {"DT_FLOAT": "float32", "DT_DOUBLE": "float64"}
"""Names of types that are not those of the server in lower case."""


class TensorInfo(NamedTuple):
    """An input or an output of a signature."""

    dtype: str
    shape: tuple[int | None, ...] | None
    """None for a dimension of any size, and for a shape with any number of them."""


class Signature(NamedTuple):
    """What can be asked of a model."""

    inputs: dict[str, TensorInfo]
    outputs: dict[str, TensorInfo]


class VersionStatus(NamedTuple):
    """A version of a model on a server."""

    version: int
    state: str
    """"START", "LOADING", "AVAILABLE", "UNLOADING" or "END"."""
    fault: str
    """Why it could not be loaded; empty where it could."""


def signatures_of(message: dict[str, Any]) -> dict[str, Signature]:
    """Signatures from a `SignatureDefMap` in JSON, without TensorFlow's own.

    >>> text = {"dtype": "DT_STRING", "tensor_shape": {"dim": [{"size": "-1"}]}}
    >>> signatures_of({"signature_def": {"n_best": {"inputs": {"text": text}}}})["n_best"].inputs
    {'text': TensorInfo(dtype='string', shape=(None,))}
    """
    return {
        name: Signature(_tensors(signature, "inputs"), _tensors(signature, "outputs"))
        for name, signature in sorted(message.get("signature_def", {}).items())
        if not name.startswith("__")
    }


def _tensors(signature: dict[str, Any], side: str) -> dict[str, TensorInfo]:
    return {name: _tensor(info) for name, info in sorted(signature.get(side, {}).items())}


def _tensor(info: dict[str, Any]) -> TensorInfo:
    dtype = DTYPES.get(info["dtype"], info["dtype"].removeprefix("DT_").lower())
    shape = info.get("tensor_shape", {})
    if shape.get("unknown_rank"):
        return TensorInfo(dtype, None)
    sizes = (int(dimension.get("size", 0)) for dimension in shape.get("dim", []))
    return TensorInfo(dtype, tuple(None if size < 0 else size for size in sizes))


def versions_of(message: dict[str, Any]) -> list[VersionStatus]:
    """Versions from a `GetModelStatusResponse` in JSON, newest first.

    >>> versions_of({"model_version_status": [{"version": "2", "state": "LOADING"}]})
    [VersionStatus(version=2, state='LOADING', fault='')]
    """
    found = [
        VersionStatus(
            int(status.get("version", 0)),
            status.get("state", "UNKNOWN"),
            status.get("status", {}).get("error_message", ""),
        )
        for status in message.get("model_version_status", [])
    ]
    return sorted(found, reverse=True)
