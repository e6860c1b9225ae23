"""Vectors of words to look at: in two contexts, beside their neighbours, and as analogies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from keras_transformer.checks import check_at_least
from keras_transformer.inspection.token_labels import visible
from keras_transformer.inspection.topic import Matrix, Step, Topic
from keras_transformer.inspection.trace_figures import curves, points
from keras_transformer.inspection.word_vectors import (
    cosines,
    principal_plane,
    token_table,
    vectors_in_context,
    word_id,
)
from keras_transformer.tasks import Task

CONTEXTS = {
    "bank": [
        "We sat on the bank of the river and watched the water.",
        "The boat was tied to the muddy bank.",
        "Trees grew along the bank of the stream.",
        "The bank lent him the money for a house.",
        "She opened an account at the bank.",
        "The bank raised its interest rate.",
    ],
    "苹果": [
        "她在吃一个绿苹果。",
        "树上的苹果已经熟了。",
        "他买了三斤苹果和香蕉。",
        "苹果公司发布了新手机。",
        "苹果的股票昨天涨了。",
        "苹果的新款电脑卖得很好。",
    ],
}
"""Texts with a word of two meanings: three with the one, three with the other."""


def contexts_topic(task: Task, word: str = "bank", texts: Sequence[str] = ()) -> Topic:
    """How far a word's vectors in context part from the one of the table, and from each other.

    Args:
        task: a `TextGenerator`, a task of BERT, or a `Translator`, of which the encoder is asked.
        word: the word.
        texts: two or more texts with the word; of the words in `CONTEXTS` those by default.

    Raises:
        ValueError: for too few texts, and as `word_vectors.vectors_in_context`.
    """
    texts = list(texts) or CONTEXTS.get(word, [])
    if len(texts) < 2:
        raise ValueError(f"Give two or more texts with the word {word!r}, not {len(texts)}.")
    table, tokenizer = token_table(task)
    found = [vectors_in_context(task, word, text) for text in texts]
    static = np.stack([table[ids].mean(axis=0) for ids, _ in found])  # [texts, hidden_size]
    vectors = np.stack([vectors for _, vectors in found])  # [texts, layers, hidden_size]
    away = np.stack(
        [
            [cosines(s[None], v[None])[0, 0] for v in layers]
            for s, layers in zip(static, vectors, strict=True)
        ]
    )  # [texts, layers]
    last = vectors[:, -1]
    between = cosines(last, last)  # [texts, texts]
    plane = principal_plane(last)
    names = [str(i) for i in range(1, len(texts) + 1)]
    pictured = {
        f"{name}: {text if len(text) <= 50 else text[:50] + '…'}": {name: place}
        for name, text, place in zip(names, texts, plane.tolist(), strict=True)
    }
    layers = [f"layer {i}" for i in range(1, vectors.shape[1] + 1)]
    spelled = " ".join(visible(tokenizer.id_to_token(i)) for i in found[0][0])
    return Topic(
        f"The word “{word}” in {len(texts)} texts",
        "In the table of embeddings a word has one vector. Each layer mixes in what stands around "
        "it, and what comes out differs from text to text.",
        [
            Step(
                "Texts",
                matrix=Matrix([[text] for text in texts], names, ["text"]),
                sentence=f"In the first, the word is the token {spelled}."
                if len(found[0][0]) == 1
                else f"In the first, the word is the tokens {spelled}; their mean stands for it.",
            ),
            Step(
                "Away from the table",
                "cos(vector of the table, vector after the layer)",
                Matrix(away, names, layers, digits=2),
                "1: the same direction; 0: nothing in common.",
                partial(_away_figure, away, names),
            ),
            Step(
                "Between the texts",
                "cos(vector in text i, vector in text j), after the last layer",
                Matrix(between, names, names, digits=2),
                _nearest_sentence(between, names),
            ),
            Step(
                "On a plane",
                "principal components of the vectors after the last layer",
                Matrix(plane, names, ["first", "second"], digits=2),
                "Texts in which the word means the same should lie together.",
                partial(points, pictured),
            ),
        ],
    )


def neighbours_topic(
    task: Task,
    words: Sequence[str],
    analogy: Sequence[str] = (),
    top: int = 8,
) -> Topic:
    """The words whose vectors in the embedding table are nearest to those of others.

    Args:
        task: a trained task.
        words: words that are one token each.
        analogy: none, or three words a, b, c: what is to c as b is to a? (Mikolov et al. 2013)
        top: neighbours of each.

    Raises:
        ValueError: when there is no word, or one is not a single token.
    """
    if not words and not analogy:
        raise ValueError("Give words whose neighbours are to be found.")
    if len(analogy) not in (0, 3):
        raise ValueError(f"An analogy is asked with three words, not {len(analogy)}.")
    check_at_least(1, top=top)
    table, tokenizer = token_table(task)
    spelled = [visible(tokenizer.id_to_token(i)) for i in range(tokenizer.vocab_size)]
    hidden = [*(i for i in tokenizer.special_ids if i >= 0), tokenizer.unk_id]
    hidden += [i for i, name in enumerate(spelled) if re.fullmatch(r"\[unused\d+\]", name)]

    def nearest(vector: np.ndarray, but: Sequence[int]) -> list[tuple[int, float]]:
        similar = cosines(vector[None], table)[0]  # [vocab_size]
        similar[[*hidden, *but]] = -np.inf
        best = np.argsort(-similar, kind="stable")[:top]
        return [(int(i), float(similar[i])) for i in best if np.isfinite(similar[i])]

    steps, groups = [], {}
    for word in words:
        index = word_id(tokenizer, word)
        found = nearest(table[index], [index])
        groups[word] = [index, *(i for i, _ in found)]
        steps.append(
            Step(
                f"Neighbours of {word}",
                f"cos({word}, ·)",
                _found(found, spelled),
            )
        )
    if analogy:
        a, b, c = ids = [word_id(tokenizer, word) for word in analogy]
        found = nearest(_unit(table[b]) - _unit(table[a]) + _unit(table[c]), ids)
        groups[" ".join(analogy)] = [*ids, *(i for i, _ in found[:1])]
        steps.append(
            Step(
                f"{analogy[0]} is to {analogy[1]} as {analogy[2]} is to …",
                f"cos({analogy[1]} - {analogy[0]} + {analogy[2]}, ·)",
                _found(found, spelled),
                "Of vectors of length 1; the three words themselves are left out, as is usual, "
                "since else one of them is mostly the nearest.",
            )
        )
    ids = sorted({i for group in groups.values() for i in group})
    plane = dict(zip(ids, principal_plane(table[ids]).tolist(), strict=True))
    shown: set[int] = set()
    pictured: dict[str, dict[str, Any]] = {}
    for name, group in groups.items():
        pictured[name] = {spelled[i]: plane[i] for i in group if i not in shown}
        shown.update(group)
    steps.append(
        Step(
            "On a plane",
            "principal components of these words' vectors",
            picture=partial(points, {name: group for name, group in pictured.items() if group}),
        )
    )
    return Topic(
        "Neighbours in the embedding table",
        f"{len(table):,} vectors of width {table.shape[1]}, learned with the model; near ones "
        "stand for tokens that are used alike.",
        steps,
    )


def _found(found: list[tuple[int, float]], spelled: list[str]) -> Matrix:
    rows = [[spelled[i], f"{similar:.3f}"] for i, similar in found]
    return Matrix(rows, [str(i) for i in range(1, len(rows) + 1)], ["token", "cosine"])


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / max(float(np.linalg.norm(vector)), 1e-12)


def _nearest_sentence(between: np.ndarray, names: Sequence[str]) -> str:
    """Which text's word is nearest to each text's."""
    others = between - 2 * np.eye(len(between))
    pairs = [f"{name} to {names[int(others[i].argmax())]}" for i, name in enumerate(names)]
    return f"Nearest of all others: {', '.join(pairs)}."


def _away_figure(away: np.ndarray, names: Sequence[str]) -> Any:
    layers = list(range(1, away.shape[1] + 1))
    lines = {f"text {name}": row for name, row in zip(names, away, strict=True)}
    figure = curves(layers, lines, "after layer", "cosine with the table's vector")
    figure.axes[0].set_xticks(layers)
    return figure
