"""What WordPiece makes of each character before it looks for words."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from keras_transformer.text import wordpiece_unicode as unicode8

WordNormalization = Literal["default", "bert"]

# Accents of any script in general: the blocks of combining diacritical marks. Marks that a script
# has for itself (vowel signs of Hindi, points of Hebrew, voicing marks of kana) are not in them.
ACCENT_BLOCKS = (
    (0x0300, 0x036F),
    (0x1AB0, 0x1AFF),
    (0x1DC0, 0x1DFF),
    (0x20D0, 0x20FF),
    (0xFE20, 0xFE2F),
)
VARIATION_SELECTORS = ((0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
# 〇 and the ideographs; planes 2 and 3 hold nothing else.
CHINESE_CHARACTERS = (
    (0x3007, 0x3007),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3347F),
)
ACCENTED_SCRIPTS = ("LATIN", "GREEK")
ZERO_WIDTH_SPACE = "\u200b"


@dataclass(frozen=True)
class CharacterRules:
    """One rule for each character: it stays, changes, disappears, or stands between blanks.

    What a character becomes depends on nothing around it, so that one constant table serves the
    graph, and the words are what stands between blanks afterwards.

    Attributes:
        normalization: "default" or "bert".
        lowercase: give every cased letter its small one.
        strip_accents: take accents away.

    "bert" is what published BERT checkpoints were made with: control and format characters
    disappear, Chinese characters and punctuation (Unicode 8.0) stand alone, and accents are
    whatever mark a canonical decomposition shows, in every script.

    "default" expects text in the form NFC. Chinese characters, punctuation and symbols stand
    alone, control and format characters disappear, and so do variation selectors. Accents are
    the general diacritical marks: a Latin or Greek letter loses them, a loose one disappears, and
    a letter of another script is never changed (й stays й, 한 stays one syllable, हि keeps its
    vowel sign). Small letters are Unicode's, except that ς is σ, as in ΣΟΦΟΣ.

    >>> rules = CharacterRules("default", lowercase=True, strip_accents=True)
    >>> rules.words("Crème de Й, 中文!")
    ['creme', 'de', 'й', ',', '中', '文', '!']
    """

    normalization: WordNormalization
    lowercase: bool
    strip_accents: bool

    def __post_init__(self) -> None:
        if self.normalization not in get_args(WordNormalization):
            raise ValueError(
                f"normalization must be one of {get_args(WordNormalization)}, "
                f"got {self.normalization!r}."
            )
        for name in ("lowercase", "strip_accents"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be True or False, got {getattr(self, name)!r}.")

    @property
    def unicode_form(self) -> Literal["identity", "nfc"]:
        """The Unicode normalization form that the text is brought into first."""
        return "nfc" if self.normalization == "default" else "identity"

    def becomes(self, character: str) -> str:
        """What one character turns into; blanks in it separate words."""
        if self.normalization == "bert":
            return self._bert(character)
        return self._default(character)

    def is_mark(self, character: str) -> bool:
        """Whether a character that disappears belongs to the letter before it."""
        return unicodedata.category(character)[0] == "M"

    def words(self, text: str) -> list[str]:
        """Normalizes a text and cuts it into words, as the graph does."""
        if self.unicode_form == "nfc":
            text = unicodedata.normalize("NFC", text)
        return text.translate(_translation(self)).split()

    def _default(self, character: str) -> str:
        category = unicodedata.category(character)
        if character.isspace() or character == ZERO_WIDTH_SPACE:
            return " "
        if category in ("Cc", "Cf") or _lies_in(VARIATION_SELECTORS, ord(character)):
            return ""
        if category[0] in "PS" or _lies_in(CHINESE_CHARACTERS, ord(character)):
            return f" {character} "
        if self.strip_accents:
            if category == "Mn" and _lies_in(ACCENT_BLOCKS, ord(character)):
                return ""
            character = _without_accents(character)
        return _small(character) if self.lowercase else character

    def _bert(self, character: str) -> str:
        code = ord(character)
        if character in " \t\n\r":
            return " "
        if character == "\ufffd" or unicodedata.category(character) in ("Cc", "Co"):
            return ""
        if code in unicode8.FORMATS:
            return ""
        if character.isspace():
            return " "
        chinese = _lies_in(unicode8.CHINESE_CHARACTERS, code)
        if self.strip_accents:
            whole = code in unicode8.UNDECOMPOSED
            character = "".join(
                part
                for part in (character if whole else unicodedata.normalize("NFD", character))
                if ord(part) not in unicode8.NONSPACING_MARKS
            )
        if self.lowercase:
            character = "".join(part.lower() for part in character)
        if chinese:
            return f" {character} "
        return "".join(f" {part} " if _is_bert_punctuation(part) else part for part in character)


class _Translation(dict):
    """A table for `str.translate` that asks the rules once for each character that occurs."""

    def __init__(self, rules: CharacterRules):
        super().__init__()
        self._rules = rules

    def __missing__(self, code: int) -> str:
        self[code] = self._rules.becomes(chr(code))
        return self[code]


@lru_cache(maxsize=8)
def _translation(rules: CharacterRules) -> _Translation:
    return _Translation(rules)


def _lies_in(ranges: tuple[tuple[int, int], ...], code: int) -> bool:
    return any(first <= code <= last for first, last in ranges)


def _is_bert_punctuation(character: str) -> bool:
    code = ord(character)
    if code < 0x80:
        return 0x20 < code < 0x7F and not character.isalnum()
    return code in unicode8.PUNCTUATION


def _without_accents(character: str) -> str:
    parts = unicodedata.normalize("NFD", character)
    if len(parts) == 1 or not unicodedata.name(parts[0], "").startswith(ACCENTED_SCRIPTS):
        return character
    kept = "".join(part for part in parts if not _lies_in(ACCENT_BLOCKS, ord(part)))
    return unicodedata.normalize("NFC", kept)


def _small(character: str) -> str:
    if character == "ς":
        return "σ"
    # A small letter whose capital has no composed form (ǰ) becomes what that capital's parts
    # become, or the two would differ.
    parts = unicodedata.normalize("NFC", character.upper()).lower()
    if len(parts) > 1 and unicodedata.normalize("NFC", parts) == character:
        return parts
    return character.lower()
