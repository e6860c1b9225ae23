"""Texts of many kinds, as the world sends them to a server."""

from __future__ import annotations

import random
from itertools import count as numbers
from typing import Any

SCRIPTS = [
    "the dog sees the red house.",
    "Ada lives in London, and drinks TEA!",
    "Wo ist der Hund? Größe, Fuß, ÄÖÜ",
    "Élan naïve façade œuvre ça va ?",
    "Собака бежит по улице; ещё раз.",
    "Ο σκύλος τρέχει στον δρόμο.",
    "الكلب يركض في الشارع ١٢٣",
    "הכלב רץ ברחוב",
    "कुत्ता सड़क पर दौड़ता है।",
    "কুকুরটি দৌড়ায়",
    "நாய் ஓடுகிறது",
    "สุนัขวิ่งบนถนน",
    "ខ្មែរ ឆ្កែ",
    "မြန်မာ ခွေး",
    "ძაღლი გარბის",
    "Շունը վազում է",
    "ውሻው ይሮጣል",
    "我住在北京。她喝茶。",
    "繁體中文測試，「引號」。",
    "犬が走っている。カタカナ ﾊﾝｶｸ",
    "개가 달린다 한국어",
    "Tiếng Việt có dấu: ề ộ ữ",
    "ᚠᚢᚦᚨᚱᚲ 𐍈𐌰𐌹𐍂 𓀀𓂀",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟙𝟚𝟛 ﬁ ½ ㍿",
]
EMOJI = ["🙂", "😀😃😄", "👩‍👩‍👧‍👦 family", "🇩🇪🇫🇷 flags", "👍🏽 tone", "❤️ heart", "a🙂b🙂c"]
BLANK = ["", " ", "\t", "\n", "\r\n", "  \u3000 ", "\u00a0", "\u2028\u2029", "\x1c\x1d\x85"]
MARKS = [
    "e\u0301te\u0301 a\u0300\u0301\u0302",
    "\u0301 begins with a mark",
    "zero\u200bwidth\u200d\ufeff",
    "right to left \u202eabc\u202c",
    "Z̷̢̛a̸̡l̵͜g̶̨o̴͠" * 5,
    "\ufffd\ufffe\uffff\U0010ffff",
    "\ud7ff\ue000\uf8ff",
]
CONTROL = ["\0", "nul \0 in between", "\0\0\0", "\x01\x02\x1b[0m\x7f", "line\nfeed\ttab\r", "\x10▁"]
SPECIAL = [
    "<s></s><pad><unk>[MASK]",
    "[CLS] [SEP] [PAD] [UNK] [MASK]",
    "the [MASK] sees [MASK] house",
    "[MASK]",
    "<|endoftext|>",
    "▁▂▃ <0x41>",
    "##ing ##",
]
WRITTEN = [
    '"quotes" and \\back\\slash/',
    '{"text": ["json", 1, null]}',
    "<b>html</b> &amp; <script>alert(1)</script>",
    "'; DROP TABLE users; --",
    "https://example.org/a?b=c&d=%20#e",
    "name.surname+tag@example.org",
    "1,000.50 -3 1e10 ½ ² ٣",
    "AT&T U.S.A. don't rock'n'roll --- ... !?",
    "ALL CAPITALS",
    "a",
    ".",
    "?" * 40,
    "where's the cat? " * 12,
    "x" * 70,
    "Donaudampfschifffahrtsgesellschaftskapitän",
]
DAMAGED = [
    b"\xff",
    b"\x80\x81\xfe",
    b"\xff\xfe not UTF-8 \xc3",
    b"half a character \xe4\xbd",
    b"too long \xc0\x80 \xe0\x80\x80",
    b"surrogate \xed\xa0\x80 \xed\xb0\x80",
    b"beyond \xf4\x90\x80\x80 \xf8\x88\x80\x80\x80",
    b"the dog\xe9 sees\xa0the cat",
    b"\xc3\x28 \xe2\x28\xa1 \xf0\x9f\x99",
    b"\0\xff\0",
    bytes(range(256)),
]
LONG = ["x" * 100_000, "the dog sees a cat. " * 5000, "我" * 100_000, "🙂 " * 50_000]

KINDS = [SCRIPTS, EMOJI, BLANK, MARKS, CONTROL, SPECIAL, WRITTEN, DAMAGED]


def as_bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8")


def texts(count: int, long: int = 1) -> list[bytes]:
    """So many texts, always the same ones: some of each kind first, then mixtures of all.

    Args:
        count: how many.
        long: how many of them have 100,000 characters.
    """
    choose = random.Random(0)
    found = [as_bytes(text) for text in LONG[:long]]
    most = max(map(len, KINDS))
    found += [as_bytes(kind[row]) for row in range(most) for kind in KINDS if row < len(kind)]
    parts = [as_bytes(text) for kind in KINDS for text in kind]
    for number in numbers():
        if len(found) >= count:
            break
        pieces = choose.choices(parts, k=choose.randint(2, 5))
        if number % 4 == 0:  # cut anywhere, also within a character
            pieces = [piece[choose.randrange(len(piece) + 1) :] for piece in pieces]
        found.append(choose.choice([b" ", b"", b"\n"]).join(pieces))
    return found[:count]


def columns(names: list[str], rows: list[bytes]) -> dict[str, list[Any]]:
    """A column for each input of a signature, the first of texts being `rows`."""
    choose = random.Random(1)
    ways = {  # what one may ask of a text generator, nonsense included
        "max_new_tokens": [12, 1, 30, 0, -5, 20],
        "temperature": [0.0, 1.0, 0.7, 1.5, -1.0, 3e38],
        "top_k": [0, 5, 1, 1000, -3, 2**31 - 1],
        "top_p": [1.0, 0.9, 0.5, 0.0, -2.0, 7.0],
        "seed": [0, 1, 7, 2**31 - 1, -1, -(2**31)],
    }
    texts = [rows, rows[::-1]]
    return {
        name: [choose.choice(ways[name]) for _ in rows] if name in ways else texts.pop(0)
        for name in names
    }
