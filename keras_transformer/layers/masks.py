"""Attention masks: boolean, ``True`` = may be attended, in every function and every layer.

A padding mask is ``[batch, keys]``. An attention mask broadcasts to ``[batch, heads, queries,
keys]``. Masks are combined as booleans and applied once, inside attention.
"""

from typing import Any

import keras
from keras import ops

Tensor = Any


def padding_mask(ids: Tensor, pad_id: int = 0) -> Tensor:
    """Which positions of a batch hold real tokens.

    Args:
        ids: integer tensor ``[batch, length]``.
        pad_id: the id that fills rows up.

    Returns:
        Boolean ``[batch, length]``, ``True`` at real tokens.

    >>> padding_mask([[5, 7, 0]]).numpy().tolist()
    [[True, True, False]]
    """
    return ops.not_equal(ids, pad_id)


def causal_mask(queries: int, keys: int | None = None, offset: int | Tensor = 0) -> Tensor:
    """What a decoder position may see: itself and what came before (Vaswani et al. 2017, 3.2.3).

    Args:
        queries: number of query positions.
        keys: number of key positions; as many as queries by default.
        offset: position of the first query among the keys (how many keys came before it).

    Returns:
        Boolean ``[1, 1, queries, keys]``, ``True`` where ``key <= query + offset``.

    >>> causal_mask(2).numpy().tolist()
    [[[[True, False], [True, True]]]]
    """
    keys = queries if keys is None else keys
    query_positions = ops.arange(queries, dtype="int32")[:, None] + offset  # [queries, 1]
    key_positions = ops.arange(keys, dtype="int32")[None, :]  # [1, keys]
    return (key_positions <= query_positions)[None, None]  # [1, 1, queries, keys]


def segment_mask(query_segments: Tensor, key_segments: Tensor | None = None) -> Tensor:
    """Which keys lie in the query's own segment, for several documents packed into one row.

    Args:
        query_segments: integer ``[batch, queries]``; 0 marks padding, which sees and shows nothing.
        key_segments: integer ``[batch, keys]``; the query's segments by default.

    Returns:
        Boolean ``[batch, 1, queries, keys]``.

    >>> segment_mask([[1, 2]]).numpy().tolist()
    [[[[True, False], [False, True]]]]
    """
    query_segments = ops.convert_to_tensor(query_segments)
    key_segments = query_segments if key_segments is None else ops.convert_to_tensor(key_segments)
    same = ops.equal(query_segments[:, :, None], key_segments[:, None, :])
    real = ops.not_equal(key_segments, 0)[:, None, :]
    return ops.logical_and(same, real)[:, None]  # [batch, 1, queries, keys]


def attention_mask(mask: Tensor | None) -> Tensor | None:
    """Brings a mask of any documented rank to rank 4, ready to broadcast over the scores.

    Args:
        mask: ``None``, a padding mask ``[batch, keys]``, ``[batch, queries, keys]``, or
            ``[batch, heads, queries, keys]``.

    Returns:
        Boolean of rank 4, or ``None``.

    Raises:
        ValueError: when the mask is of another rank or not boolean.
    """
    if mask is None:
        return None
    mask = ops.convert_to_tensor(mask)
    if keras.backend.standardize_dtype(mask.dtype) != "bool":
        raise ValueError(
            f"A mask must be boolean (True = may be attended), not {mask.dtype}; "
            "write `mask != 0` if 1 stands for a real token."
        )
    rank = len(mask.shape)
    if rank == 2:
        return mask[:, None, None, :]  # [batch, 1, 1, keys]
    if rank == 3:
        return mask[:, None, :, :]  # [batch, 1, queries, keys]
    if rank == 4:
        return mask
    raise ValueError(
        "A mask must be [batch, keys], [batch, queries, keys] or [batch, heads, queries, keys], "
        f"not of rank {rank} (shape {tuple(mask.shape)})."
    )


def combine_masks(*masks: Tensor | None) -> Tensor | None:
    """The conjunction of masks, those that are ``None`` left out; ``None`` when all are.

    Returns:
        Boolean of rank 4 that broadcasts to ``[batch, heads, queries, keys]``, or ``None``.
    """
    combined = None
    for mask in masks:
        mask = attention_mask(mask)
        if mask is not None:
            combined = mask if combined is None else ops.logical_and(combined, mask)
    return combined
