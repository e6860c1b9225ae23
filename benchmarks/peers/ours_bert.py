"""Our BERT classifier, as its users train and ask it."""

import dataclasses

import keras
import tensorflow as tf

from benchmarks.peers.jobs import EncoderJob
from keras_transformer.models import Bert, BertClassifier, BertConfig
from keras_transformer.training import TokenCrossEntropy


class Classifier:
    """`fit` and a `tf.function` of the model's call."""

    def __init__(self, job: EncoderJob):
        keras.utils.set_random_seed(job.seed)
        config = BertConfig(
            **dataclasses.asdict(job.sizes),
            max_position_embeddings=max(job.length, 8),
            hidden_dropout=job.dropout,
            attention_dropout=job.dropout,
        )
        self._model = BertClassifier(Bert(config), num_labels=2)
        self._model.build()
        self._model.compile(
            optimizer=keras.optimizers.AdamW(job.learning_rate), loss=TokenCrossEntropy(pad_id=-1)
        )
        ids, labels = job.batches()
        features = {"token_ids": ids}
        self._dataset = tf.data.Dataset.from_tensor_slices((features, labels)).repeat()
        self._ids = tf.constant(ids[0])
        spec = tf.TensorSpec([None, None], tf.int32)
        self._answer = tf.function(
            lambda ids: self._model({"token_ids": ids}, training=False), input_signature=[spec]
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
            logits = self._answer(self._ids).numpy()
        return float(logits.sum())
