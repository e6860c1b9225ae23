"""The bytes that tokens stand for, and texts made of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import tensorflow as tf

from keras_transformer.tasks.texts import valid_unicode
from keras_transformer.text import (
    ByteLevelBPETokenizer,
    CharacterTokenizer,
    SentencePieceTokenizer,
    Tokenizer,
)
from keras_transformer.text.byte_level_bpe_vocabulary import token_bytes

# How `SentencePieceTokenizer.train` spells texts, and the way back, in this order.
_BLANK = "\u2581"
_ESCAPE = "\x10"
_UNESCAPES = ((_BLANK, " "), (_ESCAPE + "1", _BLANK), (_ESCAPE + "0", _ESCAPE))

# The last bytes of a text that are the beginning of a character of UTF-8, but not a whole one
# (Unicode Standard, table 3-7).
_UNFINISHED = re.compile(
    rb"([\xc2-\xf4]|\xe0[\xa0-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]|\xed[\x80-\x9f]"
    rb"|\xf0[\x90-\xbf][\x80-\xbf]?|[\xf1-\xf3][\x80-\xbf]{1,2}|\xf4[\x80-\x8f][\x80-\xbf]?)\Z"
)


@dataclass(frozen=True)
class TokenSpelling:
    """What the tokens of a vocabulary spell one after the other, in bytes.

    A text goes on from a prompt with just what its new tokens spell, whatever the prompt is. So
    `prompt + text` holds, which joining the tokens of both by `Tokenizer.detokenize` does not
    give: SentencePiece, for one, may drop the blank at the beginning. Bytes that are no UTF-8
    become U+FFFD; but those of a last character that lacks some are left out, as the text could
    have gone on with them.

    Attributes:
        tokens: the bytes of each id; none for control ids.
        drops_first_blank: whether a text without a prompt loses a blank at its beginning, since
            the tokenizer puts it there.
        escaped: whether texts are spelled with the escapes of `SentencePieceTokenizer.train`.

    >>> spelling = TokenSpelling.of(CharacterTokenizer("ab"))
    >>> spelling.tokens[4:]
    (b'a', b'b')
    >>> spelling.text("né".encode()[:-1])
    'n'
    """

    tokens: tuple[bytes, ...]
    drops_first_blank: bool = False
    escaped: bool = False

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> TokenSpelling:
        """The spelling of a tokenizer whose tokens spell the same everywhere in a text.

        Raises:
            ValueError: for another kind of tokenizer.
        """
        names = [tokenizer.id_to_token(index) for index in range(tokenizer.vocab_size)]
        control = {*tokenizer.special_ids, tokenizer.unk_id}
        if isinstance(tokenizer, CharacterTokenizer):
            spell = str.encode
        elif isinstance(tokenizer, ByteLevelBPETokenizer):
            spell = token_bytes
        elif isinstance(tokenizer, SentencePieceTokenizer):
            spell = _piece_bytes
        else:
            raise ValueError(
                "Text is generated with a CharacterTokenizer, a SentencePieceTokenizer or a "
                f"ByteLevelBPETokenizer, not with a {type(tokenizer).__name__}."
            )
        tokens = tuple(b"" if i in control else spell(name) for i, name in enumerate(names))
        if not isinstance(tokenizer, SentencePieceTokenizer):
            return cls(tokens)
        blank = next((i for i, name in enumerate(names) if name.startswith(_BLANK)), None)
        probe = b" " if blank is None else tokenizer.detokenize([[blank]]).numpy()[0]
        escaped = tokenizer.detokenize(tokenizer.tokenize([_BLANK])).numpy()[0].decode() == _BLANK
        return cls(tokens, not probe.startswith(b" "), escaped)

    def spelled(self, ids: list[int]) -> bytes:
        """The bytes of tokens."""
        return b"".join(self.tokens[index] for index in ids)

    def encode(self, text: str) -> bytes:
        """How tokens spell a text."""
        if self.escaped:
            text = text.replace(_ESCAPE, _ESCAPE + "0").replace(_BLANK, _ESCAPE + "1")
        return text.encode("utf-8", "replace")

    def text(self, spelled: bytes, after_nothing: bool = False) -> str:
        """The text that bytes stand for. It is the beginning of the text of any more bytes.

        Args:
            spelled: the bytes.
            after_nothing: whether no token of a prompt stands before.
        """
        return self.settled_text(spelled[: self.settled(spelled)], after_nothing)

    def settled(self, spelled: bytes) -> int:
        """How many of the bytes stand for characters that no further byte changes.

        >>> TokenSpelling(()).settled("né".encode()[:-1])
        1
        """
        end = len(_UNFINISHED.sub(b"", spelled))
        return end - (self.escaped and spelled[:end].endswith(_ESCAPE.encode()))  # half an escape

    def settled_text(self, settled: bytes, after_nothing: bool = False) -> str:
        """What settled bytes stand for, wherever in a text they are."""
        if after_nothing and self.drops_first_blank:
            settled = settled.removeprefix(b" ")
        text = settled.decode("utf-8", "replace")
        if self.escaped:
            for escaped, character in _UNESCAPES:
                text = text.replace(escaped, character)
        return text

    # In the graph.

    def texts(
        self, ids: tf.Tensor, lengths: tf.Tensor, cut: tf.Tensor, after_nothing: tf.Tensor
    ) -> tf.Tensor:
        """`text` of the first tokens of each row, without its last bytes: string `[batch]`.

        Args:
            ids: int32 `[batch, width]`.
            lengths: int32 `[batch]`, how many tokens count.
            cut: int32 `[batch]`, how many bytes to leave out at the end.
            after_nothing: bool `[batch]`.
        """
        real = tf.sequence_mask(lengths, tf.shape(ids)[1])  # [batch, width]
        pieces = tf.gather(self._strings, tf.where(real, ids, 0))
        spelled = tf.strings.reduce_join(tf.where(real, pieces, ""), axis=1)  # [batch]
        spelled = _without_last(spelled, cut)
        if self.drops_first_blank:
            stripped = tf.strings.regex_replace(spelled, r"\A ", "")
            spelled = tf.where(after_nothing, stripped, spelled)
        texts = valid_unicode(_without_last(spelled, _unfinished(spelled)))
        if self.escaped:
            texts = tf.strings.regex_replace(texts, _ESCAPE + r"\z", "")
            for escaped, character in _UNESCAPES:
                texts = tf.strings.regex_replace(texts, escaped, character)
        return texts

    @cached_property
    def _strings(self) -> np.ndarray:
        # A NumPy array, so that every graph gets a constant of its own.
        return np.array(self.tokens, object)  # [vocab_size]


def _piece_bytes(piece: str) -> bytes:
    """What SentencePiece's name of a token stands for."""
    if re.fullmatch("<0x[0-9A-F]{2}>", piece):
        return bytes([int(piece[3:5], 16)])
    return piece.replace(_BLANK, " ").encode()


def _without_last(strings: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
    """Strings `[batch]` without so many bytes at the end."""
    return tf.strings.substr(strings, tf.zeros_like(number), tf.strings.length(strings) - number)


def _unfinished(strings: tf.Tensor) -> tf.Tensor:
    """How many bytes at the end of strings `[batch]` are a character of UTF-8 that lacks some."""
    last = tf.strings.substr(tf.strings.join(["   ", strings]), -3, 3)
    third, second, first = tf.unstack(tf.io.decode_raw(last, tf.uint8, fixed_length=3), axis=1)

    def between(byte: tf.Tensor, least: int, most: int) -> tf.Tensor:
        return (byte >= least) & (byte <= most)

    def begins(lead: tf.Tensor, byte: tf.Tensor) -> tf.Tensor:
        """Whether two bytes begin a character of three or more."""
        least = tf.where(lead == 0xE0, 0xA0, tf.where(lead == 0xF0, 0x90, 0x80))
        most = tf.where(lead == 0xED, 0x9F, tf.where(lead == 0xF4, 0x8F, 0xBF))
        byte, lead = tf.cast(byte, tf.int32), tf.cast(lead, tf.int32)
        return between(lead, 0xE0, 0xF4) & (byte >= least) & (byte <= most)

    return tf.where(
        between(first, 0xC2, 0xF4),
        1,
        tf.where(
            begins(second, first),
            2,
            tf.where(
                between(third, 0xF0, 0xF4) & begins(third, second) & between(first, 0x80, 0xBF),
                3,
                0,
            ),
        ),
    )
