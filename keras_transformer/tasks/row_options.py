"""How texts are generated, for each row of a batch."""

from __future__ import annotations

from dataclasses import fields
from typing import NamedTuple

import tensorflow as tf

from keras_transformer.tasks.generation_options import (
    MOST_NEW_TOKENS,
    RANGES,
    GenerationOptions,
)


class RowOptions(NamedTuple):
    """The options of each row of a batch: all `[batch]`, integers int32, the others float32."""

    max_new_tokens: tf.Tensor
    min_new_tokens: tf.Tensor
    temperature: tf.Tensor
    top_k: tf.Tensor
    top_p: tf.Tensor
    min_p: tf.Tensor
    repetition_penalty: tf.Tensor
    length_penalty: tf.Tensor
    seed: tf.Tensor

    @classmethod
    def specs(cls) -> RowOptions:
        """The inputs of a `tf.function` that takes them."""
        types = {field.name: field.type for field in fields(GenerationOptions)}
        return cls(
            *(
                tf.TensorSpec([None], tf.int32 if types[name] == "int" else tf.float32, name=name)
                for name in cls._fields
            )
        )

    @classmethod
    def alike(cls, options: GenerationOptions, rows: int | tf.Tensor) -> RowOptions:
        """The same options for all rows, the seed too."""
        return cls(
            *(
                tf.fill([rows], tf.constant(getattr(options, spec.name), spec.dtype))
                for spec in cls.specs()
            )
        )

    def within_range(self) -> RowOptions:
        """What is out of range becomes the nearest value within it, and NaN what is off.

        So one row's nonsense does not fail the others.

        >>> options = RowOptions.alike(GenerationOptions(), 2)
        >>> wrong = options._replace(temperature=tf.constant([-1.0, float("nan")]))
        >>> wrong.within_range().temperature.numpy().tolist()
        [0.0, 1.0]
        """
        _, hottest, _ = RANGES["temperature"]
        return self._replace(
            max_new_tokens=tf.clip_by_value(self.max_new_tokens, 0, MOST_NEW_TOKENS),
            temperature=_clipped(self.temperature, 0.0, hottest, nan=1.0),
            top_k=tf.maximum(self.top_k, 0),
            top_p=_clipped(self.top_p, 0.0, 1.0, nan=1.0),
        )


def _clipped(values: tf.Tensor, least: float, most: float, nan: float) -> tf.Tensor:
    return tf.clip_by_value(tf.where(tf.math.is_nan(values), nan, values), least, most)
