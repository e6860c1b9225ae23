"""What all tasks share: a model and tokenizers as one thing that is saved, loaded and exported."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Self

import keras
import tensorflow as tf

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.weights.h5"


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

        Each file is written under a temporary name and then renamed, the config last: a folder
        with a config is complete. Other files in the folder stay.
        """
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        for name, part in self._parts().items():
            part.save(directory / name)
        with tempfile.TemporaryDirectory(dir=directory, prefix=".saving-") as unfinished:
            weights = Path(unfinished) / WEIGHTS_FILE
            self.model.save_weights(weights)
            os.replace(weights, directory / WEIGHTS_FILE)
            config = Path(unfinished) / CONFIG_FILE
            text = json.dumps({"task": type(self).__name__} | self._config(), indent=2)
            config.write_text(text + "\n", encoding="utf-8")
            os.replace(config, directory / CONFIG_FILE)

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Self:
        """Restores what `save` wrote, on any machine.

        Raises:
            ValueError: when the folder holds no saved task, or one of another class; when a weight
                is missing or of another shape.
        """
        directory = Path(directory)
        path = directory / CONFIG_FILE
        if not path.is_file():
            raise ValueError(f"{directory} holds no saved task: there is no {CONFIG_FILE} in it.")
        config = json.loads(path.read_text(encoding="utf-8"))
        task_class = Task._classes.get(config.get("task"))
        if task_class is None or not issubclass(task_class, cls):
            raise ValueError(f"{path} is of task {config.get('task')!r}, not {cls.__name__}.")
        task = task_class._restore(config, directory)
        task.model.load_weights(directory / WEIGHTS_FILE)
        return task

    # Export.

    def export(self, directory: str | os.PathLike[str], version: int | None = None) -> Path:
        """Writes a SavedModel that takes text and gives text, for TensorFlow Serving.

        Args:
            directory: folder of the model, one sub-folder a version.
            version: a whole number; one more than the newest by default.

        Returns:
            The folder of the version.

        Raises:
            ValueError: when the version exists already, or is less than 1.
        """
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        existing = [int(p.name) for p in directory.iterdir() if re.fullmatch(r"\d+", p.name)]
        version = max(existing, default=0) + 1 if version is None else version
        if version < 1:
            raise ValueError(f"A version must be at least 1, not {version}.")
        if version in existing:
            raise ValueError(f"{directory} has a version {version} already: give another number.")
        unfinished = Path(tempfile.mkdtemp(dir=directory, prefix=".exporting-"))
        try:
            self._write_saved_model(unfinished)
            unfinished.chmod(0o755)  # mkdtemp's folders are private; a server may be another user
            unfinished.rename(directory / str(version))
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
        return directory / str(version)

    def _write_saved_model(self, path: Path) -> None:
        # The Keras model itself stays out: what serving needs are the functions, the tokenizers
        # they use, and the raw variables (a server does not find those inside of Keras objects).
        served = tf.Module(name=type(self).__name__)
        served.parts = [part for part in self._parts().values() if isinstance(part, tf.Module)]
        served.model_variables = [variable.value for variable in self.model.variables]
        for name, function in self.signatures().items():
            setattr(served, name, function)
        options = tf.saved_model.SaveOptions(
            experimental_variable_policy=tf.saved_model.experimental.VariablePolicy.NONE
        )
        tf.saved_model.save(served, str(path), signatures=self.signatures(), options=options)
