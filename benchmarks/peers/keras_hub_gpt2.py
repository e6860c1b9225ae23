"""KerasHub's GPT2Backbone with its token embedding as the output, as in its GPT2CausalLM."""

import keras
import keras_hub
import numpy as np

from benchmarks.peers.gpt_jobs import GptTrainingJob
from benchmarks.peers.keras_fit import KerasLanguageModel


class Training(KerasLanguageModel):
    """`fit` with the loss that GPT2CausalLM has by default, without its metric."""

    def __init__(self, job: GptTrainingJob):
        keras.utils.set_random_seed(job.seed)
        sizes = job.sizes
        backbone = keras_hub.models.GPT2Backbone(
            vocabulary_size=sizes.vocab_size,
            num_layers=sizes.num_hidden_layers,
            num_heads=sizes.num_attention_heads,
            hidden_dim=sizes.hidden_size,
            intermediate_dim=sizes.intermediate_size,
            dropout=job.dropout,
            max_sequence_length=job.length,
        )
        # [batch, length, vocab]
        logits = backbone.token_embedding(backbone.output, reverse=True)
        super().__init__(
            keras.Model(backbone.input, logits),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            job,
            other_features=lambda ids: {"padding_mask": np.ones_like(ids)},
        )
