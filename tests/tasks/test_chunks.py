"""A batch of any size in chunks: the same rows in the same order."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.tasks.chunks import map_in_chunks

OUTPUTS = (tf.TensorSpec([None, 2], tf.int32), tf.TensorSpec([None], tf.string))


def in_chunks(values, lengths, chunk_size):
    sizes = []

    def function(values, lengths):
        sizes.append(len(values))
        assert (np.diff(lengths) <= 0).all()  # rows of similar length, longest first
        return tf.stack([values, 2 * values], axis=1), tf.strings.as_string(values)

    results = map_in_chunks(
        function, (tf.constant(values, tf.int32), lengths), lengths, chunk_size, OUTPUTS
    )
    return results, sizes


@pytest.mark.parametrize("rows", [1, 3, 4, 10])
def test_rows_come_back_in_their_order(rows):
    lengths = tf.constant(np.random.default_rng(rows).integers(1, 5, rows), tf.int32)
    (numbers, texts), sizes = in_chunks(range(rows), lengths, chunk_size=3)
    assert numbers.numpy().tolist() == [[n, 2 * n] for n in range(rows)]
    assert texts.numpy().tolist() == [str(n).encode() for n in range(rows)]
    assert max(sizes) <= 3 and sum(sizes) == rows


def test_no_rows_give_no_rows_in_a_graph():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
    def doubled(values):
        def function(values):
            return tf.stack([values, 2 * values], axis=1), tf.strings.as_string(values)

        return map_in_chunks(function, (values,), values, 3, OUTPUTS)

    assert doubled([3, 4, 1, 2])[0].numpy().tolist() == [[3, 6], [4, 8], [1, 2], [2, 4]]
    numbers, texts = doubled(tf.constant([], tf.int32))
    assert numbers.shape == (0, 2) and texts.shape == (0,)
