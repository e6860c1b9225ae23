"""Models train under a strategy, and as on one device."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import numpy as np, tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
import keras
from keras_transformer.models import (
    Bert, BertClassifier, BertConfig, Transformer, TransformerConfig
)
from keras_transformer.training import TokenCrossEntropy

random = np.random.default_rng(0)
ids = {name: random.integers(3, 20, (12, 5)).astype("int32") for name in ("source", "target")}
ids["target"][:6, 2:] = 0
tokens = np.where(ids["target"] == 0, 0, random.integers(3, 20, (12, 5))).astype("int32")
sizes = dict(vocab_size=20, hidden_size=8, intermediate_size=16, num_attention_heads=2,
             hidden_dropout=0.0)

def transformer():
    config = TransformerConfig(**sizes, encoder_layers=1, decoder_layers=1)
    return Transformer(config), ids, tokens, 0

def classifier():
    config = BertConfig(**sizes, num_hidden_layers=1, attention_dropout=0.0)
    labels = random.integers(0, 3, 12).astype("int32")
    return BertClassifier(Bert(config), num_labels=3), {"token_ids": ids["target"]}, labels, -1

strategies = tf.distribute.get_strategy(), tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
for make in (transformer, classifier):
    weights = []
    for strategy in strategies:
        with strategy.scope():
            keras.utils.set_random_seed(1)
            random = np.random.default_rng(1)
            model, inputs, labels, pad_id = make()
            # All else of compile as it comes.
            model.compile("sgd", loss=TokenCrossEntropy(label_smoothing=0.1, pad_id=pad_id))
        model.fit(inputs, labels, batch_size=4, shuffle=False, epochs=2, verbose=0)
        weights.append(model.get_weights())
    for one, two in zip(*weights):
        np.testing.assert_allclose(two, one, atol=1e-6)
print("EQUAL")
"""


WORKERS = """
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
from keras_transformer.models import Transformer, TransformerConfig

with strategy.scope():
    model = Transformer(TransformerConfig.preset("tiny", vocab_size=20))
    try:
        model.compile("sgd", loss="mse")
    except ValueError as error:
        print("REFUSED:", error)
"""


def output_of(script):
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_two_replicas_end_with_the_weights_of_one_under_the_defaults_of_compile():
    assert "EQUAL" in output_of(SCRIPT)


def test_several_workers_are_refused_in_one_sentence():
    refused = "REFUSED: transformer cannot be trained under MultiWorkerMirroredStrategy, with which"
    assert refused in output_of(WORKERS)
