"""A model with dropout and a data set with a clock: all that a resumed run depends on."""

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.training import TokenCrossEntropy, TokenLoss, adamw, set_seed
from keras_transformer.training.schedules import InverseSquareRootSchedule

VOCABULARY = 20


def tiny_model(optimizer=None, dropout: float = 0.3, metrics: bool = True) -> keras.Model:
    """Ids `[batch, tokens]` to logits `[batch, tokens, 20]`, compiled; always the same weights."""
    set_seed(7)
    ids = keras.Input([None], dtype="int32")
    x = keras.layers.Embedding(VOCABULARY, 8)(ids)
    x = keras.layers.Dropout(dropout)(x)
    x = keras.layers.LayerNormalization()(x)
    model = keras.Model(ids, keras.layers.Dense(VOCABULARY)(x))
    if optimizer is None:
        optimizer = adamw(InverseSquareRootSchedule(1e-2, 5), ema=0.9)
    model.compile(
        optimizer,
        loss=TokenCrossEntropy(0.1),
        metrics=[TokenLoss()] if metrics else None,
        jit_compile=False,
    )
    return model


def tiny_ids(rows: int, tokens: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and labels `[rows, tokens]`; about a quarter of the labels is padding."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(1, VOCABULARY, [2, rows, tokens])
    lengths = rng.integers(1, tokens + 1, [rows, 1])
    return ids[0], np.where(np.arange(tokens) < lengths, ids[1], 0)


class ClockedData:
    """4 batches an epoch, in an order that follows from the epoch: data set and clock in one."""

    batches_per_epoch = 4

    def __init__(self):
        self.epoch = 0
        self.skip_batches = 0
        self.x, self.y = tiny_ids(20)
        self.dataset = (
            tf.data.Dataset.from_generator(
                self._batches, output_signature=(tf.TensorSpec([None, 5], tf.int32),) * 2
            )
            .apply(tf.data.experimental.assert_cardinality(self.batches_per_epoch))
            .prefetch(2)
        )

    def _batches(self):
        epoch, skip = self.epoch, self.skip_batches
        order = np.random.default_rng(epoch).permutation(len(self.x))
        for batch in np.array_split(order, self.batches_per_epoch)[skip:]:
            yield self.x[batch], self.y[batch]


def weights(model: keras.Model) -> list[np.ndarray]:
    """Everything that a further step depends on."""
    return [keras.ops.convert_to_numpy(v) for v in [*model.variables, *model.optimizer.variables]]


def assert_same_bits(model: keras.Model, expected: list[np.ndarray]) -> None:
    for variable, value, right in zip(
        [*model.variables, *model.optimizer.variables], weights(model), expected, strict=True
    ):
        np.testing.assert_array_equal(value, right, err_msg=variable.path)
