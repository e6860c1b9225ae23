"""Texts that a task is given: as tensors, blank ones, cut ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import tensorflow as tf

# Nothing but what Python's `str.isspace` takes for white space.
BLANK = r"[\t-\r\x1c-\x1f\x{85}\p{Z}]*"


def as_texts(texts: Sequence[str], argument: str = "texts") -> tf.Tensor:
    """Python strings as a tensor `[batch]`.

    Raises:
        ValueError: when ``texts`` is one string instead of a list of them, or holds anything but
            strings.

    >>> as_texts("abc")
    Traceback (most recent call last):
    ValueError: texts must be a list of strings, such as [text], not one string.
    """
    if isinstance(texts, str | bytes):
        raise ValueError(f"{argument} must be a list of strings, such as [text], not one string.")
    if texts is None or isinstance(texts, Mapping) or not isinstance(texts, Iterable):
        raise ValueError(f"{argument} must be a list of strings, not {texts!r:.80}.")
    texts = list(texts)
    for index, text in enumerate(texts):
        if not isinstance(text, str | bytes):
            raise ValueError(f"{argument}[{index}] must be a string, not {text!r:.80}.")
        if isinstance(text, str) and not _is_encodable(text):
            raise ValueError(
                f"{argument}[{index}] holds half a character (a lone surrogate), which UTF-8 "
                f"cannot write: {text!r:.80}."
            )
    return tf.constant(texts, tf.string, shape=[len(texts)])


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def as_text_pairs(
    first: Sequence[str], second: Sequence[str], arguments: tuple[str, str]
) -> tuple[tf.Tensor, tf.Tensor]:
    """Two lists of as many strings each, as tensors `[batch]`.

    >>> as_text_pairs(["a"], [], ("questions", "contexts"))
    Traceback (most recent call last):
    ValueError: questions and contexts must be of one length, not 1 and 0.
    """
    pair = as_texts(first, arguments[0]), as_texts(second, arguments[1])
    lengths = [int(tf.size(texts)) for texts in pair]
    if lengths[0] != lengths[1]:
        raise ValueError(
            f"{arguments[0]} and {arguments[1]} must be of one length, not {lengths[0]} and "
            f"{lengths[1]}."
        )
    return pair


def is_blank(texts: tf.Tensor) -> tf.Tensor:
    """Which texts hold nothing but white space: bool `[batch]`.

    >>> is_blank(tf.constant(["", " \\u3000", "a"])).numpy().tolist()
    [True, True, False]
    """
    return tf.strings.regex_full_match(texts, BLANK)


def valid_unicode(texts: tf.Tensor) -> tf.Tensor:
    """The same texts; bytes that are not UTF-8 become U+FFFD, one character as before."""
    return tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8")
