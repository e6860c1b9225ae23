"""The WordPiece tokenizer of a Hugging Face directory."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from keras_transformer.text import WordPieceTokenizer
from keras_transformer.text.files import write_atomically
from keras_transformer.text.wordpiece_vocabulary import SUFFIX, UNK, write_vocabulary

VOCABULARY_FILE = "vocab.txt"
SETTINGS_FILE = "tokenizer_config.json"
FAST_FILE = "tokenizer.json"  # vocabulary and settings in one, by the library `tokenizers`


def load_wordpiece(directory: str | os.PathLike[str]) -> WordPieceTokenizer:
    """The tokenizer of a BERT directory, with Hugging Face's ids.

    Args:
        directory: folder with a `vocab.txt` (and `tokenizer_config.json`, which says whether
            capital letters count), or else with a `tokenizer.json`.

    Raises:
        ValueError: when there is neither file, one is damaged, or `tokenizer.json` holds another
            kind of tokenizer than BERT's.

    >>> load_wordpiece("bert-base-uncased")  # doctest: +SKIP
    """
    directory = Path(directory)
    if (directory / VOCABULARY_FILE).is_file():
        settings = directory / SETTINGS_FILE
        fields = _read_json(settings) if settings.is_file() else {}
        return WordPieceTokenizer.from_vocab(
            directory / VOCABULARY_FILE,
            lowercase=fields.get("do_lower_case", True),
            strip_accents=fields.get("strip_accents"),
            normalization="bert",
        )
    if (directory / FAST_FILE).is_file():
        return _from_fast_file(directory / FAST_FILE)
    raise ValueError(
        f"{directory} has no {VOCABULARY_FILE} and no {FAST_FILE}, the vocabulary of its tokenizer."
    )


def save_wordpiece(tokenizer: WordPieceTokenizer, directory: str | os.PathLike[str]) -> None:
    """Writes `vocab.txt` and `tokenizer_config.json` as Hugging Face's BertTokenizer reads them.

    Its ids are ours for a tokenizer with `normalization="bert"`. Under "default" those of some
    characters differ: symbols, variation selectors, and accents where they are stripped.

    >>> save_wordpiece(tokenizer, "runs/sst2")  # doctest: +SKIP
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    fields = {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": tokenizer.rules.lowercase,
        "strip_accents": tokenizer.rules.strip_accents,
        "tokenize_chinese_chars": True,
    }
    write_atomically(directory / SETTINGS_FILE, json.dumps(fields, indent=2).encode())
    write_atomically(directory / VOCABULARY_FILE, write_vocabulary(tokenizer.vocabulary))


def _from_fast_file(path: Path) -> WordPieceTokenizer:
    fields = _read_json(path)
    model, normalizer = (fields.get(name) or {} for name in ("model", "normalizer"))
    wanted = (
        ("model.type", model.get("type"), "WordPiece"),
        ("model.unk_token", model.get("unk_token"), UNK),
        ("model.continuing_subword_prefix", model.get("continuing_subword_prefix"), SUFFIX),
        ("normalizer.type", normalizer.get("type"), "BertNormalizer"),
        ("normalizer.clean_text", normalizer.get("clean_text"), True),
        ("normalizer.handle_chinese_chars", normalizer.get("handle_chinese_chars"), True),
    )
    for name, found, right in wanted:
        if found != right:
            raise ValueError(f"{path}: {name} is {found!r}; only BERT's {right!r} is read.")
    return WordPieceTokenizer(
        _in_order(model.get("vocab"), fields.get("added_tokens") or (), path),
        lowercase=normalizer.get("lowercase", True),
        strip_accents=normalizer.get("strip_accents"),
        normalization="bert",
    )


def _in_order(vocab: Any, added: Iterable[Mapping[str, Any]], path: Path) -> list[str]:
    """Tokens by their ids; those that were added later may stand outside the vocabulary."""
    ids = dict(vocab or {}) | {token["content"]: token["id"] for token in added}
    if sorted(ids.values()) != list(range(len(ids))):
        raise ValueError(f"{path}: model.vocab must give the ids 0, 1, 2, ... to tokens.")
    return sorted(ids, key=ids.__getitem__)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        fields = json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}.") from None
    if not isinstance(fields, dict):
        raise ValueError(f"{path} must hold a JSON object, not a {type(fields).__name__}.")
    return fields
