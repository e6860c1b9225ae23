"""The example that reverses digits learns to, in at most 2,000 steps."""

import keras
import numpy as np
import pytest


@pytest.fixture(scope="module")
def example(load_example):
    return load_example("reverse_digits")


def trained(example, seed: int, steps: int) -> keras.Model:
    """The model after its training."""
    keras.utils.set_random_seed(seed)
    model = example.build_model()
    model.compile(keras.optimizers.AdamW(1e-3), loss=example.TokenCrossEntropy(), jit_compile=False)
    # Variables that are made in the first step would have TensorFlow trace the step twice.
    model.optimizer.build(model.trainable_variables)
    draw = np.random.default_rng(seed)
    model.fit(*example.make_data(64 * steps, draw), batch_size=64, verbose=0)
    return model


def exact_share(example, model: keras.Model, rows: int = 2000) -> float:
    """The share of new rows that come out right to the last digit."""
    inputs, labels = example.make_data(rows, np.random.default_rng(1001))
    found = example.reverse(model, inputs["source"])
    return float(np.mean([(f * (y > 0) == y).all() for f, y in zip(found, labels, strict=True)]))


@pytest.mark.slow
def test_the_last_digit_comes_first_after_few_steps(example):
    model = trained(example, seed=1, steps=150)
    inputs, labels = example.make_data(200, np.random.default_rng(1001))
    firsts = model.predict(inputs, verbose=0, batch_size=200)[:, 0].argmax(-1)
    assert np.mean(firsts == labels[:, 0]) > 0.3  # one of ten digits


@pytest.mark.slow
def test_reversal_is_learned_in_2000_steps(example):
    """The median of three seeds."""
    models = [trained(example, seed, steps=2000) for seed in (1, 2, 3)]
    shares = [exact_share(example, model) for model in models]
    assert np.median(shares) >= 0.99
    rows = np.array([[3, 7, 5, 9, 0, 0, 0], [4, 8, 6, 3, 7, 0, 0]])
    found = example.reverse(models[np.argsort(shares)[1]], rows)
    assert found[0, :5].tolist() == [9, 5, 7, 3, example.EOS]
    assert found[1, :6].tolist() == [7, 3, 6, 8, 4, example.EOS]
