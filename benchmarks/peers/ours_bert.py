"""Our BERT classifier, as its users train and ask it."""

import dataclasses

import keras
import tensorflow as tf

from benchmarks.peers.jobs import EncoderJob
from benchmarks.peers.keras_fit import KerasClassifier
from keras_transformer.models import Bert, BertClassifier, BertConfig
from keras_transformer.training import TokenCrossEntropy, TransformerAdamW


class Classifier(KerasClassifier):
    """The model of a job, for texts of any length."""

    def __init__(self, job: EncoderJob):
        keras.utils.set_random_seed(job.seed)
        config = BertConfig(
            **dataclasses.asdict(job.sizes),
            max_position_embeddings=max(job.length, 8),
            hidden_dropout=job.dropout,
            attention_dropout=job.dropout,
        )
        model = BertClassifier(Bert(config), num_labels=2)
        model.build()
        super().__init__(
            model,
            TokenCrossEntropy(pad_id=-1),
            job,
            lambda ids: {"token_ids": ids},
            {"token_ids": tf.TensorSpec([None, None], tf.int32)},
            TransformerAdamW(job.learning_rate),
        )
