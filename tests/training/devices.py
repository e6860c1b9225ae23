"""Trains small models and writes what came of it: run with the devices as arguments.

python devices.py FILE 1       on one device
python devices.py FILE 4       on four replicas
python devices.py FILE worker  as one of the workers of TF_CONFIG
"""

import sys
from collections.abc import Callable, Iterator

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.models import (
    Bert,
    BertConfig,
    BertPretraining,
    Gpt,
    GptConfig,
    Transformer,
    TransformerConfig,
    recompute_layers,
)
from keras_transformer.training import (
    AccumulatedGradients,
    TokenAccuracy,
    TokenCrossEntropy,
    TokenLoss,
    adamw,
    set_seed,
)
from keras_transformer.training.distribution import is_chief, make_strategy

# Nothing divides: over 2 or 4 devices some have fewer rows than others, or none.
SHAPES = ((5, 7), (1, 3), (6, 4), (3, 9))  # rows, tokens of each batch
SIZES = {
    "vocab_size": 20,
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_attention_heads": 2,
    "max_position_embeddings": 16,
    "hidden_dropout": 0.0,
    "attention_dropout": 0.0,
}


def token_rows(random: np.random.Generator, rows: int, tokens: int) -> tuple:
    """Ids and labels, rows of very different lengths; 0 is padding."""
    lengths = random.integers(1, tokens + 1, [rows, 1])
    lengths[0] = tokens
    real = np.arange(tokens) < lengths
    ids, labels = random.integers(3, 20, [2, rows, tokens])
    return np.where(real, ids, 0).astype("int32"), np.where(real, labels, 0).astype("int32")


def transformer() -> tuple:
    def batches() -> Iterator:
        random = np.random.default_rng(1)
        for shape in SHAPES:
            ids, labels = token_rows(random, *shape)
            yield {"source": ids, "target": ids}, labels

    config = TransformerConfig(**SIZES, encoder_layers=1, decoder_layers=1)
    return Transformer(config), TokenCrossEntropy(0.1), [TokenLoss(), TokenAccuracy()], batches


def gpt() -> tuple:
    def batches() -> Iterator:
        random = np.random.default_rng(2)
        for shape in SHAPES:
            ids, labels = token_rows(random, *shape)
            yield {"token_ids": ids}, labels

    model = Gpt(GptConfig(**SIZES, num_hidden_layers=1))
    return model, TokenCrossEntropy(0.1), [TokenLoss(), TokenAccuracy()], batches


def bert() -> tuple:
    def batches() -> Iterator:
        random = np.random.default_rng(3)
        for rows, tokens in SHAPES:
            ids, labels = token_rows(random, rows, tokens)
            follows = random.integers(-1, 2, rows).astype("int32")  # -1: a row without a label
            yield {"token_ids": ids}, {"masked_tokens": labels, "next_sentence": follows}

    model = BertPretraining(Bert(BertConfig(**SIZES, num_hidden_layers=1)))
    losses = {
        "masked_tokens": TokenCrossEntropy(0.1),
        "next_sentence": TokenCrossEntropy(0.1, pad_id=-1),
    }
    metrics = {"masked_tokens": [TokenLoss()], "next_sentence": [TokenAccuracy(pad_id=-1)]}
    return model, losses, metrics, batches


MODELS = {"transformer": transformer, "gpt": gpt, "bert": bert}


def dataset(batches: Callable[[], Iterator], repeat: int = 1) -> tf.data.Dataset:
    """The batches, without a shape that is the same for all."""
    signature = tf.nest.map_structure(
        lambda array: tf.TensorSpec([None] * array.ndim, tf.int32), next(batches())
    )
    made = tf.data.Dataset.from_generator(batches, output_signature=signature)
    options = tf.data.Options()
    options.autotune.enabled = False  # an iterator may not end before the tuning thread wakes up
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return made.repeat(repeat).with_options(options)


def train(
    strategy: tf.distribute.Strategy,
    name: str,
    parts: int | None = None,
    *,
    recompute: bool = False,
) -> dict:
    """What one update, and many, do to the weights, and the numbers reported."""
    step = None if parts is None else AccumulatedGradients(parts)
    results = {}

    def made(optimizer: keras.optimizers.Optimizer) -> tuple:
        set_seed(1)
        model, loss, metrics, batches = MODELS[name]()
        recompute_layers(model, recompute)
        model.compile(optimizer, loss, metrics=metrics, weighted_metrics=[], train_step=step)
        model.build()
        return model, batches

    with strategy.scope():
        model, batches = made(keras.optimizers.SGD(1.0))
    before = model.get_weights()
    model.fit(dataset(batches).take(1), shuffle=False, verbose=0)
    after = [b - a for b, a in zip(before, model.get_weights(), strict=True)]
    # (The state of a generator of dropout is no weight.)
    results["gradients"] = [g for g in after if g.dtype == np.float32]

    keras.config.set_dtype_policy("float64")
    with strategy.scope():
        # With a smaller epsilon Adam makes as large as others what is rounding in a gradient.
        model, batches = made(adamw(1e-2, clip_norm=0.5, epsilon=1e-6))
    history = model.fit(
        dataset(batches, 3).take(10),
        validation_data=dataset(batches),
        shuffle=False,
        verbose=0,
    )
    keras.config.set_dtype_policy("float32")
    results["weights"] = {w.path: w.numpy() for w in model.trainable_variables}
    results["logs"] = {
        name: values[-1] for name, values in history.history.items() if "token_" in name
    }
    return results


def write(path: str, results: dict[str, dict]) -> None:
    """An .npz file of all arrays, by names that say what they are."""
    arrays = {}
    for key, result in results.items():
        arrays |= {f"{key}/gradients/{i}": g for i, g in enumerate(result["gradients"])}
        for kind in ("weights", "logs"):
            arrays |= {f"{key}/{kind}/{n}": value for n, value in result[kind].items()}
    np.savez(path, **arrays)


def main(path: str, devices: str) -> None:
    results = {}
    if devices == "worker":
        strategy = make_strategy("multiworker")
    else:
        strategy = make_strategy("one" if devices == "1" else "mirrored", int(devices))
    for name in MODELS:
        key = f"{name}/{devices}"
        results[key] = train(strategy, name)
        results[f"{key}/parts"] = train(strategy, name, 3)
        if name == "transformer":
            results[f"{key}/recomputed"] = train(strategy, name, recompute=True)
    if is_chief(strategy):
        write(path, results)


if __name__ == "__main__":
    main(*sys.argv[1:])
