"""Dropout, with a cheaper source of chance than Keras'."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import keras

Tensor = Any

_drawn: ContextVar[Mapping[int, Tensor] | None] = ContextVar("drawn seeds", default=None)


@contextmanager
def drawn_seeds(seeds: Mapping[int, Tensor]) -> Iterator[None]:
    """Has `Dropout` layers take seeds that were drawn before, while the block runs.

    Args:
        seeds: `id` of a layer -> what its seed generator gave.
    """
    token = _drawn.set(seeds)
    try:
        yield
    finally:
        _drawn.reset(token)


class _Drawn(keras.random.SeedGenerator):
    """A seed, where Keras wants a generator."""

    def __init__(self, seed: Tensor):
        self.seed = seed  # and nothing of Keras' own generator: there is no state

    def next(self, ordered: bool = True) -> Tensor:
        return self.seed


@keras.saving.register_keras_serializable("keras_transformer")
class Dropout(keras.layers.Dropout):
    """Dropout (Srivastava et al. 2014): in training each value is 0 with probability ``rate``.

    The others are divided by ``1 - rate``. On TensorFlow a value's fate takes one random byte
    where Keras draws a float of four: on CPUs that halves the time of dropout, the dearest part of
    a training step after the matrix products. On other backends, and at rates of
    0.9 and more, it is Keras' layer.

    Args and call args: as `keras.layers.Dropout`.

    >>> from keras import ops
    >>> float(ops.max(Dropout(0.5, seed=1)(ops.ones((8, 8)), training=True)))
    2.0
    """

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        if not training or self.rate == 0:
            return inputs
        seeds = self._seeds()
        plain = keras.backend.backend() != "tensorflow" or self.noise_shape is not None
        if self.rate >= 0.9 or plain:
            return keras.random.dropout(inputs, self.rate, self.noise_shape, seed=seeds)
        return _byte_dropout(inputs, self.rate, seeds.next())

    def _seeds(self) -> keras.random.SeedGenerator:
        seeds = _drawn.get()
        return self.seed_generator if seeds is None else _Drawn(seeds[id(self)])


def _byte_dropout(inputs: Tensor, rate: float, seed: Tensor) -> Tensor:
    import tensorflow as tf

    size = tf.size(inputs)
    words = tf.random.stateless_uniform(
        [size // 4 + 2],
        tf.cast(seed % (2**31 - 1), tf.int32),  # XLA takes no seed of 64 bits
        minval=None,
        maxval=None,
        dtype=tf.uint32,
    )
    # A byte falls below a whole number in 0, 1/256, 2/256, ... of all cases. For the rates between,
    # one draw chooses that number or the next, so that each value is dropped at just this rate.
    below = int(256 * rate)
    draw = tf.cast(tf.bitwise.right_shift(words[-1], 8), tf.float32) / 2**24  # uniform in [0, 1)
    threshold = tf.cast(below + tf.cast(draw < 256 * rate - below, tf.int32), tf.uint8)
    fates = tf.reshape(tf.bitcast(words, tf.uint8), [-1])[:size]  # [size]
    kept = tf.reshape(fates, tf.shape(inputs)) >= threshold
    # The scale goes into the mask, which has no gradient to be scaled too.
    return inputs * (tf.cast(kept, inputs.dtype) * tf.cast(1 / (1 - rate), inputs.dtype))
