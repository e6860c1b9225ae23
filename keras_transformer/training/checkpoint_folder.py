"""The folder of a training's checkpoint files, of which the newest that is whole counts."""

import re
import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from keras_transformer.training.checkpoint_files import (
    Checkpoint,
    Named,
    read_checkpoint,
    write_checkpoint,
)

_NAME = re.compile(r"epoch-(\d+)-batch-(\d+)\.npz")
_UNFINISHED = re.compile(r"\.epoch-\d+-batch-\d+\.npz\.\w+")


class CheckpointFolder:
    """Files of one training, named after the place in the data at which they were written.

    Args:
        path: the folder; made when the first file is written.
        keep: number of latest files that stay.
    """

    def __init__(self, path: str | PathLike, keep: int):
        self.path = Path(path)
        self.keep = keep

    def paths(self) -> list[Path]:
        """The files, oldest first."""
        found = (path for path in self.path.glob("*.npz") if _NAME.fullmatch(path.name))
        return sorted(found, key=_position)

    def newest(self) -> Checkpoint | None:
        """The latest file that is whole; None where there is no file.

        One that is not whole, copied in part, say, or on a disk that failed, is passed over with a
        warning.

        Raises:
            ValueError: when none of the files is whole.
        """
        fault = None
        for path in reversed(self.paths()):
            try:
                found = read_checkpoint(path)
            except ValueError as error:
                warnings.warn(f"{error} The one before it counts.", stacklevel=3)
                fault = fault or error
                continue
            return found
        if fault is not None:
            raise ValueError(f"{self.path} holds no whole checkpoint: {fault}")
        return None

    def write(
        self, epoch: int, batch: int, groups: dict[str, Sequence[Named]], state: dict[str, Any]
    ) -> Path:
        """Writes a file, and takes away those that are old by now, but for `state["best_file"]`.

        Raises:
            OSError: when it cannot be written; what was there is still there.
        """
        written = self.path / file_name(epoch, batch)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            write_checkpoint(written, groups, state)
        except OSError as error:
            paths = self.paths()
            last = f"The last one, {paths[-1].name}, is whole" if paths else "There is none yet"
            reason = error.strerror or error
            raise OSError(
                f"{written}: the checkpoint cannot be written: {reason}. {last}."
            ) from error
        # Later files are no part of this: damaged ones that were passed over, or those of a
        # training that went back.
        earlier = [path for path in self.paths() if _position(path) <= (epoch, batch)]
        for path in earlier[: -self.keep]:
            if path.name != state["best_file"]:
                path.unlink()
        return written

    def clean(self) -> None:
        """Takes away what writes that were killed have left."""
        for path in self.path.glob(".*"):
            if _UNFINISHED.fullmatch(path.name):
                path.unlink(missing_ok=True)


def file_name(epoch: int, batch: int) -> str:
    """What the file of a place in the data is called.

    >>> file_name(3, 17)
    'epoch-0003-batch-00000017.npz'
    """
    return f"epoch-{epoch:04d}-batch-{batch:08d}.npz"


def _position(path: Path) -> tuple[int, int]:
    """Epoch and batch in a file's name."""
    epoch, batch = _NAME.fullmatch(path.name).groups()
    return int(epoch), int(batch)
