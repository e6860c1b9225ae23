"""Training steps of a Keras model, the way Keras' own `fit` does them by default."""

from collections.abc import Callable

import keras
import tensorflow as tf

from benchmarks.peers.jobs import TrainingJob


class KerasFit:
    """`compile` and `fit` with defaults, whoever made the model; AdamW as for the others."""

    def __init__(self, model: keras.Model, loss: keras.losses.Loss | Callable, job: TrainingJob):
        source, target, labels = job.batches()
        features = {"source": source, "target": target}
        # a batch an element, shapes known, no copy and no shuffling inside the timed part
        self._dataset = tf.data.Dataset.from_tensor_slices((features, labels)).repeat()
        self._model = model
        self._model.compile(optimizer=keras.optimizers.AdamW(job.learning_rate), loss=loss)
        self._model({name: array[0, :1] for name, array in features.items()})
        self.parameters = model.count_params()

    def run(self, steps: int) -> float:
        """Does `steps` training steps; returns the mean loss over them."""
        history = self._model.fit(self._dataset, steps_per_epoch=steps, shuffle=False, verbose=0)
        return float(history.history["loss"][-1])
