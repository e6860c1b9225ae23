"""Texts to train on and texts to score with are not to be the same."""

from collections.abc import Mapping
from pathlib import Path


def check_kept_apart(flag: str, source: str, others: Mapping[str, str | None]) -> None:
    """Refuses files to score with that lie in the folder to train on, of which all files are read.

    Args:
        flag: the option of the training data.
        source: its value.
        others: option -> its value, of the data to score with.
    """
    folder = Path(source.replace("{split}", "train"))
    for other, path in others.items():
        if path and folder.is_dir() and folder.resolve() in Path(path).resolve().parents:
            raise ValueError(
                f"{other} {path} lies in the folder of {flag}, {folder}, all of which is trained "
                "on: move it out of there, or the training data into a folder of their own."
            )
