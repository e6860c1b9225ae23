"""What the signatures of a SavedModel take and give, by its file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf

from keras_transformer.tasks.saved_graph import read_graph


class SavedSignature(NamedTuple):
    """One function that a server offers."""

    name: str
    inputs: dict[str, tf.TensorSpec]
    """What it takes, texts first."""
    outputs: dict[str, tf.TensorSpec]
    """What it gives, texts first."""

    @property
    def is_compiled(self) -> bool:
        """Whether XLA must compile it, which a server does only when it is told to."""
        return self.name.endswith("_xla")


def saved_signatures(saved_model: str | os.PathLike[str]) -> list[SavedSignature]:
    """The signatures of a SavedModel; `serving_default` comes first, the others by name.

    Args:
        saved_model: folder of one version.

    Raises:
        ValueError: when there is no SavedModel in the folder.

    >>> for signature in saved_signatures("saved_models/translate/1"):  # doctest: +SKIP
    ...     print(signature.name, list(signature.inputs), list(signature.outputs))
    serving_default ['text'] ['translation', 'score', 'truncated']
    n_best ['text'] ['translations', 'scores', 'truncated']
    """
    found = read_graph(Path(saved_model)).signature_def
    names = [name for name in found if not name.startswith("__")]  # TensorFlow's own
    names.sort(key=lambda name: (name != "serving_default", name))
    return [
        SavedSignature(name, _specs(found[name].inputs), _specs(found[name].outputs))
        for name in names
    ]


def _specs(tensors) -> dict[str, tf.TensorSpec]:
    """Name, shape and dtype of a signature's inputs or outputs, which the file keeps unsorted."""
    specs = {
        name: tf.TensorSpec(tf.TensorShape(info.tensor_shape), tf.as_dtype(info.dtype), name)
        for name, info in tensors.items()
    }
    return dict(sorted(specs.items(), key=lambda item: (item[1].dtype != tf.string, item[0])))
