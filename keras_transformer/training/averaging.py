"""Weights averaged over training: a running mean, or the last checkpoints."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike

import keras
import numpy as np

from keras_transformer.training.checkpoint_files import read_checkpoint


@contextmanager
def averaged_weights(model: keras.Model) -> Iterator[None]:
    """Put the optimizer's running mean of the weights into the model while the block runs.

    Afterwards the training weights are back to the last bit. The optimizer must have been made
    with `adamw(ema=...)` or Keras' `use_ema=True`, and have made at least one update.

    Raises:
        ValueError: when the model's optimizer keeps no mean.

    >>> with averaged_weights(model):  # doctest: +SKIP
    ...     model.evaluate(validation)
    """
    optimizer = getattr(model.optimizer, "inner_optimizer", model.optimizer)
    means = getattr(optimizer, "_model_variables_moving_average", None)
    if not means:
        raise ValueError(
            "averaged_weights needs an optimizer that keeps a running mean of the weights and has "
            "been built: make it with adamw(ema=0.999) and train first."
        )
    if int(keras.ops.convert_to_numpy(optimizer.iterations)) == 0:  # the mean is still all zeros
        yield
        return
    trained = [keras.ops.convert_to_numpy(variable) for variable in model.trainable_variables]
    try:
        for variable, mean in zip(model.trainable_variables, means, strict=True):
            variable.assign(keras.ops.convert_to_numpy(mean))
        yield
    finally:
        for variable, value in zip(model.trainable_variables, trained, strict=True):
            variable.assign(value)


def average_checkpoints(model: keras.Model, paths: Sequence[str | PathLike]) -> None:
    """Give the model the mean of its weights in several checkpoints (Vaswani et al. 2017, 6.1).

    Args:
        model: a built model like those that were saved.
        paths: files of a `TrainingCheckpoint`, such as its `paths()[-5:]`.

    Raises:
        ValueError: without files, or when a file does not fit the model.

    >>> average_checkpoints(model, checkpoint.paths()[-5:])  # doctest: +SKIP
    """
    if not paths:
        raise ValueError("average_checkpoints needs at least one checkpoint file, got none.")
    saved = [read_checkpoint(path).variables("model", model.variables) for path in paths]
    for index, variable in enumerate(model.variables):
        values = [variables[index] for variables in saved]
        if np.issubdtype(values[0].dtype, np.integer):  # states of random generators, counters
            variable.assign(values[-1])
        else:
            mean = np.mean([value.astype(np.float64) for value in values], axis=0)
            variable.assign(mean.astype(values[0].dtype))
