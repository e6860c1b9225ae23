"""What a client asks: which model, and the columns of a request, checked before they are sent."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any
from urllib.parse import SplitResult, urlsplit

from keras_transformer.checks import check_at_least, check_whole

LARGEST = 2**31 - 1

# Of the options of a served text generator: type, least and largest value, and what is taken for
# one that is not given beside others, as `GenerationOptions` has them.
GENERATION_OPTIONS = {
    "max_new_tokens": (int, -LARGEST, 10_000, 128),
    "temperature": (float, 0, 1_000_000, 1.0),
    "top_k": (int, 0, LARGEST, 0),
    "top_p": (float, 0, 1, 1.0),
    "seed": (int, 0, LARGEST, 0),
}


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
        ValueError: when it lacks the scheme or the host, or has a user, a query or the like.

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
    except ValueError:
        raise ValueError(fault) from None
    is_http, is_grpc = (parts.scheme in (name, name + "s") for name in ("http", "grpc"))
    is_complete = parts.hostname and (is_http or (is_grpc and port is not None))
    has_more = parts.query or parts.fragment or "@" in parts.netloc
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
    if isinstance(texts, str | bytes):
        raise ValueError(f"{argument} must be a list of strings, such as [text], not one string.")
    if texts is None or isinstance(texts, Mapping) or not isinstance(texts, Iterable):
        raise ValueError(f"{argument} must be a list of strings, not {texts!r:.80}.")
    return [_text(text, f"{argument}[{index}]") for index, text in enumerate(texts)]


def _text(text: Any, argument: str) -> str | bytes:
    if isinstance(text, bytes):
        try:
            return text.decode("utf-8")
        except UnicodeDecodeError:
            return text  # the model sees the very bytes, as it does in Python
    if not isinstance(text, str):
        raise ValueError(f"{argument} must be a string, not {text!r:.80}.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(
            f"{argument} holds half a character (a lone surrogate), which UTF-8 cannot write: "
            f"{text!r:.80}."
        ) from None
    return text


def as_text_pairs(
    first: Iterable[str | bytes], second: Iterable[str | bytes], arguments: tuple[str, str]
) -> tuple[list[str | bytes], list[str | bytes]]:
    """Two lists of as many texts.

    >>> as_text_pairs(["a"], [], ("questions", "contexts"))
    Traceback (most recent call last):
    ValueError: questions and contexts must be of one length, not 1 and 0.
    """
    pair = as_texts(first, arguments[0]), as_texts(second, arguments[1])
    if len(pair[0]) != len(pair[1]):
        raise ValueError(
            f"{arguments[0]} and {arguments[1]} must be of one length, not {len(pair[0])} and "
            f"{len(pair[1])}."
        )
    return pair


def generation_columns(rows: int, asked: Mapping[str, Any]) -> dict[str, list[int] | list[float]]:
    """Columns of the options of generated texts; row i has the seed plus i.

    Raises:
        ValueError: for options out of range.

    >>> generation_columns(2, {"seed": 7, "temperature": 0})["seed"]
    [7, 8]
    >>> generation_columns(1, {"top_p": 2})
    Traceback (most recent call last):
    ValueError: top_p must be from 0 to 1, not 2.
    """
    columns = {}
    for name, (kind, least, most, usual) in GENERATION_OPTIONS.items():
        value = usual if asked.get(name) is None else asked[name]
        if kind is int:
            check_whole(**{name: value})
        elif not isinstance(value, Real):
            raise ValueError(f"{name} must be a number, not {value!r}.")
        if not least <= value <= most:
            raise ValueError(f"{name} must be from {least} to {most}, not {value}.")
        columns[name] = [kind(value)] * rows
    seed = columns["seed"][0] if rows else 0
    columns["seed"] = [(seed + row) % (LARGEST + 1) for row in range(rows)]
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
    if isinstance(value, Integral) and not isinstance(value, bool) and abs(value) <= LARGEST:
        return int
    if isinstance(value, Real) and not isinstance(value, Integral) and math.isfinite(value):
        return float
    raise ValueError(f"{where} must be a text, an int32 or a finite number, not {value!r:.80}.")
