"""The loop of every search, and the model's memory that grows with it."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_transformer.generation.step import State, as_tensors

FIRST_CAPACITY = 16

Grow = Callable[[State, tf.Tensor], State]
"""`grow(state, capacity)` gives the state with room for `capacity` tokens, int32 []."""


def search_loop(
    unfinished: Callable[[Any], tf.Tensor],
    advance: Callable[[Any], tuple[Any]],
    start: Any,
    *,
    max_length: int | tf.Tensor,
    grow: Grow | None,
) -> Any:
    """Calls `advance` while `unfinished`.

    Without `grow` the model's state has room for `max_length` tokens from the start, every shape
    is fixed, and XLA can compile the loop. But each step then costs as much as the longest text
    allowed, which most texts are far from. With `grow` the state starts without any room, and is
    given room for 16 tokens, 32, 64 and so on as texts become that long.

    Args:
        unfinished: says of a loop state whether to go on.
        advance: makes the next loop state, in a tuple of one.
        start: a NamedTuple with the fields `length` (int32 []: tokens so far) and `model_state`.
        max_length: as for the searches.
        grow: see `Grow`.

    Returns:
        The last loop state.
    """
    if grow is None:
        return tf.while_loop(unfinished, advance, (start,))[0]

    def stage(capacity: tf.Tensor, loop: Any) -> tuple[tf.Tensor, Any]:
        state = as_tensors(grow(loop.model_state, tf.minimum(capacity, max_length)))

        def has_room(loop: Any) -> tf.Tensor:
            return unfinished(loop) & (loop.length < capacity)

        (loop,) = tf.while_loop(has_room, advance, (loop._replace(model_state=state),))
        return 2 * capacity, loop

    capacity = tf.constant(FIRST_CAPACITY)
    grown = as_tensors(grow(start.model_state, capacity))
    shapes = tf.nest.map_structure(lambda tensor: tensor.shape, start)
    shapes = shapes._replace(
        model_state=tf.nest.map_structure(_common_shape, start.model_state, grown)
    )
    _, loop = tf.while_loop(
        lambda _, loop: unfinished(loop),
        stage,
        (capacity, start),
        shape_invariants=(capacity.shape, shapes),
    )
    return loop


def _common_shape(tensor: tf.Tensor, grown: tf.Tensor) -> tf.TensorShape:
    """What a growing tensor's shape is known to remain."""
    pairs = zip(tensor.shape, grown.shape, strict=True)
    return tf.TensorShape([size if size == larger else None for size, larger in pairs])
