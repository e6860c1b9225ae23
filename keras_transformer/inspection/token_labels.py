"""Tokens as readers know them: text with visible blanks, special ones by name."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from keras_transformer.tasks.token_spelling import TokenSpelling
from keras_transformer.text import Tokenizer, WordPieceTokenizer

# What has no shape of its own gets the sign that keyboards and editors have for it.
_SIGNS = {" ": "␣", "\n": "↵", "\r": "␍", "\t": "⇥", "\u00a0": "⍽"}


class Token(NamedTuple):
    """One token of a text."""

    text: str
    """As it reads; a blank is ␣, and bytes that are no whole character are in brackets."""
    special: bool = False
    """Whether it stands for no text: the begin, an end, a mask."""
    part: int = 0
    """0 in the first text or prompt, 1 in the second text or in what was generated."""


def token_labels(tokenizer: Tokenizer, ids: Sequence[int], part: int = 0) -> list[Token]:
    """The tokens of ids.

    >>> from keras_transformer.text import CharacterTokenizer
    >>> [token.text for token in token_labels(CharacterTokenizer("ab"), [1, 4, 3, 2])]
    ['<s>', 'a', '<unk>', '</s>']
    """
    special = {*tokenizer.special_ids, tokenizer.mask_id, tokenizer.cls_id, tokenizer.sep_id}
    spelling = None if isinstance(tokenizer, WordPieceTokenizer) else TokenSpelling.of(tokenizer)
    tokens = []
    for index in ids:
        name = tokenizer.id_to_token(index)
        if index not in special and index != tokenizer.unk_id:
            name = visible(name) if spelling is None else _spelled(spelling, index)
        tokens.append(Token(name, index in special, part))
    return tokens


def _spelled(spelling: TokenSpelling, index: int) -> str:
    spelled = spelling.tokens[index]
    try:
        spelled.decode("utf-8")
    except UnicodeDecodeError:
        return f"<{spelled.hex(' ').upper()}>"
    return visible(spelling.settled_text(spelled))


def visible(text: str) -> str:
    """Text in which blanks and control characters can be seen.

    >>> visible(" a\\n\\u200b")
    '␣a↵<U+200B>'
    """
    return "".join(_SIGNS.get(character) or _visible(character) for character in text)


def _visible(character: str) -> str:
    hidden = unicodedata.category(character) in ("Cc", "Cf", "Zs", "Zl", "Zp", "Cs")
    return f"<U+{ord(character):04X}>" if hidden else character
