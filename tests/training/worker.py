"""One worker of a small training that may be stopped, killed and gone on with.

python worker.py FOLDER EPOCHS: prints a line for each batch; the chief leaves weights.npy.
"""

import sys
import time

import keras
import numpy as np
from tiny import VOCABULARY, ClockedData

from keras_transformer.models import DistributedTraining
from keras_transformer.training import (
    ScoreCallback,
    StopOnSignal,
    TimeLimit,
    TokenCrossEntropy,
    TokenLoss,
    TrainingCheckpoint,
    TrainingInterrupted,
    adamw,
    set_seed,
)
from keras_transformer.training.distribution import (
    is_chief,
    lost_workers_explained,
    make_strategy,
    wait_for_workers,
)


class Model(DistributedTraining, keras.Model):
    """A functional model of Keras."""


class SlowBatches(keras.callbacks.Callback):
    """Tells of each batch, and leaves time to be hit in."""

    def on_train_batch_end(self, batch, logs=None):
        print("batch", flush=True)
        time.sleep(0.3)


def compiled() -> Model:
    set_seed(7)
    ids = keras.Input([None], dtype="int32")
    hidden = keras.layers.LayerNormalization()(keras.layers.Embedding(VOCABULARY, 8)(ids))
    model = Model(ids, keras.layers.Dense(VOCABULARY)(hidden))
    model.compile(adamw(1e-2), TokenCrossEntropy(0.1), metrics=[TokenLoss()])
    return model


def main(folder: str, epochs: str) -> None:
    strategy = make_strategy()
    with strategy.scope(), lost_workers_explained(strategy):
        model, data = compiled(), ClockedData()
        score = ScoreCallback(lambda model: float(np.sum(model.get_weights()[0])), name="score")
        limit = TimeLimit(60)
        checkpoint = TrainingCheckpoint(folder, clock=data, track=[score, limit], every_steps=1)
        first = checkpoint.restore(model)
        slow = [] if strategy.num_replicas_in_sync == 1 else [SlowBatches()]
        try:
            model.fit(
                data.dataset,
                initial_epoch=first,
                epochs=int(epochs),
                shuffle=False,
                verbose=0,
                callbacks=[StopOnSignal(), limit, score, *slow, checkpoint],
            )
        except TrainingInterrupted as interruption:
            print(interruption, flush=True)
            return
        if is_chief(strategy):
            np.save(
                f"{folder}/weights.npy", np.concatenate([w.ravel() for w in model.get_weights()])
            )
        wait_for_workers(strategy)
        print("the end", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
