"""How a directory of the sentence-transformers library says what a text's vector is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MODULES_FILE = "modules.json"
POOLING_FOLDER = "1_Pooling"
KINDS = ("Transformer", "Pooling", "Normalize")
POOLINGS = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "mean": "mean",
    "cls": "cls",
}
"""How a pooling may be written, and its name here."""


def read_pooling(directory: Path) -> dict[str, Any]:
    """The `pooling` and `normalize` of a `BertEmbedder`; empty where the directory does not say.

    Raises:
        ValueError: when the directory asks for another pooling, or for steps beside pooling and
            unit length.
    """
    path = directory / MODULES_FILE
    if not path.is_file():
        return {}
    try:
        modules = json.loads(path.read_text(encoding="utf-8-sig"))
        kinds = [module["type"].rpartition(".")[2] for module in modules]
        folders = {module["type"].rpartition(".")[2]: module["path"] for module in modules}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not a list of modules: {error!r}.") from None
    if tuple(kinds) not in (KINDS, KINDS[:2]):
        raise ValueError(
            f"{path} lists {', '.join(kinds)}; only {', '.join(KINDS[:2])} and perhaps "
            f"{KINDS[2]} can be read."
        )
    path = directory / folders["Pooling"] / "config.json"
    if not path.is_file():
        raise ValueError(f"{path} is missing, though {MODULES_FILE} names it.")
    try:
        fields = json.loads(path.read_text(encoding="utf-8-sig"))
        modes = [name for name, on in fields.items() if name.startswith("pooling_mode_") and on]
        modes = [str(fields["pooling_mode"])] if "pooling_mode" in fields else modes
    except (ValueError, AttributeError) as error:
        raise ValueError(f"{path} does not describe a pooling: {error!r}.") from None
    if len(modes) != 1 or modes[0] not in POOLINGS:
        raise ValueError(
            f"{path}: the pooling must be one of {', '.join(POOLINGS)}, not {' and '.join(modes)}."
        )
    return {"pooling": POOLINGS[modes[0]], "normalize": KINDS[2] in kinds}


def pooling_files(
    pooling: str, normalize: bool, hidden_size: int, max_length: int
) -> dict[str, Any]:
    """The JSON files that make the same vectors in sentence-transformers, by name.

    >>> sorted(pooling_files("mean", True, 8, 16))
    ['1_Pooling/config.json', 'modules.json', 'sentence_bert_config.json']
    """
    modules = [
        {
            "idx": i,
            "name": str(i),
            "path": POOLING_FOLDER if kind == "Pooling" else "" if i == 0 else f"{i}_{kind}",
            "type": f"sentence_transformers.models.{kind}",
        }
        for i, kind in enumerate(KINDS if normalize else KINDS[:2])
    ]
    return {
        MODULES_FILE: modules,
        f"{POOLING_FOLDER}/config.json": {
            "word_embedding_dimension": hidden_size,
            **{f"pooling_mode_{name}": False for name in ("max_tokens", "mean_sqrt_len_tokens")},
            "pooling_mode_cls_token": pooling == "cls",
            "pooling_mode_mean_tokens": pooling == "mean",
        },
        "sentence_bert_config.json": {"max_seq_length": max_length, "do_lower_case": False},
    }
