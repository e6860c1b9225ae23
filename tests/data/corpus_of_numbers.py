"""Documents whose tokens say which document they come from, and where in it they stand."""

from __future__ import annotations

import random

import numpy as np
import tensorflow as tf

from keras_transformer.data import TextDocuments

EOS, FIRST = 2, 4  # the id of number 0


class NumberWords(tf.Module):
    """Texts are numbers between spaces; number n becomes id n + 4."""

    pad_id, bos_id, eos_id, unk_id = 0, 1, EOS, 3
    special_ids = (0, 1, 2)

    def __init__(self, vocab_size: int = 60_000):
        super().__init__()
        self.vocab_size = vocab_size

    def tokenize(self, texts):
        words = tf.strings.split(texts)
        return tf.ragged.map_flat_values(lambda w: tf.strings.to_number(w, tf.int32) + FIRST, words)


def numbered_documents(count: int, longest: int = 40, seed: int = 0) -> TextDocuments:
    """Documents of 1 to `longest` numbers, all different: those of one stand in a row."""

    def read():
        rng, number = random.Random(seed), 0
        for _ in range(count):
            length = rng.randint(1, longest)
            yield [" ".join(map(str, range(number, number + length)))]
            number += length

    return TextDocuments("numbers", read)


def stream_of(documents: TextDocuments) -> list[int]:
    """The ids that the documents make: an end marker after each."""
    ids = []
    for (text,) in documents:
        ids += [int(word) + FIRST for word in text.split()] + [EOS]
    return ids


def real_labels(batches) -> list[int]:
    """All labels that are not padding, row after row."""
    return [int(label) for _, labels in batches for label in labels[labels != 0]]


def rows_of(batches) -> list[tuple[np.ndarray, np.ndarray]]:
    """(inputs, labels) of every row that has a token, without padding."""
    return [
        (inputs[labels != 0], labels[labels != 0])
        for features, targets in batches
        for inputs, labels in zip(features["token_ids"], targets, strict=True)
        if labels.any()
    ]
