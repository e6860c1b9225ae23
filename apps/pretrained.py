"""Folders of models to go on from."""

import json
from pathlib import Path


def is_run(directory: str) -> bool:
    """Whether the folder of a model is that of a run, and not a Hugging Face directory.

    Raises:
        ValueError: when it is no folder of a model.
    """
    config = Path(directory, "config.json")
    if not config.is_file():
        raise ValueError(
            f"{directory} holds no model: there is no config.json in it. Give the folder of a "
            "finished run, or a Hugging Face directory."
        )
    return "task" in json.loads(config.read_text(encoding="utf-8"))
