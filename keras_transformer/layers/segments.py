"""Segments: which of the texts of a pair a token belongs to."""

from typing import Any

import keras
from keras import ops

from keras_transformer.checks import check_at_least

Tensor = Any


@keras.saving.register_keras_serializable("keras_transformer")
class SegmentEmbedding(keras.layers.Layer):
    """Adds a learned vector for each segment (Devlin et al. 2019, 3).

    Args:
        type_vocab_size: number of segments.
        initializer: initialiser of the table.

    Call args:
        inputs: ``[batch, length, hidden_size]``.
        segment_ids: integer ``[batch, length]``; segment 0 everywhere by default.

    Raises:
        ValueError: when the segment ids are of another shape than the inputs.

    >>> hidden = ops.zeros((2, 5, 4))
    >>> SegmentEmbedding(type_vocab_size=2)(hidden, segment_ids=ops.ones((2, 5), "int32")).shape
    TensorShape([2, 5, 4])
    """

    def __init__(self, type_vocab_size: int = 2, initializer: Any = "uniform", **kwargs: Any):
        super().__init__(**kwargs)
        check_at_least(1, type_vocab_size=type_vocab_size)
        self.type_vocab_size = type_vocab_size
        self.initializer = keras.initializers.get(initializer)
        self.supports_masking = True

    def build(self, input_shape: tuple) -> None:
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.type_vocab_size, input_shape[-1]),
            initializer=self.initializer,
        )

    def call(self, inputs: Tensor, segment_ids: Tensor | None = None) -> Tensor:
        if segment_ids is None:
            return inputs + ops.cast(self.embeddings[0], inputs.dtype)
        self._check_shape(tuple(inputs.shape[:-1]), tuple(segment_ids.shape))
        # Keras builds models under a strategy with float ids.
        segment_ids = ops.cast(segment_ids, "int32")
        vectors = ops.take(self.embeddings, segment_ids, axis=0)  # [batch, length, hidden_size]
        return inputs + ops.cast(vectors, inputs.dtype)

    def _check_shape(self, expected: tuple, found: tuple) -> None:
        differs = (a != b for a, b in zip(expected, found, strict=False) if None not in (a, b))
        if len(expected) != len(found) or any(differs):
            raise ValueError(
                f"{self.name}: segment_ids must have the shape of the ids, {expected}, not {found}."
            )

    def compute_output_shape(self, input_shape: tuple) -> tuple:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {
            "type_vocab_size": self.type_vocab_size,
            "initializer": keras.initializers.serialize(self.initializer),
        }
