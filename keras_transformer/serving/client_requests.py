"""What a client asks: which model, and the columns of a request, checked before they are sent."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any
from urllib.parse import SplitResult, urlsplit

from keras_transformer.checks import check_at_least, check_whole
from keras_transformer.tasks.generation_options import (
    LARGEST,
    SERVED_OPTIONS,
    GenerationOptions,
    seed_of_row,
)
from keras_transformer.tasks.text_lists import text_list, text_list_pair


@dataclass(frozen=True)
class ServedModel:
    """A model of a server: its newest version, or the one with a number or a label.

    >>> str(ServedModel("translate", label="canary"))
    "version 'canary' of model 'translate'"
    """

    name: str
    version: int | None = None
    label: str | None = None

    def __post_init__(self) -> None:
        for name in ("name", "label"):
            value = getattr(self, name)
            if value is None and name == "label":
                continue
            if not isinstance(value, str) or not value:
                raise ValueError(f"A model's {name} must be a text, not {value!r}.")
        if self.version is not None:
            check_whole(version=self.version)
            check_at_least(0, version=self.version)
            if self.label is not None:
                raise ValueError(
                    f"Give a version or a label, not both: version={self.version}, "
                    f"label={self.label!r}."
                )

    def __str__(self) -> str:
        if self.version is None and self.label is None:
            return f"model {self.name!r}"
        version = self.version if self.label is None else repr(self.label)
        return f"version {version} of model {self.name!r}"


def address_parts(address: str) -> SplitResult:
    """The parts of a server's address.

    Raises:
        ValueError: when it lacks the scheme or the host, or has a user, a query or the like; when
            it is that of a request (`.../v1/models/...`), which the client makes itself.

    >>> address_parts("http://localhost:8501").port
    8501
    """
    fault = (
        "address must be such as http://localhost:8501 or grpc://localhost:8500, not "
        f"{address!r:.200}."
    )
    if not isinstance(address, str):
        raise ValueError(fault)
    try:
        parts = urlsplit(address)
        port = parts.port  # refuses what is no number
        (parts.hostname or "").encode("idna")  # and labels that are empty or too long
    except ValueError:
        raise ValueError(fault) from None
    is_http, is_grpc = (parts.scheme in (name, name + "s") for name in ("http", "grpc"))
    is_complete = parts.hostname and (is_http or (is_grpc and port is not None))
    has_more = parts.query or parts.fragment or "@" in parts.netloc
    has_more = has_more or not re.fullmatch(r"[!-~]*", parts.path)  # what HTTP can send
    has_more = has_more or "/v1/models/" in f"{parts.path}/"  # of a request, as for curl
    if not is_complete or has_more or (is_grpc and parts.path.strip("/")):
        raise ValueError(fault)
    return parts


def as_texts(texts: Iterable[str | bytes], argument: str = "texts") -> list[str | bytes]:
    """A list of texts; bytes that are UTF-8 become one.

    Raises:
        ValueError: when ``texts`` is one string instead of a list of them, or holds anything but
            strings.

    >>> as_texts(["a", b"b", b"\\xff"])
    ['a', 'b', b'\\xff']
    """
    return _decoded(text_list(texts, argument))


def as_text_pairs(
    first: Iterable[str | bytes], second: Iterable[str | bytes], arguments: tuple[str, str]
) -> tuple[list[str | bytes], list[str | bytes]]:
    """Two lists of as many texts."""
    one, other = text_list_pair(first, second, arguments)
    return _decoded(one), _decoded(other)


def _decoded(texts: list[str | bytes]) -> list[str | bytes]:
    return [_text(text) if isinstance(text, bytes) else text for text in texts]


def _text(text: bytes) -> str | bytes:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return text  # the model sees the very bytes, as it does in Python


def question_columns(
    questions: Iterable[str | bytes], contexts: Iterable[str | bytes]
) -> dict[str, list[str | bytes]]:
    """Columns of questions and their contexts.

    >>> question_columns(["Who?"], ["Ada."])
    {'question': ['Who?'], 'context': ['Ada.']}
    """
    asked, read = as_text_pairs(questions, contexts, ("questions", "contexts"))
    return {"question": asked, "context": read}


def generation_columns(rows: int, asked: Mapping[str, Any]) -> dict[str, list[int] | list[float]]:
    """Columns of the options of generated texts; row i has the seed plus i.

    Raises:
        ValueError: for options out of range.

    >>> generation_columns(2, {"seed": 7, "temperature": 0})["seed"]
    [7, 8]
    >>> generation_columns(1, {"top_p": 2})
    Traceback (most recent call last):
    ValueError: top_p must be from 0 to 1 (1: off), not 2.
    """
    given = {name: value for name, value in asked.items() if value is not None}
    options = GenerationOptions().changed(**given)
    types = {field.name: float if field.type == "float" else int for field in fields(options)}
    columns = {name: [types[name](getattr(options, name))] * rows for name in SERVED_OPTIONS}
    columns["seed"] = [seed_of_row(int(options.seed), row) for row in range(rows)]
    return columns


def batches(columns: Mapping[str, list], size: int) -> Iterator[dict[str, list]]:
    """Columns of at most so many rows, in their order; nothing for no rows.

    >>> list(batches({"text": ["a", "b", "c"]}, 2))
    [{'text': ['a', 'b']}, {'text': ['c']}]
    """
    rows = len(next(iter(columns.values())))
    for start in range(0, rows, size):
        yield {name: values[start : start + size] for name, values in columns.items()}


def check_columns(columns: Mapping[str, Any]) -> dict[str, list]:
    """Columns of texts, whole numbers or decimals, all of one length.

    Raises:
        ValueError: for anything else.

    >>> check_columns({"text": ["a"], "seed": [float("nan")]})
    Traceback (most recent call last):
    ValueError: seed[0] must be a text, an int32 or a finite number, not nan.
    """
    if not isinstance(columns, Mapping) or not columns:
        raise ValueError(
            f"inputs must be lists by the names of a signature's inputs, not {columns!r:.80}."
        )
    checked: dict[str, list] = {}
    for name, values in columns.items():
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise ValueError(f"{name} must be a list, one value a row, not {values!r:.80}.")
        values = list(values)
        kinds = {_kind(value, f"{name}[{row}]") for row, value in enumerate(values)}
        if str in kinds and len(kinds) > 1:
            raise ValueError(f"{name} must hold texts or numbers, not both.")
        if str in kinds:
            checked[name] = as_texts(values, name)
        else:  # plain numbers, all of one type
            checked[name] = [(float if float in kinds else int)(value) for value in values]
    lengths = {name: len(values) for name, values in checked.items()}
    if len(set(lengths.values())) > 1 or 0 in lengths.values():
        raise ValueError(f"All inputs must have as many rows, at least one, not {lengths}.")
    return checked


def _kind(value: Any, where: str) -> type:
    if isinstance(value, str | bytes):
        return str
    if isinstance(value, Integral):
        if not isinstance(value, bool) and -LARGEST - 1 <= value <= LARGEST:
            return int
    elif isinstance(value, Real) and math.isfinite(value):
        return float
    raise ValueError(f"{where} must be a text, an int32 or a finite number, not {value!r:.80}.")
