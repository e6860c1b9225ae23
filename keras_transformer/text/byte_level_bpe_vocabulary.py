"""The files of byte-level BPE, `vocab.json` and `merges.txt`, and what must hold of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Merge = tuple[str, str]

VERSION_LINE = "#version"


def _byte_characters() -> tuple[str, ...]:
    """GPT-2's letters for the 256 bytes: printable Latin-1 as it is, the others from U+0100 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return tuple(chr(byte if byte in printable else next(others)) for byte in range(256))


# What files call a byte; "Ġ" is the blank.
BYTE_CHARACTERS = _byte_characters()
_BYTES = {character: byte for byte, character in enumerate(BYTE_CHARACTERS)}


def token_bytes(token: str) -> bytes | None:
    """The bytes that a token of the files stands for; None if not every character is a byte's.

    >>> token_bytes("ĠÃ©").decode()
    ' é'
    """
    found = [_BYTES.get(character) for character in token]
    return None if None in found else bytes(found)


def read_vocabulary(path: str | os.PathLike[str]) -> dict[str, int]:
    """Reads a `vocab.json`: the ids by their tokens.

    Raises:
        ValueError: if it cannot be read or is no such object.
    """
    name = os.fspath(path)
    try:
        ids = json.loads(_read(path, "vocabulary"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{name} is not JSON: {error}.") from None
    return check_ids(ids, name)


def check_ids(ids: Any, name: str) -> dict[str, int]:
    """Returns a mapping of tokens to ids that came out of a file, or raises a ValueError."""
    if not isinstance(ids, dict) or not all(type(index) is int for index in ids.values()):
        raise ValueError(f"{name} must be a JSON object that gives each token its id.")
    return ids


def in_order(ids: Mapping[str, int], name: str) -> list[str]:
    """Tokens by their ids; a ValueError if these are not 0, 1, 2, ..."""
    if sorted(ids.values()) != list(range(len(ids))):
        raise ValueError(f"{name} must give the ids 0, 1, 2, ... to tokens, each once.")
    return sorted(ids, key=ids.__getitem__)


def read_merges(path: str | os.PathLike[str]) -> list[Merge]:
    """Reads a `merges.txt`: two tokens a line, the most important pair first.

    Raises:
        ValueError: if it cannot be read, or a line does not hold two tokens, with its number.
    """
    name = os.fspath(path)
    lines = _read(path, "merges").split("\n")
    if not lines[-1]:
        lines.pop()
    first = 1 if lines and lines[0].startswith(VERSION_LINE) else 0
    return [
        split_merge(line.removesuffix("\r"), f"{name}, line {number}")
        for number, line in enumerate(lines[first:], start=first + 1)
    ]


def split_merge(merge: Any, place: str) -> Merge:
    """A merge of a file, "a b" or ["a", "b"], as a pair; a ValueError with its place otherwise."""
    parts = merge.split(" ") if isinstance(merge, str) else merge
    if (
        not isinstance(parts, list | tuple)
        or len(parts) != 2
        or not all(isinstance(part, str) and part for part in parts)
    ):
        raise ValueError(f"{place}: a merge must be two tokens, got {merge!r:.80}.")
    return tuple(parts)


def write_vocabulary(tokens: Sequence[str]) -> bytes:
    """The content of `vocab.json`."""
    ids = {token: index for index, token in enumerate(tokens)}
    return json.dumps(ids, ensure_ascii=False).encode()


def write_merges(merges: Iterable[Merge]) -> bytes:
    """The content of `merges.txt`."""
    lines = [f"{VERSION_LINE}: 0.2", *(f"{left} {right}" for left, right in merges)]
    return "".join(f"{line}\n" for line in lines).encode()


def check_vocabulary(
    tokens: Sequence[str], merges: Sequence[Merge], special_tokens: Sequence[str]
) -> dict[str, int]:
    """The ids of a vocabulary whose merges can be carried out and lead to no special token.

    Raises:
        ValueError: naming the token or the merge that is wrong.
    """
    ids: dict[str, int] = {}
    special = set(special_tokens)
    for index, token in enumerate(tokens):
        if not isinstance(token, str) or not token:
            raise ValueError(f"vocabulary[{index}] must be a string, not empty; got {token!r}.")
        if token in ids:
            raise ValueError(
                f"vocabulary[{index}] repeats the token {token!r} of vocabulary[{ids[token]}]."
            )
        if token not in special and token_bytes(token) is None:
            raise ValueError(
                f"vocabulary[{index}]: {token!r} is neither a special token nor spelled in "
                f"GPT-2's letters for bytes."
            )
        ids[token] = index
    lacking = [character for character in BYTE_CHARACTERS if character not in ids]
    if lacking:
        raise ValueError(
            f"the vocabulary lacks {len(lacking)} of the 256 bytes, {lacking[0]!r} for one; "
            f"byte-level BPE needs them all."
        )
    for token in special_tokens:
        if token not in ids:
            raise ValueError(f"the special token {token!r} is not in the vocabulary.")
        if token in _BYTES:
            raise ValueError(f"the special token {token!r} is a byte's; text needs that.")
    seen: dict[Merge, int] = {}
    for rank, pair in enumerate(merges):
        left, right = pair
        for token in (left, right, left + right):
            if token not in ids:
                raise ValueError(f"merges[{rank}], {pair}: {token!r} is not in the vocabulary.")
            if token in special:
                raise ValueError(
                    f"merges[{rank}], {pair}: {token!r} is a special token, which no text may give."
                )
        if pair in seen:
            raise ValueError(f"merges[{rank}] repeats the pair {pair} of merges[{seen[pair]}].")
        seen[pair] = rank
    return ids


def _read(path: str | os.PathLike[str], what: str) -> str:
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ValueError(f"cannot read the {what} {os.fspath(path)}: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{os.fspath(path)} is not valid UTF-8: {error}.") from None
