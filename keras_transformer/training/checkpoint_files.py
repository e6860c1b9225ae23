"""One file that holds a training's whole state: arrays by name, and plain values as JSON."""

import json
import os
import re
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.text.files import set_usual_mode

_STATE = "state"
_FORMAT = 2
_ARRAY = "\0array"  # a key that no state of a callback has
# What a file raises whose bytes are not those that were written: one bit makes it ask for a
# compression that Python does not have.
_WRONG_CONTENT = (ValueError, LookupError, TypeError, AttributeError, NotImplementedError)


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint file holds.

    Attributes:
        path: the file.
        state: plain values, with arrays among them.
        names: for each group of variables ("model", "optimizer", "metrics") their paths.
        arrays: for each group the variables' values, in the same order.
    """

    path: Path
    state: dict[str, Any]
    names: dict[str, list[str]]
    arrays: dict[str, list[np.ndarray]]

    def variables(self, group: str, variables: Sequence[keras.Variable]) -> list[np.ndarray]:
        """The saved values for `variables`, in their order.

        Raises:
            ValueError: when the saved variables are not those, naming the first that differs.
        """
        saved = list(zip(self.names[group], self.arrays[group], strict=True))
        if len(saved) != len(variables):
            raise ValueError(
                f"{self.path}: holds {len(saved)} variables of the {group}, but yours has "
                f"{len(variables)}; make it with the settings of the saved training."
            )
        values = []
        for (name, array), variable in zip(saved, variables, strict=True):
            if plain_name(name) != plain_name(variable.path) or array.shape != tuple(
                variable.shape
            ):
                raise ValueError(
                    f"{self.path}: the {group}'s variable {name} {list(array.shape)} does not fit "
                    f"your {variable.path} {list(variable.shape)}."
                )
            values.append(_typed(array))
        return values


Named = tuple[str, np.ndarray]


def named_arrays(variables: Sequence[keras.Variable]) -> list[Named]:
    """Each variable's path and present value."""
    return [(variable.path, keras.ops.convert_to_numpy(variable)) for variable in variables]


def write_checkpoint(
    path: str | PathLike, groups: dict[str, Sequence[Named]], state: dict[str, Any]
) -> None:
    """Write a checkpoint; a reader sees the old file or the new one, never a part.

    Args:
        path: the file to make or replace, in an existing directory.
        groups: the variables of each group, as `named_arrays` gives them.
        state: plain values (what JSON can hold) and arrays, nested at will.
    """
    path = Path(path)
    arrays: dict[str, np.ndarray] = {}
    names = {}
    for group, variables in groups.items():
        names[group] = [name for name, _ in variables]
        for index, (_, value) in enumerate(variables):
            arrays[f"{group}/{index}"] = value
    content = {"format": _FORMAT, "names": names, "state": _without_arrays(state, arrays)}
    arrays[_STATE] = np.array(json.dumps(content))
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
        set_usual_mode(temporary)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    _keep_name(path.parent)


def read_checkpoint(path: str | PathLike) -> Checkpoint:
    """Read what `write_checkpoint` wrote.

    Raises:
        ValueError: when the file is not a whole checkpoint of this format.
    """
    path = Path(path)
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        content = json.loads(str(arrays.pop(_STATE)[()]))
        version, names = content["format"], content["names"]
        if version == _FORMAT:
            groups = {
                group: [arrays[f"{group}/{index}"] for index in range(len(names[group]))]
                for group in names
            }
            return Checkpoint(path, _with_arrays(content["state"], arrays), names, groups)
    except (OSError, EOFError, zipfile.BadZipFile, *_WRONG_CONTENT) as error:
        raise ValueError(f"{path}: is not a whole training checkpoint ({error}).") from error
    raise ValueError(f"{path}: has checkpoint format {version}, this version reads {_FORMAT}.")


def _keep_name(directory: Path) -> None:
    """Has a new name in a folder survive a power cut, as the content of its file does."""
    if os.name != "posix":  # other systems open no folders
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def plain_name(path: str) -> str:
    """A variable's path without the numbers that Keras adds to names used before.

    And, for an optimizer that scales the loss, without that part of its inner optimizer's paths,
    which they have or not by who built it.

    >>> plain_name("loss_scale_optimizer/adam_1/iteration")
    'adam/iteration'
    """
    path = re.sub(r"_\d+(?=[/_]|$)", "", path)
    return re.sub(r"^loss_scale_optimizer/(?=[^/]+/)", "", path)


def _typed(array: np.ndarray) -> np.ndarray:
    """The array in the type it was saved with: NumPy files know bfloat16 only as two raw bytes."""
    return array.view(tf.bfloat16.as_numpy_dtype) if array.dtype == "V2" else array


def _without_arrays(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """`value` for JSON: its arrays go to `arrays`, and a note stays in their places."""
    if isinstance(value, dict):
        return {str(key): _without_arrays(item, arrays) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_arrays(item, arrays) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        name = f"{_STATE}/{len(arrays)}"
        arrays[name] = value
        return {_ARRAY: name}
    return value


def _with_arrays(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The inverse of `_without_arrays`."""
    if isinstance(value, dict):
        if _ARRAY in value:
            return _typed(arrays[value[_ARRAY]])
        return {key: _with_arrays(item, arrays) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_arrays(item, arrays) for item in value]
    return value
