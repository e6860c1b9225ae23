"""Whose past is whose: which beam wrote each position of a beam's history.

The key/value cache stays where it is when beams are chosen anew. These few integers move instead,
``ancestors [time, batch, beams]``, and become the attention mask of the next step.
"""

from typing import Any

from keras import ops

Tensor = Any


def start_ancestors(time: Tensor | int, batch: Tensor | int, beams: int) -> Tensor:
    """Ancestors of beams that have written nothing yet: each is its own, ``[time, batch, beams]``.

    >>> start_ancestors(1, 2, 3).numpy().tolist()
    [[[0, 1, 2], [0, 1, 2]]]
    """
    return ops.broadcast_to(ops.arange(beams, dtype="int32"), (time, batch, beams))


def record_step(ancestors: Tensor, index: Tensor) -> Tensor:
    """The ancestors after each beam wrote position ``index`` itself.

    Args:
        ancestors: int32 ``[time, batch, beams]``.
        index: int32 scalar.
    """
    batch, beams = ops.shape(ancestors)[1], ancestors.shape[2]
    own = start_ancestors(1, batch, beams)  # [1, batch, beams]
    return ops.scatter_update(ancestors, ops.reshape(index, (1, 1)), own)  # [time, batch, beams]


def reorder_ancestors(ancestors: Tensor, rows: Tensor) -> Tensor:
    """The ancestors after beams were chosen: row ``i`` goes on from what was row ``rows[i]``.

    Args:
        ancestors: int32 ``[time, batch, beams]``.
        rows: int32 ``[batch * beams]``, within each sentence.
    """
    time, batch, beams = ops.shape(ancestors)
    flat = ops.reshape(ancestors, (time, batch * beams))  # [time, batch * beams]
    chosen = ops.take(flat, rows, axis=1)
    return ops.reshape(chosen, (time, batch, ancestors.shape[2]))  # [time, batch, beams]


def grow_ancestors(ancestors: Tensor, time: Tensor | int) -> Tensor:
    """The ancestors with room for ``time`` positions, at least as many as they have."""
    present, batch, beams = ops.shape(ancestors)
    room = start_ancestors(time - present, batch, beams)
    return ops.concatenate([ancestors, room], axis=0)  # [time, batch, beams]


def ancestry_mask(ancestors: Tensor, length: Tensor) -> Tensor:
    """Lets each beam see its own history among the cached positions of all beams of its sentence.

    Args:
        ancestors: int32 ``[time, batch, beams]``: the beam that wrote position ``time`` of this
            beam's history.
        length: int32 scalar, how many positions are filled.

    Returns:
        Boolean ``[batch, 1, beams, time * beams]``, ``True`` = may be attended.
    """
    time, beams = ops.shape(ancestors)[0], ancestors.shape[2]
    own = ops.equal(
        ancestors[..., None], ops.arange(beams, dtype="int32")
    )  # [time, batch, beams, beams]
    filled = (ops.arange(time, dtype="int32") < length)[:, None, None, None]
    own = ops.transpose(ops.logical_and(own, filled), (1, 2, 0, 3))  # [batch, beams, time, beams]
    return ops.reshape(own, (-1, 1, beams, time * beams))  # [batch, 1, beams, time * beams]
