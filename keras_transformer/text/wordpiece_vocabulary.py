"""Vocabulary files of WordPiece: one token a line, the line's number is the id."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

PAD, UNK, CLS, SEP, MASK = SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SUFFIX = "##"
# What the tokenization op can hold, in bytes without the prefix "##".
LONGEST_TOKEN = 256
# In characters; a longer word is unknown as a whole, as in BERT's own code.
LONGEST_WORD = 100

BYTE_ORDER_MARK = "\ufeff"
# Brackets stand alone in every text, so no word of a text is ever spelled like this.
SPECIAL_TOKEN = re.compile(r"\[[^\[\]\s]+\]|<[^<>\s]+>")


def read_vocabulary(path: str | os.PathLike[str]) -> list[str]:
    """Reads a `vocab.txt` as Google and Hugging Face publish it.

    A byte-order mark, Windows line ends and a missing end of the last line are accepted.

    Raises:
        ValueError: if a line is blank, repeats a token, is too long or is not UTF-8, with its
            number; or if there is no "[UNK]".
    """
    name = os.fspath(path)
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ValueError(f"cannot read the vocabulary {name}: {error.strerror}.") from None
    lines = content.removesuffix(b"\n").split(b"\n") if content else []
    tokens = []
    for number, line in enumerate(lines, start=1):
        try:
            tokens.append(line.removesuffix(b"\r").decode("utf-8"))
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{name}, line {number}: not valid UTF-8 ({error.reason} at byte {error.start})."
            ) from None
    if tokens:
        tokens[0] = tokens[0].removeprefix(BYTE_ORDER_MARK)
    check_vocabulary(tokens, lambda index: f"{name}, line {index + 1}", name)
    return tokens


def write_vocabulary(tokens: Sequence[str]) -> bytes:
    """The content of a vocabulary file."""
    return "".join(f"{token}\n" for token in tokens).encode()


def check_vocabulary(tokens: Sequence[str], place: Callable[[int], str], whole: str) -> None:
    """Raises a ValueError for a vocabulary that cannot be used or written to a file.

    Args:
        tokens: the tokens in the order of their ids.
        place: index -> how to call the place of a token.
        whole: how to call the vocabulary.
    """
    seen: dict[str, int] = {}
    for index, token in enumerate(tokens):
        if not token.strip(" \t\r"):
            raise ValueError(f"{place(index)} is blank; every line must hold a token.")
        if "\n" in token or token.endswith("\r"):
            raise ValueError(f"{place(index)}: token {token!r} holds a line end.")
        if "\0" in token:
            raise ValueError(f"{place(index)}: token {token!r} holds a NUL.")
        if token in seen:
            raise ValueError(
                f"{place(index)} repeats the token {token!r} of {place(seen[token])}; "
                f"each token must stand there once."
            )
        if len(token.removeprefix(SUFFIX).encode()) > LONGEST_TOKEN:
            raise ValueError(
                f"{place(index)}: the token {token[:20]!r}... is longer than {LONGEST_TOKEN} bytes."
            )
        seen[token] = index
    if UNK not in seen:
        raise ValueError(f"{whole} lacks the token {UNK}, for words that it cannot spell.")


def check_special_tokens(tokens: Sequence[str], argument: str) -> tuple[str, ...]:
    """Returns the names of special tokens if each can be told from text; raises a ValueError."""
    if isinstance(tokens, str):
        raise ValueError(f"{argument} must be a list of strings, got {tokens!r}.")
    for index, token in enumerate(tokens):
        if not isinstance(token, str) or not SPECIAL_TOKEN.fullmatch(token):
            raise ValueError(
                f"{argument}[{index}] must be one word in brackets, [like] or <like> this; "
                f"got {token!r}."
            )
        if token in tokens[:index]:
            raise ValueError(f"{argument} holds {token!r} more than once.")
    return tuple(tokens)
