"""KerasHub's BertBackbone with a classifier on its pooled output."""

import keras
import keras_hub
import numpy as np

from benchmarks.peers.jobs import PAD, EncoderJob
from benchmarks.peers.keras_fit import KerasClassifier


class Classifier(KerasClassifier):
    """The model of a job."""

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
        super().__init__(
            keras.Model(backbone.input, logits),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            job,
            lambda ids: {
                "token_ids": ids,
                "segment_ids": np.zeros_like(ids),
                "padding_mask": (ids != PAD).astype("int32"),
            },
        )
