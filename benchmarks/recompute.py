"""How much memory a training step saves by recomputation or by parts, and what time it costs.

    python benchmarks/recompute.py --preset mini --batch-size 8

A GPT is trained on random tokens: with what its layers made kept for the gradient, with layers
that are computed twice, and in four parts of its rows, one after the other. Memory is the most that
a step takes beyond what is held between steps: weights and optimizer are not in it.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

# oneDNN's allocator keeps what is freed: its process would not show what a step needs.
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # run from a checkout

import keras
import numpy as np
import tensorflow as tf

from benchmarks import memory
from benchmarks.command import positive
from benchmarks.report import markdown
from keras_transformer.models import Gpt, GptConfig, recompute_layers
from keras_transformer.training import AccumulatedGradients, TokenCrossEntropy, adamw, set_seed


class Step(NamedTuple):
    """What the steps of a training took."""

    seconds: float
    memory: int | None  # bytes, the most of any step; None where the system does not tell
    loss: float


class Watch(keras.callbacks.Callback):
    """Time and memory of each step but the first, which builds the graph."""

    def __init__(self):
        super().__init__()
        self.seconds: list[float] = []
        self.peaks: list[int] = []

    def on_train_batch_begin(self, batch: int, logs=None) -> None:
        self._watch, self._begin = memory.Watch(), time.perf_counter()

    def on_train_batch_end(self, batch: int, logs=None) -> None:
        if batch == 0:
            return
        self.seconds.append(time.perf_counter() - self._begin)
        used = self._watch.memory()
        if used is not None:
            self.peaks.append(used.peak - used.before)


def train(options: argparse.Namespace, recompute: bool = False, parts: int = 1) -> Step:
    """A few steps of training."""
    set_seed(1)
    fields = {"hidden_dropout": 0.1, "attention_dropout": 0.1, "vocab_size": options.vocab_size}
    if options.layers is not None:
        fields["num_hidden_layers"] = options.layers
    model = Gpt(GptConfig.preset(options.preset, **fields))
    model.build()
    recompute_layers(model, recompute)
    step = AccumulatedGradients(parts) if parts > 1 else None
    model.compile(adamw(1e-4), loss=TokenCrossEntropy(), train_step=step)
    length = model.config.max_position_embeddings
    shape = [options.batch_size, length]
    ids = np.random.default_rng(1).integers(3, options.vocab_size, shape, np.int32)
    data = tf.data.Dataset.from_tensors(({"token_ids": ids}, ids)).repeat(options.steps + 1)
    watch = Watch()
    history = model.fit(data, verbose=0, shuffle=False, callbacks=[watch]).history
    peak = max(watch.peaks, default=None)
    return Step(median(watch.seconds), peak, history["loss"][-1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--preset", default="mini", help="size of the model")
    parser.add_argument("--layers", type=positive, help="that many, instead of the preset's")
    parser.add_argument("--batch-size", type=positive, default=8, help="rows of a batch")
    parser.add_argument("--vocab-size", type=positive, default=1000, help="ids")
    parser.add_argument("--steps", type=positive, default=3, help="measured, after a first one")
    options = parser.parse_args()
    found = {
        "kept": train(options),
        "computed twice": train(options, recompute=True),
        "in four parts": train(options, parts=4),
    }
    kept = found["kept"]
    rows = [
        (
            name,
            "",
            "?" if step.memory is None else f"{step.memory / 1e6:,.0f}",
            "?" if step.memory is None else f"{step.memory / kept.memory:.2f}",
            f"{step.seconds:.2f}",
            f"{step.seconds / kept.seconds:.2f}",
            f"{step.loss:.6f}",
        )
        for name, step in found.items()
    ]
    print(markdown(["layers", "", "MB of a step", "share", "seconds", "ratio", "loss"], rows))


if __name__ == "__main__":
    main()
