"""Work of Keras models: training steps as `fit` does them by default, answers in a graph."""

from collections.abc import Callable, Mapping, Sequence

import keras
import numpy as np
import tensorflow as tf

from benchmarks.peers.gpt_jobs import GptTrainingJob
from benchmarks.peers.jobs import EncoderJob, TrainingJob


def repeated(features: Mapping[str, np.ndarray], labels: np.ndarray) -> tf.data.Dataset:
    """A batch an element, shapes known, without copies and shuffling in the timed part."""
    dataset = tf.data.Dataset.from_tensor_slices((features, labels)).repeat()
    # With few inter-op threads the end of `fit` may wait for the next turn of tf.data's tuning
    # thread, up to as long as `fit` took.
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)


class KerasSteps:
    """`compile` and `fit` with defaults, whoever made the model."""

    def __init__(
        self,
        model: keras.Model,
        loss: keras.losses.Loss | Callable,
        features: Mapping[str, np.ndarray],
        labels: np.ndarray,
        optimizer: keras.optimizers.Optimizer,
    ):
        self._dataset = repeated(features, labels)
        self._model = model
        self._model.compile(optimizer, loss=loss)
        self._model({name: array[0, :1] for name, array in features.items()})
        self.parameters = model.count_params()

    def run(self, steps: int, callbacks: Sequence[keras.callbacks.Callback] = ()) -> float:
        """Does `steps` training steps; returns the mean loss over them."""
        history = self._model.fit(
            self._dataset,
            steps_per_epoch=steps,
            shuffle=False,
            verbose=0,
            callbacks=list(callbacks),
        )
        return float(history.history["loss"][-1])


class KerasFit(KerasSteps):
    """Training steps of a translation model, by default with Keras' AdamW."""

    def __init__(
        self,
        model: keras.Model,
        loss: keras.losses.Loss | Callable,
        job: TrainingJob,
        optimizer: keras.optimizers.Optimizer | None = None,
    ):
        source, target, labels = job.batches()
        optimizer = optimizer or keras.optimizers.AdamW(job.learning_rate)
        super().__init__(model, loss, {"source": source, "target": target}, labels, optimizer)


class KerasLanguageModel(KerasSteps):
    """Training steps of a language model, by default with Keras' AdamW.

    Args:
        model: takes `{"token_ids": ids}` with what `other_features` makes of the ids.
        loss: of the ids after them and logits.
        job: what is measured.
        optimizer: Keras' AdamW by default.
        other_features: from ids `[batches, batch, length]` to features with the same axes.
    """

    def __init__(
        self,
        model: keras.Model,
        loss: keras.losses.Loss,
        job: GptTrainingJob,
        optimizer: keras.optimizers.Optimizer | None = None,
        other_features: Callable[[np.ndarray], Mapping[str, np.ndarray]] = lambda ids: {},
    ):
        ids, labels = job.batches()
        features = {"token_ids": ids, **other_features(ids)}
        optimizer = optimizer or keras.optimizers.AdamW(job.learning_rate)
        super().__init__(model, loss, features, labels, optimizer)


class KerasClassifier:
    """`fit` with defaults, and a `tf.function` of the model's call, whoever made the model.

    Args:
        model: takes a dictionary of features and gives logits.
        loss: of labels and logits.
        job: what is measured.
        features_of: from ids `[batches, batch, length]` to the features, each with the same axes.
        signature: of the features; the shapes that the job has by default.
        optimizer: Keras' AdamW by default.
    """

    def __init__(
        self,
        model: keras.Model,
        loss: keras.losses.Loss,
        job: EncoderJob,
        features_of: Callable[[np.ndarray], Mapping[str, np.ndarray]],
        signature: Mapping[str, tf.TensorSpec] | None = None,
        optimizer: keras.optimizers.Optimizer | None = None,
    ):
        self._model = model
        self._model.compile(optimizer or keras.optimizers.AdamW(job.learning_rate), loss=loss)
        ids, labels = job.batches()
        features = features_of(ids)
        self._dataset = repeated(features, labels)
        self._features = {name: tf.constant(array[0]) for name, array in features.items()}
        self._answer = tf.function(
            lambda features: self._model(features, training=False),
            input_signature=None if signature is None else [signature],
        )
        self.parameters = self._model.count_params()

    def run(self, steps: int, training: bool) -> float:
        """Does `steps` training steps, or answers as many batches; a number that must be finite."""
        if training:
            history = self._model.fit(
                self._dataset, steps_per_epoch=steps, shuffle=False, verbose=0
            )
            return float(history.history["loss"][-1])
        for _ in range(steps):
            logits = self._answer(self._features).numpy()
        return float(logits.sum())
