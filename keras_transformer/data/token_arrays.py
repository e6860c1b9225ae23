"""Texts -> the ids of their tokens as NumPy arrays, many texts at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import tensorflow as tf

TEXTS_AT_A_TIME = 1024


def token_arrays(texts: Iterable[str], tokenizer: Any) -> Iterator[np.ndarray]:
    """Yields the ids of each text: int32 `[tokens]`, no special ones added.

    Args:
        texts: are read in order, some hundreds ahead.
        tokenizer: a `text.Tokenizer`; its graph does the work.

    Example:
        >>> from keras_transformer.text import WordPieceTokenizer
        >>> tokenizer = WordPieceTokenizer(["[PAD]", "[UNK]", "a", "b"])
        >>> [ids.tolist() for ids in token_arrays(["a b b", "", "c"], tokenizer)]
        [[2, 3, 3], [], [1]]
    """
    return (ids for (ids,) in _mapped(texts, lambda text: (tokenizer.tokenize(text),)))


def token_spans(
    texts: Iterable[str], tokenizer: Any
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yields ids, starts and ends of each text's tokens: int32 `[tokens]` each.

    Token `i` covers the characters `text[starts[i]:ends[i]]` of the text as it was given.

    Args:
        texts: are read in order, some hundreds ahead.
        tokenizer: a `text.Tokenizer` that knows offsets.
    """
    return _mapped(texts, tokenizer.tokenize_with_offsets)


def check_special_ids(tokenizer: Any, *names: str) -> None:
    """Refuses a tokenizer that lacks a special token which the examples need, or pads with another
    id than 0.

    Raises:
        ValueError: names what is missing.
    """
    if tokenizer.pad_id != 0:
        raise ValueError(f"the tokenizer's pad_id is {tokenizer.pad_id}, but padding must be 0.")
    for name in names:
        if getattr(tokenizer, name, -1) < 0:
            symbol = f"[{name.removesuffix('_id').upper()}]"
            raise ValueError(
                f"the tokenizer ({type(tokenizer).__name__}) has no {name}: its vocabulary must "
                f"hold the token {symbol}."
            )


def _mapped(
    texts: Iterable[str], tokenise: Callable[[tf.Tensor], Sequence[tf.RaggedTensor]]
) -> Iterator[tuple[np.ndarray, ...]]:
    """Applies `tokenise` (string [texts] to ragged [texts, (tokens)]) to chunks of the texts."""
    texts = iter(texts)
    while chunk := list(islice(texts, TEXTS_AT_A_TIME)):
        encoded = np.array([text.encode("utf-8") for text in chunk], dtype=object)
        with tf.device("cpu:0"):  # op by op: tracing a graph takes longer than most texts do
            parts = tokenise(tf.constant(encoded))
        splits = parts[0].row_splits.numpy()
        columns = [np.split(part.flat_values.numpy(), splits[1:-1]) for part in parts]
        yield from zip(*columns, strict=True)
