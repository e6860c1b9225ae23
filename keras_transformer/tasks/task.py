"""What all tasks share: a model and tokenizers as one thing that is saved, loaded and exported."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Self

import h5py
import keras
import tensorflow as tf

from keras_transformer.models.config import ModelConfig
from keras_transformer.tasks.saved_graph import forget_devices
from keras_transformer.text.files import check_can_be_made, check_room

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.weights.h5"
ABOUT_FILE = "assets.extra/precision.json"  # TensorFlow leaves that folder to others

# TensorFlow looks for a model's variables by a pattern: its path must not be one.
_PATTERN_CHARACTERS = "*?[\\"

_LAST_VERSION = 2**63 - 1


class Task(tf.Module):
    """A model with its tokenizers, text in and text out.

    A subclass gives `signatures`, and `_config`, `_parts` and `_restore` for saving.

    Attributes:
        model: the Keras model.
    """

    _classes: ClassVar[dict[str, type[Task]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Task._classes[cls.__name__] = cls

    def __init__(self, model: keras.Model, name: str | None = None):
        super().__init__(name=name)
        self.model = model

    # What a subclass provides.

    def signatures(self) -> dict[str, Callable]:
        """The `tf.function`s that are served, by signature name; each has an input signature."""
        raise NotImplementedError

    def optional_signatures(self) -> dict[str, Callable]:
        """Further ones, which are served only where they are asked for by name."""
        return {}

    def compiled(self) -> Self | None:
        """The same task with the same model, whose signatures search by XLA; None for a task that
        does not search."""
        return None

    def _config(self) -> dict[str, Any]:
        """What `config.json` says beside the task's name."""
        raise NotImplementedError

    def _parts(self) -> dict[str, Any]:
        """Everything that has a `save(dir)` of its own, by the name of its folder."""
        raise NotImplementedError

    @classmethod
    def _restore(cls, config: dict[str, Any], directory: Path) -> Self:
        """The task without its weights, from what `_config` and `_parts` gave."""
        raise NotImplementedError

    # Saving and loading.

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes `config.json`, `model.weights.h5` and the tokenizers' folders.

        Each file is written under a temporary name and then renamed, and the config, of which an
        older one is taken away first, comes last: a folder with a config is complete. Other files
        in the folder stay. The optimizer's state is not saved.

        Raises:
            OSError: when the folder cannot be written, or has no room for the weights.
        """
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory, prefix=".saving-") as unfinished:
            weights, config = Path(unfinished, WEIGHTS_FILE), Path(unfinished, CONFIG_FILE)
            check_room(directory, _room_for(self.model))  # HDF5 crashes where there is none
            with _without_optimizer(self.model):
                self.model.save_weights(weights)
            text = json.dumps({"task": type(self).__name__} | self._config(), indent=2)
            config.write_text(text + "\n", encoding="utf-8")
            (directory / CONFIG_FILE).unlink(missing_ok=True)
            for name, part in self._parts().items():
                part.save(directory / name)
            os.replace(weights, directory / WEIGHTS_FILE)
            os.replace(config, directory / CONFIG_FILE)

    @classmethod
    def load(cls, directory: str | os.PathLike[str], dtype: str | None = None) -> Self:
        """Restores what `save` wrote, on any machine.

        Args:
            directory: the folder.
            dtype: Keras dtype policy of the model, whose weights are float32 in any of them:
                "float32", "mixed_bfloat16", "mixed_float16"; that of the saved task by default.

        Raises:
            ValueError: when the folder holds no saved task, or one of another class; when a weight
                is missing, of another shape, or one too many.
        """
        directory = Path(directory)
        path = directory / CONFIG_FILE
        if not path.is_file():
            raise ValueError(f"{directory} holds no saved task: there is no {CONFIG_FILE} in it.")
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
            name = config["task"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is not a task's configuration: {error!r}.") from None
        task_class = Task._classes.get(name)
        if task_class is None or not issubclass(task_class, cls):
            raise ValueError(f"{path} is of task {name!r}, not {cls.__name__}.")
        if dtype is not None:
            config["dtype"] = dtype
        try:
            task = task_class._restore(config, directory)
        except (KeyError, TypeError) as error:  # a field is missing, or unknown to this version
            raise ValueError(f"{path} does not describe a {name}: {error}.") from error
        _load_weights(task.model, directory / WEIGHTS_FILE)
        return task

    @classmethod
    def _model_config(
        cls, config_class: type[ModelConfig], config: dict[str, Any], directory: Path
    ) -> Any:
        """The configuration of the model, for `_restore`."""
        try:
            return config_class.from_dict(config["model"])
        except ValueError as error:
            path = directory / CONFIG_FILE
            raise ValueError(f"{path} does not describe a {cls.__name__}: {error}") from None

    # Export.

    def export(
        self,
        directory: str | os.PathLike[str],
        version: int | None = None,
        *,
        signatures: Mapping[str, Callable] | None = None,
        add: Callable[[Path], None] | None = None,
    ) -> Path:
        """Writes a SavedModel that takes text and gives text, for TensorFlow Serving.

        It computes in the precision of the model, and says in `assets.extra/precision.json` which
        that is. It names no device: a server may have others than the machine that wrote it. It
        is written under another name and then renamed, so that a server that watches the folder
        never sees half a version.

        Args:
            directory: folder of the model, one sub-folder a version.
            version: a whole number; one more than the newest by default.
            signatures: the functions that are served, by name; `signatures()` by default.
            add: called with the folder of the version before it gets its name, to put more files
                into it; where it fails, there is no new version.

        Returns:
            The folder of the version.

        Raises:
            ValueError: when the version exists already, or is no whole number of at least 1; when
                `check_export_folder` refuses the folder.
            OSError: when the folder cannot be written.
        """
        directory = Path(directory)
        check_export_folder(directory)
        check_version(directory, version)
        directory.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(dir=directory, prefix=".exporting-"))
        try:
            self._write_saved_model(
                unfinished, self.signatures() if signatures is None else signatures
            )
            if add is not None:
                add(unfinished)
            unfinished.chmod(0o755)  # mkdtemp's folders are private; a server may be another user
            return _rename_to_version(unfinished, version)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise

    def _write_saved_model(self, path: Path, signatures: Mapping[str, Callable]) -> None:
        # The Keras model itself stays out: what serving needs are the functions, the tokenizers
        # they use, and the raw variables (a server does not find those inside of Keras objects).
        served = tf.Module(name=type(self).__name__)
        served.parts = [part for part in self._parts().values() if isinstance(part, tf.Module)]
        served.model_variables = [variable.value for variable in self.model.variables]
        for name, function in signatures.items():
            setattr(served, name, function)
        options = tf.saved_model.SaveOptions(
            experimental_variable_policy=tf.saved_model.experimental.VariablePolicy.NONE
        )
        try:
            tf.saved_model.save(served, str(path), signatures=dict(signatures), options=options)
        except tf.errors.OpError as error:  # a full disk, say
            reason = re.sub(r"\{\{.*?\}\} | \[Op:\w+\]$", "", error.message)
            raise OSError(f"{path.parent}: the export cannot be written: {reason}.") from error
        forget_devices(path)
        about = {"dtype": self.model.dtype_policy.name}
        (path / ABOUT_FILE).parent.mkdir(exist_ok=True)
        (path / ABOUT_FILE).write_text(json.dumps(about) + "\n", encoding="utf-8")


def _room_for(model: keras.Model) -> int:
    """Bytes of the file of the weights, its names included, rounded up."""
    numbers = sum(math.prod(w.shape) * tf.as_dtype(w.dtype).size for w in model.weights)
    return numbers + 2**13 * len(model.weights)


def check_export_folder(directory: str | os.PathLike[str]) -> None:
    """Refuses a folder that no model can be exported to, before there is one; writes nothing.

    Raises:
        ValueError: when the path holds one of ``* ? [ \\``, since TensorFlow could not load from
            there; when it, or a folder that it would lie in, is a file.
        PermissionError: when the folder, or the one that it would be made in, may not be written.

    >>> check_export_folder("saved_models/what?")
    Traceback (most recent call last):
    ValueError: TensorFlow could not load a model from ...
    """
    path = os.path.abspath(directory)
    for character in _PATTERN_CHARACTERS:
        if character in path.replace(os.sep, "/"):
            raise ValueError(
                f"TensorFlow could not load a model from {path}: it takes the {character} for a "
                "pattern; export to a folder without it."
            )
    check_can_be_made(path, f"Nothing can be exported to {path}")


def check_version(directory: str | os.PathLike[str], version: int | None) -> None:
    """Refuses a version that no export can get; None, the next one, is always right.

    Args:
        directory: folder of the model, which need not be there.
        version: the number.

    Raises:
        ValueError: when the version exists already, or is no whole number from 1 to 2**63 - 1,
            which are those that a server knows.

    >>> check_version("saved_models/translate", 0)
    Traceback (most recent call last):
    ValueError: A version must be a whole number, at least 1, not 0.
    """
    if version is None:
        return
    is_whole = isinstance(version, Integral) and not isinstance(version, bool)
    if not (is_whole and version >= 1):
        raise ValueError(f"A version must be a whole number, at least 1, not {version!r}.")
    if version > _LAST_VERSION:
        raise ValueError(f"A version must be at most {_LAST_VERSION}, not {version}.")
    directory = Path(directory)
    if directory.is_dir() and version in _versions(directory):
        raise ValueError(f"{directory} has a version {version} already: give another number.")


def _versions(directory: Path) -> list[int]:
    return [int(path.name) for path in directory.iterdir() if re.fullmatch(r"\d+", path.name)]


def _rename_to_version(unfinished: Path, version: int | None) -> Path:
    """Gives a finished export its number: by default one that no other export took meanwhile."""
    directory = unfinished.parent
    while True:
        number = max(_versions(directory), default=0) + 1 if version is None else version
        try:
            return unfinished.rename(directory / str(number))
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
            if version is not None:
                raise ValueError(
                    f"{directory} got a version {version} from another export meanwhile: give "
                    "another number."
                ) from None


@contextmanager
def _without_optimizer(model: keras.Model) -> Iterator[None]:
    # Keras writes a compiled model's optimizer into the file of its weights, which is then three
    # times as large.
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        yield
        return
    model.optimizer = None
    try:
        yield
    finally:
        model.optimizer = optimizer


def _load_weights(model: keras.Model, path: Path) -> None:
    """Loads a file that holds the model's weights and no others.

    Keras by itself overlooks weights that are too many, and is unclear about wrong shapes.
    """
    if not path.is_file():
        raise ValueError(f"{path} is missing: there are no weights to load.")
    found: Counter[tuple[int, ...]] = Counter()

    def note(name: str, item: h5py.Group | h5py.Dataset) -> None:
        if isinstance(item, h5py.Dataset) and not name.startswith("optimizer/"):
            found[item.shape] += 1

    try:
        with h5py.File(path) as file:
            file.visititems(note)
    except OSError as error:
        raise ValueError(f"{path} is damaged: {error}.") from None
    expected = Counter(tuple(weight.shape) for weight in model.weights)
    if found != expected:
        raise ValueError(
            f"{path} does not fit the model: it holds {_describe(found)}, the model has "
            f"{_describe(expected)}."
        )
    model.load_weights(path)


def _describe(shapes: Counter[tuple[int, ...]]) -> str:
    numbers = sum(math.prod(shape) * times for shape, times in shapes.items())
    return f"{shapes.total()} arrays with {numbers:,} numbers"
