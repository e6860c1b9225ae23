"""Texts -> the ids of their tokens as NumPy arrays, many texts at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np
import tensorflow as tf

from .tokenised import encoded

TEXTS_AT_A_TIME = 1024
# Of texts by the million: op by op, a call costs as much as some 1,000 sentences.
CHUNK_TEXTS, CHUNK_CHARACTERS = 8192, 2**20


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


def token_chunks(texts: Iterable[str], tokenizer: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yields ids int32 `[tokens]` of some thousands of texts, end to end, and int64 `[texts]` with
    the tokens of each.

    Args:
        texts: are read in order, some thousands ahead.
        tokenizer: a `text.Tokenizer`; its graph does the work.

    Example:
        >>> from keras_transformer.text import WordPieceTokenizer
        >>> tokenizer = WordPieceTokenizer(["[PAD]", "[UNK]", "a", "b"])
        >>> [(ids.tolist(), n.tolist()) for ids, n in token_chunks(["a b b", "", "c"], tokenizer)]
        [([2, 3, 3, 1], [3, 0, 1])]
    """
    chunk: list[str] = []
    characters = 0
    for text in chain(texts, [None]):
        if text is not None:
            chunk.append(text)
            characters += len(text)
        is_full = len(chunk) >= CHUNK_TEXTS or characters >= CHUNK_CHARACTERS
        if chunk and (is_full or text is None):
            with tf.device("cpu:0"):
                tokens = tokenizer.tokenize(tf.constant(encoded(chunk)))
            yield tokens.flat_values.numpy(), tokens.row_lengths().numpy()
            chunk, characters = [], 0


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
        with tf.device("cpu:0"):  # op by op: tracing a graph takes longer than most texts do
            parts = tokenise(tf.constant(encoded(chunk)))
        splits = parts[0].row_splits.numpy()
        columns = [np.split(part.flat_values.numpy(), splits[1:-1]) for part in parts]
        yield from zip(*columns, strict=True)
