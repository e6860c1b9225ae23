"""The tensors of a checkpoint directory: safetensors files, one or several."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

WEIGHTS_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json")
FLOATS = ("F16", "BF16", "F32", "F64")


class TensorFiles:
    """The tensors in a directory's safetensors, read one at a time.

    Args:
        directory: a folder with `model.safetensors`, or with an index and the files it names.

    Raises:
        ValueError: when there are no weights, only pickled ones, or a file is missing or damaged.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_checkpoint(Path(folder), {}, {"x": np.ones((2, 3), "float32")})
    ...     files = TensorFiles(Path(folder))
    ...     list(files), files.shape("x")
    (['x'], (2, 3))
    """

    def __init__(self, directory: Path):
        self.directory = directory
        self._places: dict[str, tuple[str, Any]] = {}  # file name and open file, by tensor
        for file_name, listed in _files(directory).items():
            path = directory / file_name
            if not path.is_file():
                raise ValueError(f"{path} is missing, though {INDEX_FILE} names it.")
            try:
                opened = safe_open(path, framework="numpy")
            except SafetensorError as error:
                raise ValueError(f"{path} is damaged: {error}.") from None
            held = set(opened.keys())
            names = held if listed is None else listed
            if absent := sorted(names - held):
                raise ValueError(
                    f"{path} lacks {some_names(absent)}, though {INDEX_FILE} says it there."
                )
            self._places |= {name: (file_name, opened) for name in names}

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._places))

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor, which is not read for it."""
        return tuple(self._places[name][1].get_slice(name).get_shape())

    def read(self, name: str) -> np.ndarray:
        """The values of a tensor, float32 or float64; half precision becomes float32.

        Raises:
            ValueError: when the tensor does not hold floating-point numbers, or holds NaN or
                infinity.
        """
        file_name, opened = self._places[name]
        kind = opened.get_slice(name).get_dtype()
        if kind not in FLOATS:
            raise ValueError(
                f"{self.directory / file_name}: {name} is of type {kind}; weights must be one of "
                f"{', '.join(FLOATS)}."
            )
        values = opened.get_tensor(name)
        values = values if kind in ("F32", "F64") else values.astype("float32")
        if wrong := int(np.count_nonzero(~np.isfinite(values))):
            raise ValueError(
                f"{self.directory / file_name}: {name} holds NaN or infinity in {wrong} of "
                f"{values.size} places; weights must be finite."
            )
        return values


def _files(directory: Path) -> dict[str, set[str] | None]:
    """The safetensors files of a directory and the tensors to take from each; ``None`` for all."""
    if (directory / WEIGHTS_FILE).is_file():
        return {WEIGHTS_FILE: None}
    index = directory / INDEX_FILE
    if index.is_file():
        try:
            places = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
            files: dict[str, set[str] | None] = {os.fspath(name): set() for name in places.values()}
            for tensor, name in places.items():
                files[name].add(tensor)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{index} is not an index of safetensors: {error!r}.") from None
        for name in files:
            if name != os.path.basename(name):
                raise ValueError(f"{index} names a file outside of its folder: {name!r}.")
        return files
    for name in PICKLES:
        if (directory / name).is_file():
            raise ValueError(
                f"{directory / name} holds pickled weights, which can run any code when they are "
                f"read; save the model as {WEIGHTS_FILE} with the library that wrote it."
            )
    raise ValueError(f"{directory} holds no weights: there is no {WEIGHTS_FILE} in it.")


def write_checkpoint(
    directory: Path, files: Mapping[str, Any], tensors: Mapping[str, np.ndarray]
) -> None:
    """Writes JSON files and `model.safetensors`, each under a temporary name and then renamed.

    The weights come last: of a write that was broken off nothing can be taken for a whole one, as
    older weights are taken away first.

    Args:
        directory: made where it is not there; other files in it stay.
        files: contents of the JSON files, by name.
        tensors: contiguous arrays, by name.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix=".saving-") as unfinished:
        pattern = Path(unfinished, "pattern")
        pattern.touch()
        for name, content in files.items():
            path = Path(unfinished, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False)
            path.write_text(text + "\n", encoding="utf-8")
        weights = Path(unfinished, WEIGHTS_FILE)
        # The metadata is what Hugging Face's loader asks for.
        save_file(dict(tensors), weights, metadata={"format": "pt"})
        shutil.copymode(pattern, weights)  # save_file gives 0600: nobody else could read it
        for old in (WEIGHTS_FILE, INDEX_FILE):
            (directory / old).unlink(missing_ok=True)
        for name in (*files, WEIGHTS_FILE):
            (directory / name).parent.mkdir(exist_ok=True)
            os.replace(Path(unfinished, name), directory / name)


def some_names(names: list[str], most: int = 5) -> str:
    """The first names, and how many more there are."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
