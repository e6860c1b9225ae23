"""The key/value cache of incremental decoding: what attention remembers of earlier tokens."""

from typing import Any, NamedTuple

from keras import ops

Tensor = Any


class KeyValueCache(NamedTuple):
    """Projected keys and values of the tokens so far, in a buffer of fixed size.

    Time comes first, so that a step writes one contiguous slice with ``scatter_update``
    (``slice_update`` would put an XLA-only op into the graph, which a default server refuses) and
    the filled part is a prefix. Beams have an axis of their own: they are never re-ordered here;
    which beam's past a query may see is a matter of its mask (see `ancestry_mask`).
    """

    keys: Tensor  # [time, batch, beams, kv_heads, key_dim]
    values: Tensor  # [time, batch, beams, kv_heads, value_dim]

    def write(self, keys: Tensor, values: Tensor, index: Tensor) -> "KeyValueCache":
        """Stores new positions from ``index`` on.

        Args:
            keys: ``[batch, kv_heads, steps * beams, key_dim]``.
            values: ``[batch, kv_heads, steps * beams, value_dim]``.
            index: int32 scalar, the first position to write.
        """
        return KeyValueCache(
            _write(self.keys, keys, index),
            _write(self.values, values, index),
        )

    def read(self) -> tuple[Tensor, Tensor]:
        """All positions as attention wants them: ``[batch, kv_heads, time * beams, dim]`` each."""
        return _read(self.keys), _read(self.values)

    def prefix(self, length: Tensor) -> "KeyValueCache":
        """The first ``length`` positions; a view that costs nothing, since time comes first."""
        return KeyValueCache(self.keys[:length], self.values[:length])


class ProjectedMemory(NamedTuple):
    """Keys and values of an encoder's output, projected once for all decoding steps and beams."""

    keys: Tensor  # [batch, kv_heads, source_length, key_dim]
    values: Tensor  # [batch, kv_heads, source_length, value_dim]


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


def _write(buffer: Tensor, new: Tensor, index: Tensor) -> Tensor:
    time, _, beams, heads, dim = buffer.shape
    steps = ops.shape(new)[2] // beams
    new = ops.reshape(new, (-1, heads, steps, beams, dim))
    new = ops.transpose(new, (2, 0, 3, 1, 4))  # [steps, batch, beams, kv_heads, dim]
    positions = index + ops.arange(steps, dtype="int32")  # [steps]
    return ops.scatter_update(buffer, positions[:, None], ops.cast(new, buffer.dtype))


def _read(buffer: Tensor) -> Tensor:
    time, (beams, heads, dim) = ops.shape(buffer)[0], buffer.shape[2:]
    buffer = ops.transpose(buffer, (1, 3, 0, 2, 4))  # [batch, kv_heads, time, beams, dim]
    return ops.reshape(
        buffer, (-1, heads, time * beams, dim)
    )  # [batch, kv_heads, time * beams, dim]
