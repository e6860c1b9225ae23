"""What requests to a served graph have in common: columns of one length, plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from keras_transformer.tasks.answers import NOTHING


def same_rows(**columns: tf.Tensor) -> tuple[tf.Tensor, ...]:
    """The same tensors, once it is certain that they have a value for each row.

    A server that puts requests together wants each of them to have columns of one length before
    it does, so a request that fails here is alone.

    Args:
        **columns: `[batch]`, by the names of a signature's inputs.

    Raises:
        tf.errors.InvalidArgumentError: in the graph, where the lengths differ.

    >>> same_rows(question=tf.constant(["a", "b"]), context=tf.constant(["c"]))
    Traceback (most recent call last):
    tensorflow.python.framework.errors_impl.InvalidArgumentError: ...
    """
    sizes = tf.stack([tf.size(column) for column in columns.values()])  # [columns]
    said = [
        tf.strings.join([name, " has ", tf.strings.as_string(size)])
        for name, size in zip(columns, tf.unstack(sizes), strict=True)
    ]
    message = tf.strings.join(
        ["The inputs of a request must have as many values each: ", tf.strings.join(said, ", ")]
    )
    alike = tf.debugging.Assert(tf.reduce_all(sizes == sizes[0]), [message])
    with tf.control_dependencies([] if alike is None else [alike]):  # nothing when not traced
        return tuple(tf.identity(column) for column in columns.values())


def finite(scores: tf.Tensor) -> tf.Tensor:
    """Scores with `NOTHING` for -inf.

    >>> finite(tf.constant([-2.0, float("-inf")])).numpy().tolist()
    [-2.0, -1000000000.0]
    """
    return tf.maximum(scores, NOTHING)


def plain(outputs: Mapping[str, tf.Tensor]) -> dict[str, Any]:
    """A signature's outputs in Python's own numbers and strings, but arrays of vectors.

    >>> plain({"tags": tf.constant([["a"]]), "score": tf.constant([0.5])})
    {'tags': [['a']], 'score': [0.5]}
    """
    arrays = {name: tensor.numpy() for name, tensor in outputs.items()}
    return {
        name: _decoded(array.tolist()) if array.ndim < 3 else array
        for name, array in arrays.items()
    }


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    return value.decode("utf-8") if isinstance(value, bytes) else value
