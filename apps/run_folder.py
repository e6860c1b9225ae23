"""The folder of a run: whether it can be written, what is in it already, and who writes to it."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import command_line
import yaml

from keras_transformer.tasks.task import WEIGHTS_FILE, check_export_folder
from keras_transformer.text.files import check_can_be_made, write_atomically

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


def check_folders(options: Any) -> None:
    """Refuses to write over a run, or to train what could not be kept or exported in the end."""
    check_can_be_made(options.output, f"--output {options.output} cannot be made")
    check_export_folder(options.export)
    if Path(options.output, "checkpoints").is_dir() and not options.resume:
        raise ValueError(
            f"{options.output} holds a run already: give --resume to go on with it, or another "
            "--output."
        )
    has_model = Path(options.output, WEIGHTS_FILE).is_file()
    if options.resume and has_model and not list(Path(options.output, "checkpoints").glob("*.npz")):
        raise ValueError(
            f"{options.output} holds a model but no checkpoint to go on from, and a new training "
            "would write over it: give another --output."
        )


def check_unchanged(options: Any, names: Iterable[str]) -> None:
    """Refuses to go on with a run whose place in its data other options would not find.

    Args:
        options: of the command.
        names: the options that say what a batch is, and what an epoch.
    """
    if not options.resume:
        return
    file = Path(options.output, command_line.OPTIONS_FILE)
    began_with = yaml.safe_load(file.read_text(encoding="utf-8"))
    for name in names:
        old, new = began_with.get(name), getattr(options, name)
        if new != old:
            flag = name.replace("_", "-")
            raise ValueError(
                f"--{flag} is {new}, but the run in {options.output} began with {old}: a run that "
                "is resumed keeps it."
            )


@contextmanager
def only_training_in(output: str) -> Iterator[None]:
    """Refuses a folder that another training writes to; the lock ends with the process, too."""
    os.makedirs(output, exist_ok=True)
    if fcntl is None:
        yield
        return
    handle = os.open(output, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"Another training writes to {output}: wait for its end, or give another --output."
            ) from None
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        os.close(handle)
        with suppress(OSError):  # there is something in it
            os.rmdir(output)


def write_json(value: object, path: Path) -> None:
    """A JSON file, written under a temporary name and renamed."""
    write_atomically(path, json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n")
