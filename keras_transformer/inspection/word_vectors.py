"""Vectors of words: of the embedding table, and in the context of texts."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from keras import ops

from keras_transformer.inspection.layer_calls import record_calls
from keras_transformer.inspection.model_inputs import model_inputs
from keras_transformer.layers import TokenEmbedding
from keras_transformer.layers.block import TransformerBlock, TransformerStack
from keras_transformer.tasks import Task, TextGenerator, Translator
from keras_transformer.tasks.bert_task import BertTask
from keras_transformer.text import ByteLevelBPETokenizer, Tokenizer


def token_table(task: Task) -> tuple[np.ndarray, Tokenizer]:
    """The embedding table of the text that a task reads, and the tokenizer of its rows.

    Returns:
        `[vocab_size, hidden_size]`, float32, without the factor that models may put on it.

    Raises:
        ValueError: for a task without one.
    """
    if isinstance(task, Translator):
        embedding, tokenizer = task.model.source_embedding, task.source_tokenizer
    elif isinstance(task, BertTask):
        embedding, tokenizer = task.model.bert.token_embedding, task.tokenizer
    elif isinstance(task, TextGenerator):
        embedding, tokenizer = task.model.token_embedding, task.tokenizer
    else:
        raise ValueError(f"Nothing is known of the embedding of a {type(task).__name__}.")
    assert isinstance(embedding, TokenEmbedding)
    return ops.convert_to_numpy(embedding.embeddings).astype("float32"), tokenizer


def word_id(tokenizer: Tokenizer, word: str) -> int:
    """The id of a word that is one token.

    Raises:
        ValueError: when it is several, or unknown.
    """
    spellings = [word, f" {word}"]
    if isinstance(tokenizer, ByteLevelBPETokenizer):  # words within a text begin with a blank
        spellings.reverse()
    found = [tokenizer.tokenize([spelling]).to_list()[0] for spelling in spellings]
    for ids in found:
        if len(ids) == 1 and ids[0] != tokenizer.unk_id:
            return ids[0]
    pieces = ", ".join(tokenizer.id_to_token(i) for i in found[0])
    raise ValueError(f"{word!r} is no single token of the vocabulary, but {pieces or 'nothing'}.")


def vectors_in_context(task: Task, word: str, text: str) -> tuple[list[int], np.ndarray]:
    """A word's vector after each layer of the part of a model that reads a text.

    Of a word of several tokens it is the mean of theirs.

    Args:
        task: a `TextGenerator`, a task of BERT, or a `Translator`, of which the encoder is asked.
        word: the word; its first place in the text counts.
        text: the text.

    Returns:
        The ids of the word's tokens, and `[layers, hidden_size]` float32; the last of them with
        the norm that may end the stack.

    Raises:
        ValueError: when the text lacks the word, or the vocabulary its characters, and as
            `inspection.model_inputs`.
    """
    tokenizer = task.source_tokenizer if isinstance(task, Translator) else task.tokenizer
    first, end = _place(word, text)
    ids, starts, ends = (part.numpy()[0] for part in tokenizer.tokenize_with_offsets([text]))
    covers = np.flatnonzero((starts < end) & (ends > first))
    if tokenizer.unk_id in ids[covers]:
        raise ValueError(f"The vocabulary does not know {word!r}: a part of it is unknown.")
    read = model_inputs(task, text, "" if isinstance(task, Translator) else None)
    row = next(iter(read.inputs.values()))[0]
    shift = _begins(ids, row)
    with record_calls(task.model) as calls:
        task.model(read.inputs, training=False)
    stack = next(call for call in calls if isinstance(call.layer, TransformerStack))
    layers = [
        call.output
        for call in calls
        if isinstance(call.layer, TransformerBlock) and call.callers[-1] is stack.layer
    ]
    layers[-1] = stack.output
    hidden = np.stack(
        [ops.convert_to_numpy(layer)[0].astype("float32") for layer in layers]
    )  # [layers, length, hidden_size]
    return ids[covers].tolist(), hidden[:, covers + shift].mean(axis=1)


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cosines of the angles between the rows of two arrays: `[rows of a, rows of b]`; 0 for zeros.

    >>> cosines(np.array([[1.0, 0.0]]), np.array([[2.0, 0.0], [0.0, 3.0]])).tolist()
    [[1.0, 0.0]]
    """
    a, b = (x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-12) for x in (a, b))
    return a @ b.T


def principal_plane(vectors: np.ndarray) -> np.ndarray:
    """Vectors seen from where they differ most (principal components, Pearson 1901).

    Args:
        vectors: `[count, width]`, of a width of at least 2.

    Returns:
        `[count, 2]`. Each axis points to where its largest coordinate is positive.

    >>> principal_plane(np.array([[1.0, 0, 0], [-1.0, 0, 0]])).round(6).tolist()
    [[1.0, 0.0], [-1.0, 0.0]]
    """
    centred = vectors - vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)  # [components, width]
    if len(axes) < 2:
        axes = np.concatenate([axes, np.zeros((2 - len(axes), vectors.shape[1]))])
    plane = centred @ axes[:2].T  # [count, 2]
    largest = plane[np.abs(plane).argmax(axis=0), [0, 1]]
    return plane * np.where(largest < 0, -1.0, 1.0)


def _place(word: str, text: str) -> tuple[int, int]:
    """Where a word stands: as a whole word, or else, as in Chinese, anywhere."""
    whole = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.I)
    found = whole or re.search(re.escape(word), text, re.I)
    if not word.strip() or found is None:
        raise ValueError(f"The word {word!r} is not in the text {text!r}.")
    return found.span()


def _begins(ids: np.ndarray, row: Any) -> int:
    """How many special tokens stand before the text's tokens in a row."""
    for shift in range(len(row) - len(ids) + 1):
        if np.array_equal(row[shift : shift + len(ids)], ids):
            return shift
    raise ValueError("The model is not given the tokens of the text one after the other.")
