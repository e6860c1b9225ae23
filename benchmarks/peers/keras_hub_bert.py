"""KerasHub's BertBackbone with a classifier on its pooled output."""

import keras
import keras_hub
import numpy as np
import tensorflow as tf

from benchmarks.peers.jobs import PAD, EncoderJob


class Classifier:
    """`fit` and a `tf.function` of the model's call."""

    def __init__(self, job: EncoderJob):
        keras.utils.set_random_seed(job.seed)
        sizes = job.sizes
        backbone = keras_hub.models.BertBackbone(
            vocabulary_size=sizes.vocab_size,
            num_layers=sizes.num_hidden_layers,
            num_heads=sizes.num_attention_heads,
            hidden_dim=sizes.hidden_size,
            intermediate_dim=sizes.intermediate_size,
            dropout=job.dropout,
            max_sequence_length=max(job.length, 8),
        )
        pooled = backbone.output["pooled_output"]  # [batch, hidden]
        logits = keras.layers.Dense(2)(keras.layers.Dropout(job.dropout)(pooled))
        self._model = keras.Model(backbone.input, logits)
        self._model.compile(
            optimizer=keras.optimizers.AdamW(job.learning_rate),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        )
        ids, labels = job.batches()
        features = {
            "token_ids": ids,
            "segment_ids": np.zeros_like(ids),
            "padding_mask": (ids != PAD).astype("int32"),
        }
        self._dataset = tf.data.Dataset.from_tensor_slices((features, labels)).repeat()
        self._features = {name: tf.constant(array[0]) for name, array in features.items()}
        self._answer = tf.function(lambda features: self._model(features, training=False))
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
