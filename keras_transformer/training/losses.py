"""Cross-entropy over real tokens: the training objective of the 2017 Transformer."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

import keras
import tensorflow as tf

# What losses are divided by, if not by their tokens. Each replica has a thread, and so a context.
_DIVISORS: ContextVar[Mapping[int, tf.Tensor]] = ContextVar(
    "divisors", default=MappingProxyType({})
)


@keras.saving.register_keras_serializable(package="keras_transformer")
class TokenCrossEntropy(keras.losses.Loss):
    """Cross-entropy of the next token, averaged over the real tokens of the global batch.

    The targets are smoothed as in "Rethinking the Inception Architecture" (Szegedy et al. 2016,
    section 7) and "Attention Is All You Need" (Vaswani et al. 2017, section 5.4): the true token
    gets `1 - label_smoothing` and all `vocabulary` tokens share `label_smoothing` evenly. No
    array of one-hot labels is ever made.

    The value is `sum over real tokens / number of real tokens`. Under a `tf.distribute` strategy
    the number is that of all replicas together, and the replicas' losses add up to the whole:
    one device, two replicas or two workers give the same loss and gradients, in plain
    `compile(loss=TokenCrossEntropy())` and `fit`. (The `loss` that Keras prints for an epoch weighs
    batches by their rows; `TokenLoss` weighs them by their tokens.)

    Call it with
        y_true: int `[batch, tokens]` (any rank; the shape of the logits without the last axis).
        y_pred: float logits `[batch, tokens, vocabulary]`. Half precision is computed in float32,
            float64 stays float64.
        sample_weight: float `[batch]` or `[batch, tokens]`, optional. Multiplies each token's loss;
            the divisor remains the number of real tokens. Padding needs no weights.
    and get a scalar, float32 or float64. A batch of padding only gives 0.

    Args:
        label_smoothing: share of the target spread evenly over the vocabulary, in [0, 1).
        pad_id: the label of padding: positions with it have no loss and no gradient.
        name: name of the loss.

    Raises:
        ValueError: for a smoothing outside [0, 1), or labels that do not fit the logits.

    >>> loss = TokenCrossEntropy(label_smoothing=0.1)
    >>> round(float(loss([[1, 2, 0]], tf.zeros([1, 3, 4]))), 4)  # log 4, whatever the padding
    1.3863
    """

    def __init__(
        self, label_smoothing: float = 0.0, pad_id: int = 0, name: str = "token_cross_entropy"
    ):
        if not 0.0 <= label_smoothing < 1.0:
            raise ValueError(f"label_smoothing must be in [0, 1), got {label_smoothing}.")
        # "sum", because `call` has already divided: the replicas' shares add up.
        super().__init__(name=name, reduction="sum")
        self.label_smoothing = float(label_smoothing)
        self.pad_id = int(pad_id)

    def __call__(self, y_true, y_pred, sample_weight=None) -> tf.Tensor:
        # Not the method of `keras.losses.Loss`: that one casts the labels to float and float64
        # logits to float32, and takes Keras' hidden mask into account. Here only labels decide.
        with tf.name_scope(self.name):
            losses = self.call(y_true, y_pred)
            if sample_weight is not None:
                losses *= _align(tf.cast(sample_weight, losses.dtype), losses.shape)
            return tf.reduce_sum(losses)

    def call(self, y_true, y_pred) -> tf.Tensor:
        """Each token's share of the loss, `[batch, tokens]`, float32 (or float64)."""
        labels, logits = tf.convert_to_tensor(y_true), tf.convert_to_tensor(y_pred)
        _check(labels, logits)
        labels = tf.cast(labels, tf.int32)
        real = labels != self.pad_id
        losses = token_losses(labels, logits, self.label_smoothing, real)
        given = _DIVISORS.get().get(id(self))
        count = self.count(labels) if given is None else given
        return losses / tf.cast(tf.where(count > 0, count, 1), losses.dtype)

    def count(self, y_true) -> tf.Tensor:
        """Real tokens of the global batch, float64."""
        real = tf.cast(y_true, tf.int32) != self.pad_id
        return global_sum(tf.cast(real, tf.float64))

    @contextmanager
    def divided_by(self, count: tf.Tensor) -> Iterator[None]:
        """While the block runs, the loss is divided by `count` instead of the number of tokens.

        For batches that are computed in parts: each is divided by what the whole would be.
        """
        token = _DIVISORS.set({**_DIVISORS.get(), id(self): count})
        try:
            yield
        finally:
            _DIVISORS.reset(token)

    def get_config(self) -> dict:
        """The constructor's arguments."""
        return {
            "label_smoothing": self.label_smoothing,
            "pad_id": self.pad_id,
            "name": self.name,
        }


def token_losses(
    labels: tf.Tensor, logits: tf.Tensor, label_smoothing: float, real: tf.Tensor
) -> tf.Tensor:
    """Smoothed cross-entropy of each token, 0 (and no gradient) where `real` is False.

    Args:
        labels: int32 `[..., tokens]`.
        logits: float `[..., tokens, vocabulary]`.
        label_smoothing: share of the target spread over the vocabulary.
        real: bool `[..., tokens]`.

    Returns:
        float32 (float64 for float64 logits) `[..., tokens]`.
    """
    shape = tf.shape(labels)
    # Unknown where the classes are the positions of a text: where a span begins, say.
    vocabulary = tf.shape(logits)[-1] if logits.shape[-1] is None else logits.shape[-1]
    labels = tf.reshape(tf.where(real, labels, 0), [-1])  # [tokens]
    logits = tf.reshape(logits, [-1, vocabulary])  # [tokens, vocabulary]
    losses = tf.reshape(_cross_entropy(labels, logits, label_smoothing), shape)
    return tf.where(real, losses, 0)


def global_sum(values: tf.Tensor) -> tf.Tensor:
    """The sum of `values` over all replicas (a constant for the gradient); plain sum outside."""
    total = tf.stop_gradient(tf.reduce_sum(values))
    if tf.distribute.get_strategy().num_replicas_in_sync == 1:
        return total
    replica = tf.distribute.get_replica_context()
    return total if replica is None else replica.all_reduce(tf.distribute.ReduceOp.SUM, total)


def _cross_entropy(labels: tf.Tensor, logits: tf.Tensor, smoothing: float) -> tf.Tensor:
    """Cross-entropy `[tokens]` of `labels` `[tokens]` under `logits` `[tokens, vocabulary]`.

    The time goes into moving `[tokens, vocabulary]` through memory, so there is one softmax and
    nothing else of that size: it is the forward's only temporary and becomes the gradient.
    (On CPU half the time of `tf.nn.sparse_softmax_cross_entropy_with_logits`.)
    """

    @tf.custom_gradient
    def loss_of(logits):
        dtype = tf.float64 if logits.dtype == tf.float64 else tf.float32
        scores = tf.cast(logits, dtype)
        probabilities = tf.nn.softmax(scores)  # [tokens, vocabulary]
        # log(sum(exp(scores))) = score - log(probability) of any token; the likeliest never
        # underflows.
        log_sum = tf.reduce_max(scores, -1) - tf.math.log(tf.reduce_max(probabilities, -1))
        losses = log_sum - (1 - smoothing) * tf.gather(scores, labels, batch_dims=1)
        if smoothing:
            losses -= smoothing * tf.reduce_mean(scores, -1)

        def gradient(upstream):
            upstream = tf.cast(upstream, dtype)
            vocabulary = tf.cast(tf.shape(scores)[-1], dtype)
            spread = probabilities - smoothing / vocabulary if smoothing else probabilities
            where = tf.stack([tf.range(tf.size(labels)), labels], -1)  # [tokens, 2]
            return tf.cast(
                tf.tensor_scatter_nd_sub(
                    spread * upstream[:, tf.newaxis], where, (1 - smoothing) * upstream
                ),
                logits.dtype,
            )

        return losses, gradient

    return loss_of(logits)


def _align(weights: tf.Tensor, shape: tf.TensorShape) -> tf.Tensor:
    """Give weights of `[batch]` the rank of the losses: a row's weight is that of its tokens."""
    while weights.shape.rank < shape.rank:
        weights = weights[..., tf.newaxis]
    return weights


def _check(labels: tf.Tensor, logits: tf.Tensor) -> None:
    """Refuse labels and logits that do not belong together."""
    if not logits.dtype.is_floating or logits.shape.rank in (None, 0):
        raise ValueError(
            "TokenCrossEntropy needs float logits [batch, tokens, vocabulary], got "
            f"{logits.dtype.name} {logits.shape}."
        )
    if not labels.shape.is_compatible_with(logits.shape[:-1]):
        raise ValueError(
            f"TokenCrossEntropy needs labels [batch, tokens] beside logits [batch, tokens, "
            f"vocabulary], got labels {labels.shape} and logits {logits.shape}."
        )
