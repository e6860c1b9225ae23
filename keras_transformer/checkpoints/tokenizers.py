"""The tokenizers of Hugging Face directories: BERT's WordPiece and GPT-2's byte-level BPE."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from keras_transformer.text import ByteLevelBPETokenizer, WordPieceTokenizer
from keras_transformer.text import byte_level_bpe_vocabulary as bpe_files
from keras_transformer.text.files import write_atomically
from keras_transformer.text.wordpiece_vocabulary import SUFFIX, UNK, write_vocabulary

VOCABULARY_FILE = "vocab.txt"
BPE_FILE = "vocab.json"
MERGES_FILE = "merges.txt"
ADDED_FILE = "added_tokens.json"
ROLES_FILE = "special_tokens_map.json"
SETTINGS_FILE = "tokenizer_config.json"
BERT_CLASSES = (
    "BertTokenizer",
    "BertTokenizerFast",
    "DistilBertTokenizer",
    "DistilBertTokenizerFast",
    "ElectraTokenizer",
    "ElectraTokenizerFast",
)
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
    fields = _read_json_if_there(directory / SETTINGS_FILE)
    fast = (directory / FAST_FILE).is_file()
    generic = fast and fields.get("tokenizer_class") == "PreTrainedTokenizerFast"
    if (directory / VOCABULARY_FILE).is_file() and not generic:
        _check_bert(directory / SETTINGS_FILE, fields)
        return WordPieceTokenizer.from_vocab(
            directory / VOCABULARY_FILE,
            lowercase=fields.get("do_lower_case", True),
            strip_accents=fields.get("strip_accents"),
            normalization="bert",
        )
    if fast:
        try:
            return _from_fast_file(directory / FAST_FILE)
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(
                f"{directory / FAST_FILE} is not a file of the library tokenizers: {error!r}."
            ) from None
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


def load_byte_level_bpe(
    directory: str | os.PathLike[str], match_control_symbols: bool = False
) -> ByteLevelBPETokenizer:
    """The tokenizer of a GPT-2 directory, with Hugging Face's ids.

    Args:
        directory: folder with a `tokenizer.json`, or else with `vocab.json` and `merges.txt`; and
            with `tokenizer_config.json` and `special_tokens_map.json`, which say what the special
            tokens are for. Where they say nothing, "<|endoftext|>" begins and ends a text.
        match_control_symbols: let special tokens be typed in the text, as Hugging Face does.

    Raises:
        ValueError: when there are no such files, one is damaged, or `tokenizer.json` holds another
            kind of tokenizer than GPT-2's: another pattern or a normalizer, for example.

    >>> load_byte_level_bpe("gpt2")  # doctest: +SKIP
    """
    directory = Path(directory)
    settings = _read_json_if_there(directory / SETTINGS_FILE)
    if (directory / FAST_FILE).is_file():
        tokens, merges, added, prefix = _read_fast_bpe(directory / FAST_FILE)
    elif (directory / BPE_FILE).is_file() and (directory / MERGES_FILE).is_file():
        tokens, merges, added, prefix = _read_bpe_files(directory, settings)
    else:
        raise ValueError(
            f"{directory} has no {FAST_FILE} and no {BPE_FILE} with {MERGES_FILE}, the vocabulary "
            f"of its tokenizer."
        )
    roles = _roles(tokens, _read_json_if_there(directory / ROLES_FILE) | settings)
    special = {*added, *(token for token in roles.values() if token is not None)}
    place = {token: index for index, token in enumerate(tokens)}
    return ByteLevelBPETokenizer(
        tokens,
        merges,
        special_tokens=sorted(special, key=lambda token: place.get(token, len(tokens))),
        **roles,
        add_prefix_space=settings.get("add_prefix_space", prefix),
        match_control_symbols=match_control_symbols,
    )


def save_byte_level_bpe(
    tokenizer: ByteLevelBPETokenizer, directory: str | os.PathLike[str]
) -> None:
    """Writes `vocab.json`, `merges.txt` and `tokenizer_config.json` as GPT2Tokenizer reads them.

    Raises:
        ValueError: for a tokenizer that normalizes the text, which these files cannot say.

    >>> save_byte_level_bpe(tokenizer, "runs/gpt")  # doctest: +SKIP
    """
    if tokenizer.normalization != "identity":
        raise ValueError(
            f"the tokenizer's normalization is {tokenizer.normalization!r}; Hugging Face's GPT-2 "
            f"tokenizer has 'identity' only."
        )
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    flags = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False}
    fields = {
        "tokenizer_class": "GPT2Tokenizer",
        **tokenizer.roles,
        "unk_token": tokenizer.roles["eos_token"],  # Never used, and by default a new token.
        "add_prefix_space": tokenizer.add_prefix_space,
        "added_tokens_decoder": {
            str(tokenizer.token_to_id(token)): {"content": token, **flags, "special": True}
            for token in tokenizer.special_tokens
        },
    }
    write_atomically(directory / SETTINGS_FILE, json.dumps(fields, indent=2).encode())
    write_atomically(directory / MERGES_FILE, bpe_files.write_merges(tokenizer.merges))
    write_atomically(directory / BPE_FILE, bpe_files.write_vocabulary(tokenizer.vocabulary))


def _read_fast_bpe(path: Path) -> tuple[list[str], list[bpe_files.Merge], list[str], bool]:
    """Tokens, merges, special tokens and whether a blank is put before the text."""
    fields = _read_json(path)
    model, cutter, decoder = (
        fields.get(name) or {} for name in ("model", "pre_tokenizer", "decoder")
    )
    wanted = (
        ("model.type", model.get("type"), "BPE"),
        ("model.dropout", model.get("dropout") or None, None),
        ("model.continuing_subword_prefix", model.get("continuing_subword_prefix") or "", ""),
        ("model.end_of_word_suffix", model.get("end_of_word_suffix") or "", ""),
        ("model.byte_fallback", model.get("byte_fallback", False), False),
        ("model.ignore_merges", model.get("ignore_merges", False), False),
        ("normalizer", fields.get("normalizer"), None),
        ("pre_tokenizer.type", cutter.get("type"), "ByteLevel"),
        ("pre_tokenizer.use_regex", cutter.get("use_regex", True), True),
        ("decoder.type", decoder.get("type", "ByteLevel"), "ByteLevel"),
    )
    for name, found, right in wanted:
        if found != right:
            raise ValueError(f"{path}: {name} is {found!r}; only GPT-2's {right!r} is read.")
    added = fields.get("added_tokens") or []
    for token in added:
        _check_added(token, path)
    merges = [
        bpe_files.split_merge(merge, f"{path}, model.merges[{rank}]")
        for rank, merge in enumerate(model.get("merges") or ())
    ]
    names = {token["content"]: token["id"] for token in added}
    ids = bpe_files.check_ids(model.get("vocab"), f"{path}: model.vocab") | names
    tokens = bpe_files.in_order(ids, f"{path}: model.vocab")
    return tokens, merges, list(names), cutter.get("add_prefix_space", True)


def _read_bpe_files(
    directory: Path, settings: Mapping[str, Any]
) -> tuple[list[str], list[bpe_files.Merge], list[str], bool]:
    """The same from `vocab.json` and `merges.txt`, which do not name their pattern."""
    kind = settings.get("tokenizer_class", "GPT2Tokenizer")
    if kind not in ("GPT2Tokenizer", "GPT2TokenizerFast"):
        raise ValueError(
            f"{directory / SETTINGS_FILE}: tokenizer_class is {kind!r}; without a {FAST_FILE}, "
            f"which says how it cuts words, only 'GPT2Tokenizer' is read."
        )
    ids = bpe_files.read_vocabulary(directory / BPE_FILE)
    later = bpe_files.check_ids(
        _read_json_if_there(directory / ADDED_FILE), os.fspath(directory / ADDED_FILE)
    )
    for index, token in (settings.get("added_tokens_decoder") or {}).items():
        _check_added(token, directory / SETTINGS_FILE)
        later[token["content"]] = int(index)
    tokens = bpe_files.in_order(ids | later, os.fspath(directory / BPE_FILE))
    return tokens, bpe_files.read_merges(directory / MERGES_FILE), list(later), False


def _check_added(token: Mapping[str, Any], path: Path) -> None:
    wanted = (("special", True), ("lstrip", False), ("rstrip", False), ("single_word", False))
    for name, right in wanted:
        if token.get(name, right) != right:
            raise ValueError(
                f"{path}: the added token {token.get('content')!r} has {name}={token[name]!r}; "
                f"only {right!r} is read."
            )


def _roles(tokens: Iterable[str], fields: Mapping[str, Any]) -> dict[str, str | None]:
    """Which special token begins, ends and pads a text."""
    end = "<|endoftext|>" if "<|endoftext|>" in tokens else None
    defaults = {"pad_token": None, "bos_token": end, "eos_token": end}
    roles = {role: fields.get(role, default) for role, default in defaults.items()}
    return {
        role: token["content"] if isinstance(token, dict) else token
        for role, token in roles.items()
    }


def _check_bert(path: Path, fields: Mapping[str, Any]) -> None:
    """Refuses settings of a tokenizer that cuts in another way than BERT's."""
    kind = fields.get("tokenizer_class") or BERT_CLASSES[0]
    if kind not in BERT_CLASSES:
        raise ValueError(f"{path}: tokenizer_class is {kind!r}; only BERT's is read.")
    wanted = {"tokenize_chinese_chars": True, "do_basic_tokenize": True, "never_split": None}
    for name, right in wanted.items():
        found = fields.get(name, right)
        if (found or None) != (right or None):
            raise ValueError(f"{path}: {name} is {found!r}; only BERT's {right!r} is read.")
    for name in ("do_lower_case", "strip_accents"):
        if fields.get(name, True) not in (True, False, None):
            raise ValueError(f"{path}: {name} must be true or false, not {fields[name]!r}.")


def _from_fast_file(path: Path) -> WordPieceTokenizer:
    fields = _read_json(path)
    model, normalizer, cutter = (
        fields.get(name) or {} for name in ("model", "normalizer", "pre_tokenizer")
    )
    wanted = (
        ("model.type", model.get("type"), "WordPiece"),
        ("model.unk_token", model.get("unk_token"), UNK),
        ("model.continuing_subword_prefix", model.get("continuing_subword_prefix"), SUFFIX),
        ("model.max_input_chars_per_word", model.get("max_input_chars_per_word", 100), 100),
        ("pre_tokenizer.type", cutter.get("type"), "BertPreTokenizer"),
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


def _read_json_if_there(path: Path) -> dict[str, Any]:
    return _read_json(path) if path.is_file() else {}


def _read_json(path: Path) -> dict[str, Any]:
    try:
        fields = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}.") from None
    if not isinstance(fields, dict):
        raise ValueError(f"{path} must hold a JSON object, not a {type(fields).__name__}.")
    return fields
