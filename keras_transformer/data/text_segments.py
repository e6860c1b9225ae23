"""One or two texts as BERT reads them: [CLS] a [SEP], or [CLS] a [SEP] b [SEP]."""

from __future__ import annotations

from typing import Any

import numpy as np


def join_segments(
    first: np.ndarray, second: np.ndarray | None, tokenizer: Any
) -> dict[str, np.ndarray]:
    """The ids of one or two texts with the special tokens around them (Devlin et al. 2019, 3).

    Args:
        first: ids `[tokens]`.
        second: ids `[tokens]`, or None for one text.
        tokenizer: has `cls_id` and `sep_id`.

    Returns:
        `token_ids` int32 `[length]`, and `segment_ids` int8 `[length]`: 0 up to the first [SEP],
        1 after it.

    Example:
        >>> class Ids:
        ...     cls_id, sep_id = 2, 3
        >>> example = join_segments(np.array([7, 8]), np.array([9]), Ids)
        >>> example["token_ids"].tolist(), example["segment_ids"].tolist()
        ([2, 7, 8, 3, 9, 3], [0, 0, 0, 0, 1, 1])
    """
    parts = [[tokenizer.cls_id], first, [tokenizer.sep_id]]
    if second is not None:
        parts += [second, [tokenizer.sep_id]]
    token_ids = np.concatenate(parts).astype(np.int32)
    segment_ids = np.zeros(len(token_ids), np.int8)
    segment_ids[len(first) + 2 :] = 1
    return {"token_ids": token_ids, "segment_ids": segment_ids}


def fit_lengths(first: int, second: int, most: int) -> tuple[int, int]:
    """Lengths of two texts that have `most` tokens together: the longer one is cut first.

    So a text is cut below half of the room only if the other one is as short, and both keep
    tokens as long as there is room for two.

    Example:
        >>> fit_lengths(10, 3, 8), fit_lengths(10, 30, 8), fit_lengths(2, 3, 8)
        ((5, 3), (4, 4), (2, 3))
    """
    if first + second <= most:
        return first, second
    half = most // 2
    if second <= half:
        return most - second, second
    if first <= most - half:
        return first, most - first
    return most - half, half
