"""Texts that a task is given: as tensors, blank ones, cut ones."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from keras_transformer.tasks.text_lists import text_list, text_list_pair

# Nothing but what Python's `str.isspace` takes for white space.
BLANK = r"[\t-\r\x1c-\x1f\x{85}\p{Z}]*"


def as_texts(texts: Sequence[str], argument: str = "texts") -> tf.Tensor:
    """Python strings as a tensor `[batch]`.

    Raises:
        ValueError: when ``texts`` is one string instead of a list of them, or holds anything but
            strings.

    >>> as_texts(["abc"]).shape
    TensorShape([1])
    """
    return _tensor(text_list(texts, argument))


def as_text_pairs(
    first: Sequence[str], second: Sequence[str], arguments: tuple[str, str]
) -> tuple[tf.Tensor, tf.Tensor]:
    """Two lists of as many strings each, as tensors `[batch]`.

    Raises:
        ValueError: when they are anything else.

    >>> [tensor.shape for tensor in as_text_pairs(["a"], ["b"], ("questions", "contexts"))]
    [TensorShape([1]), TensorShape([1])]
    """
    one, other = text_list_pair(first, second, arguments)
    return _tensor(one), _tensor(other)


def _tensor(texts: list[str | bytes]) -> tf.Tensor:
    return tf.constant(texts, tf.string, shape=[len(texts)])


def is_blank(texts: tf.Tensor) -> tf.Tensor:
    """Which texts hold nothing but white space: bool `[batch]`.

    >>> is_blank(tf.constant(["", " \\u3000", "a"])).numpy().tolist()
    [True, True, False]
    """
    return tf.strings.regex_full_match(texts, BLANK)


def valid_unicode(texts: tf.Tensor) -> tf.Tensor:
    """The same texts; bytes that are not UTF-8 become U+FFFD, one character as before."""
    return tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8")
