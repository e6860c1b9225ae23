"""Warm-up requests from a file: a text a line, or JSON lines of named inputs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import tensorflow as tf

from keras_transformer.data import read_lines
from keras_transformer.data.json_lines import BLANK, JSON_LINES_ENDINGS, json_records
from keras_transformer.serving.named_inputs import arrays_of
from keras_transformer.serving.warmup import WarmupRequest, check_number

Inputs = Mapping[str, tf.TensorSpec]


def read_requests(
    file: str | os.PathLike[str],
    signatures: Mapping[str, Inputs],
    defaults: Mapping[str, Any] | None = None,
) -> list[WarmupRequest]:
    """The requests that a file gives for each of some signatures.

    In a file called `*.jsonl` a line is an object with values by the names of inputs:
    ``{"question": "Who?", "context": "Ada."}``. A list holds a value for each of several rows, and
    ``{"b64": "..."}`` stands for bytes, as in a server's REST interface. The line is a request to
    every signature all of whose inputs it names; a name that is no input of any is refused. In any
    other file a line is a text, and a request to every signature that takes one text. Blank lines
    are passed over.

    A server that merges requests refuses one with more rows than its `max_batch_size` (64 in this
    project's configuration), and then the version: no line should have more.

    Args:
        file: the file, plain or gzip.
        signatures: those to be warmed up, by name: dtypes by the names of their inputs, all of
            shape `[None]`.
        defaults: values of inputs that lines need not name, such as a temperature.

    Returns:
        The requests, signature by signature.

    Raises:
        ValueError: when a line fits no signature or names an input that there is not, or no line
            fits a signature; when a value is not of its input's type; when there are more requests
            than a server takes.
        FileNotFoundError: when there is no such file.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "questions.jsonl")
    >>> _ = path.write_text('{"question": "Who?", "context": "Ada."}')
    >>> inputs = {name: tf.TensorSpec([None], tf.string) for name in ("question", "context")}
    >>> read_requests(path, {"serving_default": inputs})[0].inputs["question"].tolist()
    [b'Who?']
    """
    defaults = defaults or {}
    found: dict[str, list[WarmupRequest]] = {name: [] for name in signatures}
    for where, given in _lines(file):
        fitting = [name for name, inputs in signatures.items() if _fits(given, inputs, defaults)]
        if not fitting:
            raise ValueError(f"{where}: {_misfit(given, signatures, defaults)}")
        known = dict.fromkeys(name for inputs in signatures.values() for name in inputs)
        if not isinstance(given, str) and (unknown := [n for n in given if n not in known]):
            raise ValueError(
                f"{where}: no signature has an input {unknown[0]!r}; there are {', '.join(known)}."
            )
        for name in fitting:
            inputs = signatures[name]
            named = {_needed(inputs, defaults)[0]: given} if isinstance(given, str) else given
            arrays = arrays_of({**defaults, **named}, inputs, where)
            found[name].append(WarmupRequest(name, arrays, where))
    for name, requests in found.items():
        if not requests:
            raise ValueError(
                f"{file}: no line is a request to {_described(name, signatures[name], defaults)}; "
                "give JSON lines (*.jsonl) that name its inputs, or leave the signature out."
            )
    requests = [request for rows in found.values() for request in rows]
    check_number(len(requests))
    return requests


def _lines(file: str | os.PathLike[str]) -> Iterator[tuple[str, str | dict[str, Any]]]:
    """Where a line stands, and the text or the object in it."""
    if not str(file).removesuffix(".gz").endswith(JSON_LINES_ENDINGS):
        for number, line in enumerate(read_lines(file), start=1):
            if line.strip():
                yield f"{file}, line {number}", line
        return
    for where, record in json_records(file):
        if record is BLANK:
            continue
        if not isinstance(record, dict):
            raise ValueError(
                f"{where}: a JSON object of named inputs is needed, not {record!r:.50}."
            )
        yield where, record


def _needed(inputs: Inputs, defaults: Mapping[str, Any]) -> list[str]:
    """The inputs that a line must name."""
    return [name for name in inputs if name not in defaults]


def _fits(given: str | dict[str, Any], inputs: Inputs, defaults: Mapping[str, Any]) -> bool:
    """Whether a line is a request to a signature with these inputs."""
    needed = _needed(inputs, defaults)
    if isinstance(given, str):
        return len(needed) == 1 and inputs[needed[0]].dtype == tf.string
    return all(name in given for name in needed)


def _misfit(
    given: str | dict[str, Any], signatures: Mapping[str, Inputs], defaults: Mapping[str, Any]
) -> str:
    offers = "; ".join(_described(*signature, defaults) for signature in signatures.items())
    if isinstance(given, str):
        return f"no signature takes one text, but {offers}: give JSON lines (*.jsonl)."
    return f"no signature takes {', '.join(given) or 'nothing'}, but {offers}."


def _described(name: str, inputs: Inputs, defaults: Mapping[str, Any]) -> str:
    return f"{name!r} ({', '.join(_needed(inputs, defaults))})"
