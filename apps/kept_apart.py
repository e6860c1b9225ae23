"""Texts to train on and texts to score with are not to be the same."""

from collections.abc import Mapping
from pathlib import Path


def check_kept_apart(flag: str, source: str, others: Mapping[str, str | None]) -> None:
    """Refuses data to score with that are the data to train on, or lie in the folder of these.

    Args:
        flag: the option of the training data.
        source: its value, a file or a folder, of which all files are read.
        others: option -> its value, of the data to score with.
    """
    trained = Path(source.replace("{split}", "train"))
    for other, path in others.items():
        if not path or not trained.exists():
            continue
        scored = Path(path).resolve()
        if scored == trained.resolve():
            raise ValueError(
                f"{other} {path} is what {flag} trains on: a score on it would say nothing. Give "
                "other data."
            )
        if trained.resolve() in scored.parents:
            raise ValueError(
                f"{other} {path} lies in the folder of {flag}, {trained}, all of which is trained "
                "on: move it out of there, or the training data into a folder of their own."
            )
