"""The package's own batches: a run stopped within an epoch goes on with the batch that follows."""

import keras
import pytest
import tiny

from keras_transformer.data.pairs import TextPairs
from keras_transformer.data.translation import TranslationBatches
from keras_transformer.text import CharacterTokenizer
from keras_transformer.training import StepLimit, TokenCrossEntropy, TrainingCheckpoint, adamw

ROWS = [("abc"[: n % 3 + 1] * (n % 5 + 1), "cab"[: n % 3 + 1] * (n % 4 + 1)) for n in range(60)]


@pytest.fixture(scope="module")
def tokenizer():
    return CharacterTokenizer.train([text for row in ROWS for text in row])


def start(tokenizer):
    """Batches of one shape (each further one is another trace), and a model with dropout."""
    batches = TranslationBatches(
        TextPairs("letters", lambda: iter(ROWS)),
        tokenizer,
        tokenizer,
        batch_size=10,
        max_source_length=16,
        max_target_length=16,
        length_multiple=16,
        seed=3,
    )
    keras.utils.set_random_seed(1)
    source, target = (keras.Input([None], dtype="int32", name=n) for n in ("source", "target"))
    x = keras.layers.Embedding(tokenizer.vocab_size, 8)(target)
    logits = keras.layers.Dense(tokenizer.vocab_size)(keras.layers.Dropout(0.3)(x))
    model = keras.Model({"source": source, "target": target}, logits)
    model.compile(adamw(1e-2), loss=TokenCrossEntropy(0.1), jit_compile=False)
    return model, batches


@pytest.mark.parametrize("steps_per_execution", [1, 2])
def test_stopped_and_resumed_equals_uninterrupted(tokenizer, tmp_path, steps_per_execution):
    def train(directory, *limits):
        model, batches = start(tokenizer)
        model.steps_per_execution = steps_per_execution
        checkpoint = TrainingCheckpoint(directory, clock=batches.clock)
        model.fit(
            batches.dataset,
            initial_epoch=checkpoint.restore(model),
            epochs=3,
            verbose=0,
            shuffle=False,
            callbacks=[*limits, checkpoint],
        )
        return model, batches.count_batches()

    whole, length = train(tmp_path / "whole")
    assert int(whole.optimizer.iterations) == 3 * length
    train(tmp_path / "stopped", StepLimit(length + 4))
    resumed, _ = train(tmp_path / "stopped")
    tiny.assert_same_bits(resumed, tiny.weights(whole))
