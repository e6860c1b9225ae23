"""The key/value cache of incremental decoding: what attention remembers of earlier tokens."""

from typing import Any, NamedTuple

from keras import ops

Tensor = Any


class KeyValueCache(NamedTuple):
    """Projected keys and values of the tokens so far, in a buffer of fixed size.

    The axes stand as the attention products want them, so that reading moves nothing. New
    positions are written with ``scatter_update`` (``slice_update`` would put an XLA-only op into
    the graph, which a default server refuses). Beams have an axis of their own: they are never
    re-ordered here; which beam's past a query may see is a matter of its mask (see
    `layers.ancestry`).
    """

    keys: Tensor  # [batch, kv_heads, time, beams, key_dim]
    values: Tensor  # [batch, kv_heads, time, beams, value_dim]

    @property
    def beams(self) -> int:
        """Hypotheses for each row of the batch."""
        return self.keys.shape[3]

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

    def grow(self, length: Tensor | int) -> "KeyValueCache":
        """The cache with room for ``length`` positions, at least as many as it has."""
        return KeyValueCache(_grow(self.keys, length), _grow(self.values, length))


class ProjectedMemory(NamedTuple):
    """Keys and values of an encoder's output, projected once for all decoding steps and beams."""

    keys: Tensor  # [batch, kv_heads, source_length, key_dim]
    values: Tensor  # [batch, kv_heads, source_length, value_dim]


def _write(buffer: Tensor, new: Tensor, index: Tensor) -> Tensor:
    _, heads, _, beams, dim = buffer.shape
    batch, time = ops.shape(buffer)[0], ops.shape(buffer)[2]
    steps = ops.shape(new)[2] // beams
    rows = ops.arange(batch * heads, dtype="int32") * time
    places = rows[:, None] + (index + ops.arange(steps, dtype="int32"))  # [rows, steps]
    flat = ops.reshape(buffer, (-1, beams * dim))  # [batch * kv_heads * time, beams * dim]
    new = ops.reshape(new, (-1, beams * dim))  # [batch * kv_heads * steps, beams * dim]
    flat = ops.scatter_update(flat, ops.reshape(places, (-1, 1)), ops.cast(new, buffer.dtype))
    return ops.reshape(flat, (batch, heads, time, beams, dim))


def _read(buffer: Tensor) -> Tensor:
    _, heads, _, beams, dim = buffer.shape
    batch, positions = ops.shape(buffer)[0], ops.shape(buffer)[2] * beams
    # [batch, kv_heads, time * beams, dim]; a known batch stays known
    return ops.reshape(buffer, (batch, heads, positions, dim))


def _grow(buffer: Tensor, length: Tensor | int) -> Tensor:
    batch, heads, time, beams, dim = ops.shape(buffer)
    room = ops.zeros((batch, heads, length - time, beams, dim), buffer.dtype)
    return ops.concatenate([buffer, room], axis=2)  # [batch, kv_heads, length, beams, dim]
