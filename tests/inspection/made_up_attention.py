"""Attention made up by a formula, for pages and figures that show it."""

from __future__ import annotations

import numpy as np

from keras_transformer.inspection import AttentionMap, TextAttention, Token


def softmax(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    return (exponentials / exponentials.sum(-1, keepdims=True)).astype("float32")


def weights(layers: int, heads: int, queries: int, keys: int, causal: bool = False) -> np.ndarray:
    """Random weights, sharper in some heads; the strongest near the diagonal."""
    random = np.random.default_rng(queries + keys)
    scores = random.normal(size=(layers, heads, queries, keys))
    near = np.abs(np.arange(queries)[:, None] - np.arange(keys))
    scores -= near * np.linspace(0.2, 3, layers * heads).reshape(layers, heads, 1, 1)
    if causal:
        scores = np.where(np.tril(np.ones((queries, keys), bool)), scores, -1e30)
    return softmax(scores)


def tokens(texts: list[str], end: str = "</s>") -> list[Token]:
    return [Token(text) for text in texts] + [Token(end, special=True)]


def translation(source: list[str], target: list[str]) -> TextAttention:
    read, written = tokens(source), tokens(target)
    fed = [Token("<s>", special=True), *written[:-1]]
    s, t = len(read), len(written)
    maps = [
        AttentionMap("encoder", read, read, weights(2, 3, s, s)),
        AttentionMap("decoder", fed, fed, weights(2, 3, t, t, causal=True), written),
        AttentionMap("cross", fed, read, weights(2, 3, t, s), written),
    ]
    text, said = ("".join(side).replace("␣", " ").strip() for side in (source, target))
    return TextAttention(text, None, said, {part.kind: part for part in maps}, False)


def long_text(length: int, layers: int, heads: int) -> TextAttention:
    words = [
        Token("[CLS]", special=True),
        *tokens([f"word{i}" for i in range(length - 2)], "[SEP]"),
    ]
    part = AttentionMap("encoder", words, words, weights(layers, heads, length, length))
    return TextAttention("a long text", None, None, {"encoder": part}, False)
