"""Metrics that weigh every real token alike: over batches, lengths and replicas."""

import keras
import tensorflow as tf

from keras_transformer.training.losses import token_losses


class TokenMean(keras.metrics.Metric):
    """Mean of a value over all real tokens seen since the last reset.

    Sums and counts are kept apart and divided once, in `result`: a batch of 100 tokens weighs ten
    times one of 10. Under a strategy both sums add up over the replicas.

    `y_true` is int `[batch, tokens]`, `y_pred` float `[batch, tokens, vocabulary]`. An optional
    `sample_weight` (`[batch]` or `[batch, tokens]`) weighs the tokens.
    """

    def __init__(self, pad_id: int = 0, name: str | None = None, **kwargs):
        super().__init__(name=name, **kwargs)
        self.pad_id = int(pad_id)
        # A float32 sum stops growing after about 2**24 small numbers: one long evaluation.
        self.total = self.add_variable((), "zeros", dtype="float64", aggregation="sum", name="sum")
        self.count = self.add_variable(
            (), "zeros", dtype="float64", aggregation="sum", name="count"
        )

    def update_state(self, y_true, y_pred, sample_weight=None) -> None:
        """Add one batch."""
        labels = tf.cast(y_true, tf.int32)
        real = labels != self.pad_id  # [batch, tokens]
        values = tf.cast(self.values(labels, tf.convert_to_tensor(y_pred), real), tf.float64)
        weights = tf.cast(real, tf.float64)
        if sample_weight is not None:
            sample_weight = tf.cast(sample_weight, tf.float64)
            while sample_weight.shape.rank < weights.shape.rank:
                sample_weight = sample_weight[..., tf.newaxis]
            weights *= sample_weight
        self.total.assign_add(tf.reduce_sum(values * weights))
        self.count.assign_add(tf.reduce_sum(weights))

    def values(self, labels: tf.Tensor, logits: tf.Tensor, real: tf.Tensor) -> tf.Tensor:
        """The value of each token, `[batch, tokens]`."""
        raise NotImplementedError

    def result(self) -> tf.Tensor:
        """The mean over the real tokens, float32; 0 before the first."""
        mean = tf.math.divide_no_nan(tf.convert_to_tensor(self.total), self.count)
        return tf.cast(mean, tf.float32)

    def get_config(self) -> dict:
        """The constructor's arguments."""
        return {**super().get_config(), "pad_id": self.pad_id}


@keras.saving.register_keras_serializable(package="keras_transformer")
class TokenLoss(TokenMean):
    """Cross-entropy per real token in nats, label smoothing included if asked for.

    Args:
        label_smoothing: that of the loss, to report the same number; 0 for the plain likelihood.
        pad_id: the label of padding.
        name: name of the metric.

    >>> metric = TokenLoss()
    >>> metric.update_state([[1, 2, 0]], tf.zeros([1, 3, 4]))
    >>> round(float(metric.result()), 4)
    1.3863
    """

    def __init__(
        self, label_smoothing: float = 0.0, pad_id: int = 0, name: str = "token_loss", **kwargs
    ):
        super().__init__(pad_id=pad_id, name=name, **kwargs)
        self.label_smoothing = float(label_smoothing)

    def values(self, labels, logits, real):
        """Each token's cross-entropy."""
        return token_losses(labels, logits, self.label_smoothing, real)

    def get_config(self) -> dict:
        """The constructor's arguments."""
        return {**super().get_config(), "label_smoothing": self.label_smoothing}


@keras.saving.register_keras_serializable(package="keras_transformer")
class Perplexity(TokenMean):
    """exp of the mean cross-entropy per real token, without label smoothing.

    Args:
        pad_id: the label of padding.
        name: name of the metric.

    >>> metric = Perplexity()
    >>> metric.update_state([[1, 2, 0]], tf.zeros([1, 3, 4]))
    >>> round(float(metric.result()), 4)
    4.0
    """

    def __init__(self, pad_id: int = 0, name: str = "perplexity", **kwargs):
        super().__init__(pad_id=pad_id, name=name, **kwargs)

    def values(self, labels, logits, real):
        """Each token's cross-entropy."""
        return token_losses(labels, logits, 0.0, real)

    def result(self) -> tf.Tensor:
        """exp of the mean."""
        return tf.exp(super().result())


@keras.saving.register_keras_serializable(package="keras_transformer")
class TokenAccuracy(TokenMean):
    """Share of real tokens whose most likely token is the right one.

    Args:
        pad_id: the label of padding.
        name: name of the metric.

    >>> metric = TokenAccuracy()
    >>> metric.update_state([[1, 2, 0]], [[[0.0, 9, 0], [0, 9, 0], [9, 0, 0]]])
    >>> float(metric.result())
    0.5
    """

    def __init__(self, pad_id: int = 0, name: str = "token_accuracy", **kwargs):
        super().__init__(pad_id=pad_id, name=name, **kwargs)

    def values(self, labels, logits, real):
        """1 where the most likely token is the label, else 0."""
        return labels == tf.argmax(logits, -1, output_type=tf.int32)
