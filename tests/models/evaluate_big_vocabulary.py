"""Evaluates a model with a big vocabulary and reports how much memory that took.

A script for a fresh process: what it holds before is little.
"""

import json

import numpy as np

from benchmarks.memory import Watch
from keras_transformer.models import Transformer, TransformerConfig
from keras_transformer.training import TokenAccuracy, TokenCrossEntropy

SENTENCES, LENGTH, VOCABULARY = 2000, 64, 32_000


model = Transformer(
    TransformerConfig(
        vocab_size=VOCABULARY,
        hidden_size=8,
        intermediate_size=8,
        num_attention_heads=1,
        encoder_layers=1,
        decoder_layers=1,
    )
)
model.compile(loss=TokenCrossEntropy(label_smoothing=0.1), metrics=[TokenAccuracy()])
ids = np.random.default_rng(0).integers(3, VOCABULARY, (SENTENCES, LENGTH)).astype("int32")
watch = Watch()
scores = model.evaluate({"source": ids, "target": ids}, ids, verbose=0, return_dict=True)
logits = SENTENCES * LENGTH * VOCABULARY * 4
growth = watch.memory().peak - watch.memory().before
print(json.dumps({"growth": growth, "all_logits": logits, "scores": scores}))
