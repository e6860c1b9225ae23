"""Token embeddings, and the output projection that shares their table."""

from typing import Any

import keras
from keras import ops

from keras_transformer.checks import check_at_least
from keras_transformer.layers.dense import leading_shape

Tensor = Any


@keras.saving.register_keras_serializable("keras_transformer")
class TokenEmbedding(keras.layers.Layer):
    """Ids to vectors, and with the same table hidden states to logits (Vaswani et al. 2017, 3.4).

    Args:
        vocab_size: number of ids.
        hidden_size: width of a vector.
        scale: whether vectors are multiplied by ``sqrt(hidden_size)``, as in the paper.
        initializer: initialiser of the table; normal with standard deviation ``hidden_size **
            -0.5`` by default, so that scaled vectors and logits start at variance one.
        mask_zero: whether the layer offers Keras the padding mask of its ids (id 0 = padding), for
            users who stack layers by hand. The models of this package pass masks explicitly.

    Call args:
        inputs: integer ids ``[batch, length]``; with ``reverse``, hidden states
            ``[..., hidden_size]``.
        reverse: whether to turn hidden states into logits instead of ids into vectors.

    Returns:
        ``[batch, length, hidden_size]``; with ``reverse``, logits ``[..., vocab_size]`` in at least
        float32, which softmax and loss want.

    >>> embedding = TokenEmbedding(vocab_size=10, hidden_size=4)
    >>> hidden = embedding(ops.convert_to_tensor([[1, 2, 0]]))
    >>> embedding(hidden, reverse=True).shape
    TensorShape([1, 3, 10])
    """

    def __init__(
        self,
        vocab_size: int,
        hidden_size: int,
        scale: bool = True,
        initializer: Any = None,
        mask_zero: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_at_least(1, vocab_size=vocab_size, hidden_size=hidden_size)
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.scale = scale
        self.initializer = keras.initializers.get(
            initializer or keras.initializers.RandomNormal(stddev=hidden_size**-0.5)
        )
        self.mask_zero = mask_zero
        self.supports_masking = mask_zero

    def build(self, input_shape: tuple | None = None) -> None:
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.vocab_size, self.hidden_size),
            initializer=self.initializer,
        )

    def call(self, inputs: Tensor, reverse: bool = False) -> Tensor:
        return self._logits(inputs) if reverse else self._vectors(inputs)

    def _vectors(self, ids: Tensor) -> Tensor:
        if keras.backend.standardize_dtype(ids.dtype) not in ("int32", "int64"):
            ids = ops.cast(ids, "int32")  # Keras builds models under a strategy with float ids
        vectors = ops.take(self.embeddings, ids, axis=0)  # [batch, length, hidden_size]
        vectors = ops.cast(vectors, self.compute_dtype)
        return vectors * ops.cast(self.hidden_size**0.5, vectors.dtype) if self.scale else vectors

    def _logits(self, hidden: Tensor) -> Tensor:
        # Computed in float32, not only cast to it: a bfloat16 logit of 40 may be off by 0.125.
        dtype = keras.backend.result_type(keras.backend.standardize_dtype(hidden.dtype), "float32")
        table = ops.cast(self.embeddings, dtype)
        rows = ops.reshape(ops.cast(hidden, dtype), (-1, self.hidden_size))  # [rows, hidden_size]
        logits = ops.matmul(rows, ops.transpose(table))  # [rows, vocab_size]
        return ops.reshape(logits, (*leading_shape(hidden), self.vocab_size))  # [..., vocab_size]

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor | None:
        if not keras.backend.is_int_dtype(inputs.dtype):  # hidden states on the way to logits
            return mask
        return ops.not_equal(inputs, 0) if self.mask_zero else None

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {
            "vocab_size": self.vocab_size,
            "hidden_size": self.hidden_size,
            "scale": self.scale,
            "initializer": keras.initializers.serialize(self.initializer),
            "mask_zero": self.mask_zero,
        }
