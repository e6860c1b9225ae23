"""An update from a batch that is too large for the memory: computed in parts."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import keras
import tensorflow as tf
from keras import tree

from keras_transformer.checks import check_at_least
from keras_transformer.training.losses import TokenCrossEntropy


class AccumulatedGradients:
    """A train step that takes a batch in parts, one after the other, and adds up their gradients.

    The update is that of the whole batch, to rounding (without dropout): with `TokenCrossEntropy`
    each real token weighs the same, whatever part it is in. The memory for activations is that of
    one part. Give a data set whose batches are `parts` times as large as the memory allows, and
    compile a model of this package with it; other models call it in their `train_step`::

        class MyModel(keras.Model):
            def train_step(self, batch):
                return AccumulatedGradients(4)(self, batch)

    Keras' own `gradient_accumulation_steps` gives every batch the same weight, and fails under
    `tf.distribute` strategies; this one needs nothing of them but the gradients of a whole batch.
    Under a strategy each replica takes its own rows in parts.

    Args:
        parts: into how many parts the rows of a batch are divided, as evenly as they can be.

    Raises:
        ValueError: for fewer than one part; in training, for losses of Keras that do not average
            over rows, and for one `TokenCrossEntropy` object that stands for several outputs.

    >>> from keras_transformer.models import Gpt, GptConfig
    >>> from keras_transformer.training import TokenCrossEntropy
    >>> model = Gpt(GptConfig.preset("nano", vocab_size=50))
    >>> step = AccumulatedGradients(parts=4)
    >>> model.compile("sgd", TokenCrossEntropy(), train_step=step)
    """

    def __init__(self, parts: int):
        check_at_least(1, parts=parts)
        self.parts = parts

    def __call__(self, model: keras.Model, batch: Any) -> dict[str, Any]:
        """Updates the model; gives the numbers of its log."""
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(batch)
        rows = tf.shape(tree.flatten(x)[0])[0]
        variables = model.trainable_variables
        gradients: list[tf.Tensor | None] = [None] * len(variables)
        loss = None
        _check(model.loss)
        counts = [
            (token_loss, token_loss.count(labels))
            for token_loss, labels in _token_losses(model.loss, y)
        ]
        for part in range(self.parts):
            first, end = part * rows // self.parts, (part + 1) * rows // self.parts
            share = tf.cast(end - first, tf.float64) / tf.cast(tf.maximum(rows, 1), tf.float64)
            before = [g for g in gradients if g is not None]
            x_, y_, weight_ = _rows((x, y, sample_weight), first, end, before)
            with ExitStack() as whole_batch, tf.GradientTape() as tape:
                for token_loss, count in counts:
                    whole_batch.enter_context(token_loss.divided_by(count * share))
                y_pred = model(x_, training=True)
                part_loss = model.compute_loss(x_, y_, y_pred, weight_, training=True)
                # A part without rows has no mean: it counts nothing, whatever its loss is.
                part_loss = tf.math.multiply_no_nan(part_loss, tf.cast(share, part_loss.dtype))
                scaled = model.optimizer.scale_loss(part_loss)
            new = tape.gradient(scaled, variables)
            gradients = [_add(g, n) for g, n in zip(gradients, new, strict=True)]
            loss = _add(loss, part_loss)
            logs = model.compute_metrics(x_, y_, y_pred, weight_)
        model.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return logs | self._track(model, loss, rows)

    def _track(self, model: keras.Model, loss: tf.Tensor, rows: tf.Tensor) -> dict[str, tf.Tensor]:
        """Keras' mean loss of the epoch, as its own train step has it."""
        tracker = next(metric for metric in model.metrics if metric.name == "loss")
        replicas = tf.distribute.get_strategy().num_replicas_in_sync
        tracker.update_state(loss * replicas, sample_weight=rows)
        return {"loss": tracker.result()}


def _check(loss: Any) -> None:
    """Refuses losses of which parts do not add up to that of the batch."""
    losses = tree.flatten(loss)
    for one in losses:
        if isinstance(one, TokenCrossEntropy):
            if sum(other is one for other in losses) > 1:
                raise ValueError(
                    "AccumulatedGradients counts the tokens of each output: give each a "
                    "TokenCrossEntropy of its own, not one object for several."
                )
        elif getattr(one, "reduction", "mean") in ("sum", "none", None):
            raise ValueError(
                f"AccumulatedGradients weighs parts by their rows, so losses must average over "
                f"rows (reduction='sum_over_batch_size'); {one.name} has {one.reduction!r}."
            )


def _token_losses(loss: Any, y: Any) -> Iterator[tuple[TokenCrossEntropy, Any]]:
    """The losses of ours in what was compiled, each with its labels."""
    if isinstance(loss, TokenCrossEntropy):
        if tree.is_nested(y):
            raise ValueError(
                "AccumulatedGradients takes one loss for each output: compile with a dictionary of "
                "losses by the names of the outputs."
            )
        yield loss, y
    elif isinstance(loss, dict):
        for name, part in loss.items():
            yield from _token_losses(part, y[name])
    elif isinstance(loss, list | tuple):
        for part, labels in zip(loss, y, strict=True):
            yield from _token_losses(part, labels)


def _rows(batch: Any, first: tf.Tensor, end: tf.Tensor, after: list[tf.Tensor]) -> Any:
    """Rows of each tensor. They wait for `after`: all parts at once would take their memory."""
    with tf.control_dependencies(after):
        return tree.map_structure(
            lambda value: None if value is None else tf.identity(value[first:end]), batch
        )


def _add(one: tf.Tensor | None, other: Any) -> tf.Tensor | None:
    """The sum of two tensors, where there are any: whole ones even for rows of a table."""
    if other is None:
        return one
    other = tf.convert_to_tensor(other)
    return other if one is None else one + other
