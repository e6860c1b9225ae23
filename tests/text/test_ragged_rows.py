"""Rows of ragged tensors: right, and no table of all rows by the longest."""

import numpy as np
import pytest
import tensorflow as tf
from text import byte_pairs, wordpieces

from benchmarks.memory import Watch
from keras_transformer.tasks.words import split_words
from keras_transformer.text.ragged_rows import value_rows

LONG = "x" * 100_000 + " a" * 50_000
MUCH = 250e6  # a table of words by letters takes 5e9 at least


def taken(watch: Watch) -> int:
    """Bytes that were taken meanwhile."""
    memory = watch.memory()
    if memory is None:
        pytest.skip("this system does not tell how much memory is taken")
    return memory.peak - memory.before


@pytest.mark.parametrize("rows", [[[1, 2], [], [3], [], []], [[], [4, 5, 6]], [[], []], [[7]]])
@pytest.mark.parametrize("splits", [tf.int32, tf.int64])
def test_each_value_has_its_row(rows, splits):
    ragged = tf.ragged.constant(rows, dtype=tf.int32, row_splits_dtype=splits)
    np.testing.assert_array_equal(value_rows(ragged), ragged.value_rowids())


@pytest.mark.parametrize("make", [wordpieces.trained, byte_pairs.trained])
def test_a_word_of_100_000_letters_among_50_000_words_takes_little_memory(make):
    tokenizer = make()
    tokenizer.tokenize_with_offsets(["x a"])  # what is made once
    watch = Watch()
    ids, starts, ends = tokenizer.tokenize_with_offsets([LONG, "a"])
    assert int(ids.row_lengths()[0]) >= 50_001
    assert int(ends[0][-1]) == len(LONG) and int(starts[0][-1]) == len(LONG) - 1
    assert taken(watch) < MUCH


def test_so_do_the_words_that_are_tagged():
    split_words(tf.constant(["x a"]))
    watch = Watch()
    words = split_words(tf.constant([LONG, "a"])).words
    assert words.row_lengths().numpy().tolist() == [50_001, 1]
    assert taken(watch) < MUCH
