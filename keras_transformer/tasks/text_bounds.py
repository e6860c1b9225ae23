"""What is looked at of a text, however long it is: bounded before it is tokenised, in the graph.

Tokens are limited afterwards; but to tokenise a text takes some hundred times its size in memory,
so that one of 100 MB would take the whole server's.
"""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

LEAST_BYTES = 2**20
"""No text of up to so many bytes is cut before it is tokenised."""

BYTES_OF_A_TOKEN = 16
"""More than the tokens of texts have on average."""


def most_bytes(most_tokens: int) -> int:
    """The most bytes that are looked at of a text of which so many tokens are read.

    >>> most_bytes(512), most_bytes(100_000)
    (1048576, 1600000)
    """
    return max(LEAST_BYTES, BYTES_OF_A_TOKEN * most_tokens)


def beginnings(texts: tf.Tensor, most: int) -> tuple[tf.Tensor, tf.Tensor]:
    """The first bytes of texts, whole characters of UTF-8.

    Args:
        texts: string `[batch]`.
        most: bytes that are kept, at least 4.

    Returns:
        The texts, and which of them were cut (bool `[batch]`).

    >>> texts, cut = beginnings(tf.constant(["abc北京", "ab"]), 7)
    >>> [text.decode() for text in texts.numpy()], cut.numpy().tolist()
    (['abc北', 'ab'], [True, False])
    """
    sizes = tf.strings.length(texts)  # [batch]
    cut = sizes > most

    def shorter() -> tf.Tensor:
        # The last three bytes that might stay, and the first that goes.
        edge = _bytes(texts, most - 3, cut)  # [batch, 4]
        inside = _continues(edge)
        # How many bytes before the edge belong to a character that goes on behind it.
        begun = tf.where(
            ~inside[:, 3],
            0,
            tf.where(
                edge[:, 2] >= 0xC0,
                1,
                tf.where(
                    inside[:, 2] & (edge[:, 1] >= 0xE0),
                    2,
                    tf.where(inside[:, 2] & inside[:, 1] & (edge[:, 0] >= 0xF0), 3, 0),
                ),
            ),
        )  # [batch]
        return tf.strings.substr(texts, tf.zeros_like(sizes), tf.where(cut, most - begun, sizes))

    return _if_any(cut, shorter, texts), cut


def endings(texts: tf.Tensor, most: int) -> tuple[tf.Tensor, tf.Tensor]:
    """The last bytes of texts, whole characters of UTF-8; arguments and results as above.

    >>> texts, cut = endings(tf.constant(["北京abc", "ab"]), 5)
    >>> [text.decode() for text in texts.numpy()], cut.numpy().tolist()
    (['abc', 'ab'], [True, False])
    """
    sizes = tf.strings.length(texts)  # [batch]
    cut = sizes > most

    def shorter() -> tf.Tensor:
        start = tf.where(cut, sizes - most, 0)  # [batch]
        edge = _bytes(texts, start, cut)  # [batch, 4], the first four bytes that might stay
        inside = _continues(edge)[:, :3]  # [batch, 3]
        rest = tf.reduce_sum(tf.math.cumprod(tf.cast(inside, tf.int32), axis=1), axis=1)  # [batch]
        start += tf.where(cut, rest, 0)
        return tf.strings.substr(texts, start, sizes - start)

    return _if_any(cut, shorter, texts), cut


def _if_any(cut: tf.Tensor, shorter: Callable[[], tf.Tensor], texts: tf.Tensor) -> tf.Tensor:
    """Usual requests have no text that is so long, and pay nothing for it."""
    bounded = tf.cond(tf.reduce_any(cut), shorter, lambda: texts)
    return tf.ensure_shape(bounded, texts.shape)


def _bytes(texts: tf.Tensor, start: int | tf.Tensor, cut: tf.Tensor) -> tf.Tensor:
    """Four bytes of each text that is cut, from `start` on, and zeros of others: `[batch, 4]`."""
    start = tf.where(cut, start, 0)  # [batch]
    four = tf.strings.substr(texts, start, tf.where(cut, 4, 0))
    return tf.cast(tf.io.decode_raw(four, tf.uint8, fixed_length=4), tf.int32)


def _continues(values: tf.Tensor) -> tf.Tensor:
    """Which bytes are none that a character begins with."""
    return (values >= 0x80) & (values < 0xC0)
