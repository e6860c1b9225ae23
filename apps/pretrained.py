"""Folders of models: runs, Hugging Face directories, SavedModels."""

import json
from pathlib import Path
from typing import Any

from keras_transformer.text.files import write_atomically

START_FILE = "start.json"


def is_run(directory: str) -> bool:
    """Whether the folder of a model is that of a run, and not a Hugging Face directory.

    Raises:
        ValueError: when it is no folder of a model.
    """
    check_model_folder(directory)
    path = Path(directory, "config.json")
    try:
        fields = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}.") from None
    if not isinstance(fields, dict):
        raise ValueError(f"{path} must hold a JSON object, not a {type(fields).__name__}.")
    return "task" in fields


def check_model_folder(directory: str) -> None:
    """Refuses what is no folder of a model.

    Raises:
        ValueError: when there is no such folder, none of its files says what the model is, or its
            run is not over yet.
    """
    if not Path(directory).is_dir():
        raise ValueError(
            f"There is no folder {directory}: give one of a run or a Hugging Face directory. "
            "(Nothing is downloaded.)"
        )
    if Path(directory, "config.json").is_file():
        return
    if Path(directory, "checkpoints").is_dir():
        raise ValueError(f"The run in {directory} is not over: go on with it by --resume.")
    raise ValueError(
        f"{directory} holds no model: there is no config.json in it. Give the folder of a "
        "finished run, or a Hugging Face directory."
    )


def saved_model(directory: str) -> Path | None:
    """The folder of a SavedModel: this one, or the newest of its versions; None for another."""
    folders = [Path(directory)]
    if folders[0].is_dir():
        versions = [path for path in folders[0].iterdir() if path.name.isdecimal()]
        folders += sorted(versions, key=lambda path: -int(path.name))
    return next((path for path in folders if (path / "saved_model.pb").is_file()), None)


def write_start(run: str, start: dict[str, Any]) -> None:
    """Keeps what a run begins with, so that it is resumed without the folder of `--init`."""
    write_atomically(Path(run, START_FILE), json.dumps(start, indent=2).encode())


def read_start(run: str) -> dict[str, Any] | None:
    """What a run began with; None if it has no checkpoint and so is to begin anew."""
    path = Path(run, START_FILE)
    if not path.is_file() or not any(Path(run, "checkpoints").glob("*.npz")):
        return None
    return json.loads(path.read_text(encoding="utf-8"))
