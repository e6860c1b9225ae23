r"""Does a training in half precision learn as one in single precision?

    python benchmarks/precision.py --source train.en.gz --target train.de.gz \
        --valid-source val.en.gz --valid-target val.de.gz

Trains the same translator, from the same weights on the same batches, in each precision, and prints
its mean loss over the last updates and over the validation texts, beside those in float32.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # run from a checkout

import keras
import numpy as np

from benchmarks.command import positive
from benchmarks.report import markdown
from keras_transformer.data import TextPairs, TranslationBatches, load_pairs
from keras_transformer.models import Transformer, TransformerConfig
from keras_transformer.text import SentencePieceTokenizer, Tokenizer
from keras_transformer.training import (
    InverseSquareRootSchedule,
    StepLimit,
    TokenCrossEntropy,
    TokenLoss,
    adamw,
    set_seed,
)

PRECISIONS = ("float32", "mixed_bfloat16", "mixed_float16")
LAST = 50  # updates whose mean loss counts


class Result(NamedTuple):
    """What came of a training."""

    training_loss: float
    validation_loss: float
    updates: int
    seconds: float


class Losses(keras.callbacks.Callback):
    """The loss of each batch, out of the means over an epoch that `fit` tells."""

    def __init__(self):
        super().__init__()
        self.losses: list[float] = []

    def on_epoch_begin(self, epoch: int, logs=None) -> None:
        self._total, self._tokens = 0.0, 0.0

    def on_train_batch_end(self, batch: int, logs=None) -> None:
        metric = next(m for m in self.model.metrics[1].metrics if isinstance(m, TokenLoss))
        total, tokens = float(metric.total.value), float(metric.count.value)
        self.losses.append((total - self._total) / (tokens - self._tokens))
        self._total, self._tokens = total, tokens


def train(
    precision: str,
    options: argparse.Namespace,
    train: TextPairs,
    valid: TextPairs,
    pieces: Tokenizer,
) -> Result:
    """A training in one precision."""
    set_seed(options.seed)
    lengths = {"max_source_length": 128, "max_target_length": 128, "length_multiple": 8}
    sizes = {"batch_tokens": options.batch_tokens} | lengths
    batches = TranslationBatches(train, pieces, pieces, **sizes, seed=options.seed)
    held_out = TranslationBatches(
        valid, pieces, pieces, **sizes, overlong="truncate", training=False
    )
    config = TransformerConfig.preset(options.preset, vocab_size=pieces.vocab_size)
    model = Transformer(config, dtype=precision)
    model.build()
    model.compile(
        adamw(InverseSquareRootSchedule(options.learning_rate, 100), weight_decay=1e-4),
        loss=TokenCrossEntropy(label_smoothing=0.1),
        metrics=[TokenLoss()],
        weighted_metrics=[],
    )
    losses, begin = Losses(), time.monotonic()
    callbacks = [StepLimit(options.steps), losses]
    model.fit(batches.dataset, epochs=10**6, verbose=0, shuffle=False, callbacks=callbacks)
    seconds = time.monotonic() - begin
    found = model.evaluate(held_out.dataset, verbose=0, return_dict=True)
    updates = int(model.optimizer.iterations)
    last = float(np.mean(losses.losses[-LAST:]))
    return Result(last, found["token_loss"], updates, seconds)


def table(results: dict[str, Result]) -> str:
    """A Markdown table; the first result is what the others are measured by."""
    base = next(iter(results.values()))
    head = [
        "precision", "", f"training loss, last {LAST}", "of the first",
        "validation loss", "of the first", "updates", "seconds",
    ]  # fmt: skip
    rows = [
        (
            name,
            "",
            f"{found.training_loss:.4f}",
            f"{found.training_loss / base.training_loss - 1:+.2%}",
            f"{found.validation_loss:.4f}",
            f"{found.validation_loss / base.validation_loss - 1:+.2%}",
            str(found.updates),
            f"{found.seconds:.0f}",
        )
        for name, found in results.items()
    ]
    return markdown(head, rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("source", "target", "valid-source", "valid-target"):
        parser.add_argument(f"--{name}", required=True, help="file of texts, one a line")
    parser.add_argument("--preset", default="tiny", help="size of the model")
    parser.add_argument("--steps", type=positive, default=300, help="batches to train on")
    parser.add_argument("--batch-tokens", type=positive, default=1024, help="of a side")
    parser.add_argument("--vocab-size", type=positive, default=5000, help="of both languages")
    parser.add_argument("--learning-rate", type=float, default=2e-3, help="at its peak")
    parser.add_argument("--seed", type=int, default=1, help="of weights, data and dropout")
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=PRECISIONS)
    options = parser.parse_args()
    pairs = load_pairs(source=options.source, target=options.target)
    valid = load_pairs(source=options.valid_source, target=options.valid_target)
    texts = (text for pair in pairs for text in pair)
    pieces = SentencePieceTokenizer.train(texts, options.vocab_size, hard_vocab_limit=False)
    results = {}
    for precision in options.precisions:
        results[precision] = train(precision, options, pairs, valid, pieces)
        print(f"{precision}: {results[precision]}", file=sys.stderr, flush=True)
    print(table(results))


if __name__ == "__main__":
    main()
