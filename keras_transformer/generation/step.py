"""The one-step interface: all that a search knows about a model."""

from typing import Any, Protocol

import tensorflow as tf

State = Any
"""A nested structure of tensors, each with a shape that no step changes."""


class StepModel(Protocol):
    """A generating model, seen by the searches as "tokens in, logits out".

    `rows` is `batch * beam_size`, row-major: all beams of sentence 0 come first. Greedy search and
    sampling have one row a sentence and never call `reorder`.

    >>> class CountingModel:  # always prefers the id after the one it was given
    ...     def step(self, ids, state):
    ...         return tf.one_hot(ids + 1, 8) * 9.0, state
    ...     def reorder(self, state, rows):
    ...         return tf.nest.map_structure(lambda tensor: tf.gather(tensor, rows), state)
    """

    def step(self, ids: tf.Tensor, state: State) -> tuple[tf.Tensor, State]:
        """Feeds one token a row (`ids: int32 [rows]`); gives `(logits [rows, vocab], state)`."""
        ...

    def reorder(self, state: State, rows: tf.Tensor) -> State:
        """Gives the state in which row `i` is what row `rows[i]` was (`rows: int32 [rows]`)."""
        ...


def as_tensors(state: State) -> State:
    """Makes every leaf of a state a tensor, as a loop variable has to be."""
    return tf.nest.map_structure(tf.convert_to_tensor, state)


def keep_shapes(new_state: State, state: State) -> State:
    """Gives `new_state` the static shapes of `state`, which a step may lose sight of only.

    Raises:
        ValueError: a tensor came back with another shape, so that the loop could not compile.
    """

    def keep(new: tf.Tensor, old: tf.Tensor) -> tf.Tensor:
        new = tf.convert_to_tensor(new)
        if not new.shape.is_compatible_with(old.shape):
            raise ValueError(
                f"The model's step changed a state tensor from shape {old.shape} to {new.shape}; "
                "state tensors keep their shapes (write into a buffer of full length)."
            )
        new.set_shape(old.shape)
        return new

    return tf.nest.map_structure(keep, new_state, state)


def vocabulary_size(logits: tf.Tensor) -> int:
    """The static size of the last axis of `logits [rows, vocab]`."""
    size = logits.shape[-1]
    if size is None:
        raise ValueError(
            f"The model's step gave logits of shape {logits.shape}; "
            "the last axis, the vocabulary, must be known when the loop is built."
        )
    return size
