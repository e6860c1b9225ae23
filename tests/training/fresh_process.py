"""What the tests run in a process of its own: `python fresh_process.py NAME ARGUMENTS`."""

import contextlib
import json
import os
import signal
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]


def seeded_losses(seed: int = 1) -> list[float]:
    """The losses of 20 steps after `set_seed(seed)`, with dropout and shuffling."""
    import keras
    import tensorflow as tf
    import tiny

    from keras_transformer.training import TokenCrossEntropy, set_seed

    set_seed(seed)
    data = tf.data.Dataset.from_tensor_slices(tiny.tiny_ids(40)).shuffle(40).batch(4)
    ids = keras.Input([None], dtype="int32")
    x = keras.layers.Dropout(0.3)(keras.layers.Embedding(20, 16)(ids))
    model = keras.Model(ids, keras.layers.Dense(20)(x))
    model.compile("adam", loss=TokenCrossEntropy(), jit_compile=False)
    losses = []
    note = keras.callbacks.LambdaCallback(on_train_batch_end=lambda _, logs: losses.append(logs))
    model.fit(data, epochs=2, verbose=0, callbacks=[note], shuffle=False)
    return [logs["loss"] for logs in losses]


def losses_and_killed_run(directory: str) -> None:
    """Print `seeded_losses`, then train with checkpoints until SIGKILL in the second epoch."""
    import keras
    import tiny

    from keras_transformer.training import TrainingCheckpoint

    print(json.dumps(seeded_losses()), flush=True)
    data = tiny.ClockedData()
    checkpoint = TrainingCheckpoint(directory, clock=data, every_steps=1)

    def kill(batch, logs):
        if checkpoint.model.optimizer.iterations == 6:
            os.kill(os.getpid(), signal.SIGKILL)

    tiny.tiny_model().fit(
        data.dataset,
        epochs=3,
        verbose=0,
        callbacks=[checkpoint, keras.callbacks.LambdaCallback(on_train_batch_end=kill)],
    )


def losses_and_loaded_model(path: str) -> None:
    """Print `seeded_losses`, then the rates of the schedule in a saved model."""
    losses = seeded_losses()
    import keras

    import keras_transformer.training  # noqa: F401  all that is needed to load

    model = keras.saving.load_model(path)
    schedule = model.optimizer._learning_rate
    rates = [float(schedule(step)) for step in (0, 3, 4, 40)]
    print(json.dumps({"losses": losses, "rates": rates, "loss": model.loss.get_config()}))


def memory_of_a_step(policy: str) -> None:
    """Print the most memory that a training step takes, in sizes of its logits."""
    # oneDNN's allocator keeps what is freed: its process would not show what a step needs.
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
    import keras
    import numpy as np
    import tensorflow as tf

    from benchmarks import memory
    from keras_transformer.models import Gpt, GptConfig
    from keras_transformer.training import TokenAccuracy, TokenCrossEntropy, TokenLoss, adamw

    vocabulary, rows, tokens = 50_000, 16, 64
    config = GptConfig(
        vocabulary, hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=tokens,
    )  # fmt: skip
    model = Gpt(config, dtype=policy)
    model.build()
    model.compile(
        adamw(1e-3),
        loss=TokenCrossEntropy(label_smoothing=0.1),
        metrics=[TokenLoss(), TokenAccuracy()],
        weighted_metrics=[],
    )
    ids = np.random.default_rng(0).integers(3, vocabulary, [rows, tokens], np.int32)
    data = tf.data.Dataset.from_tensors(({"token_ids": ids}, ids)).repeat(4)
    watches = []

    def watch(batch, logs=None):
        if batch == 1:  # the graph is traced, the optimizer has its slots
            watches.append(memory.Watch())

    model.fit(
        data, verbose=0, callbacks=[keras.callbacks.LambdaCallback(on_train_batch_begin=watch)]
    )
    used = watches[0].memory()
    print((used.peak - used.before) / (rows * tokens * vocabulary * 4))


def two_replicas(directory: str) -> None:
    """Print what 1 and 2 replicas make of the same batches."""
    import numpy as np
    import tensorflow as tf

    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )
    import keras
    import tiny

    from keras_transformer.training import TrainingCheckpoint

    class NoteWeights(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.weights = tiny.weights(self.model)

    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

    def model_on(replicas: int, **options) -> keras.Model:
        with strategy.scope() if replicas == 2 else contextlib.nullcontext():
            # Not Adam: it blows the rounding errors of gradients near zero up to whole steps.
            return tiny.tiny_model(keras.optimizers.SGD(1.0, **options), dropout=0.0)

    def batches(rows: int, size: int) -> tf.data.Dataset:
        return tf.data.Dataset.from_tensor_slices(tiny.tiny_ids(rows)).batch(size)

    def difference(a, b) -> float:
        return max(float(np.abs(x - y).max() / np.abs(y).max()) for x, y in zip(a, b, strict=True))

    results = {}
    changes = []
    for replicas in (1, 2):
        model = model_on(replicas)
        before = [keras.ops.convert_to_numpy(v) for v in model.trainable_variables]
        history = model.fit(batches(6, 6), verbose=0, shuffle=False).history
        after = [keras.ops.convert_to_numpy(v) for v in model.trainable_variables]
        changes.append([a - b for a, b in zip(after, before, strict=True)])
        results[f"history_{replicas}"] = {name: values[0] for name, values in history.items()}
        results[f"evaluate_{replicas}"] = model.evaluate(batches(6, 4), verbose=0, return_dict=True)
    results["change_difference"] = difference(*changes)

    model = model_on(2)
    history = model.fit(batches(3, 2), epochs=2, verbose=0, shuffle=False).history
    results["uneven"] = history["loss"] + [float(np.abs(v).max()) for v in model.weights]

    for source, target in ((2, 1), (1, 2)):
        saved = model_on(source, momentum=0.9, use_ema=True)
        checkpoint = TrainingCheckpoint(Path(directory) / f"from_{source}")
        note = NoteWeights()
        saved.fit(batches(8, 4), verbose=0, shuffle=False, callbacks=[note, checkpoint])
        other = model_on(target, momentum=0.9, use_ema=True)
        TrainingCheckpoint(checkpoint.directory).restore(other)
        results[f"restored_{source}_{target}"] = all(
            np.array_equal(a, b) for a, b in zip(note.weights, tiny.weights(other), strict=True)
        )
        TrainingCheckpoint(checkpoint.directory).restore(saved)  # after fit: the mean is in it
        for model in (saved, other):
            model.fit(batches(8, 8), verbose=0, shuffle=False)
        results[f"next_step_{source}_{target}"] = difference(
            [keras.ops.convert_to_numpy(v) for v in saved.trainable_variables],
            [keras.ops.convert_to_numpy(v) for v in other.trainable_variables],
        )
    results["epochs_begun"] = epochs_begun(strategy)
    print(json.dumps(results))


def epochs_begun(strategy) -> list[int]:
    """The epochs that a data set was asked for by two of `fit`, on a model of our kind."""
    import keras
    import tensorflow as tf
    import tiny

    from keras_transformer.data.epoch_clock import EpochClock
    from keras_transformer.data.epoch_dataset import epoch_dataset
    from keras_transformer.models import DistributedTraining

    class Model(DistributedTraining, keras.Model):
        pass

    begun = []

    def batches(epoch: int, skip: int):
        begun.append(epoch)
        yield from [tiny.tiny_ids(3)] * 2

    signature = (tf.TensorSpec([None, 5], tf.int32),) * 2
    with strategy.scope():
        ids = keras.Input([None], dtype="int32")
        model = Model(ids, keras.layers.Embedding(tiny.VOCABULARY, tiny.VOCABULARY)(ids))
        model.compile("sgd", tiny.TokenCrossEntropy())
    model.fit(epoch_dataset(batches, 2, EpochClock(), signature), epochs=2, verbose=0)
    return begun


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
