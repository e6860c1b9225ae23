"""Rates: positive from the first update, highest at the end of warm-up."""

import itertools

import keras
import pytest
import tensorflow as tf

from keras_transformer.training import CosineSchedule, InverseSquareRootSchedule, LinearSchedule

MAKE = {
    "inverse square root": lambda warmup: InverseSquareRootSchedule(0.5, warmup),
    "linear": lambda warmup: LinearSchedule(0.5, warmup, total_steps=100, end=0.01),
    "cosine": lambda warmup: CosineSchedule(0.5, warmup, total_steps=100, end=0.01),
}
every_schedule = pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)


@every_schedule
@pytest.mark.parametrize("warmup", [0, 1, 2, 10])
def test_rises_to_the_peak_and_falls_from_there(make, warmup):
    rates = [float(make(warmup)(step)) for step in range(100)]
    peak = max(warmup, 1) - 1
    assert rates[0] == pytest.approx(0.5 / max(warmup, 1))
    assert rates[peak] == pytest.approx(0.5)
    assert all(rate > 0 for rate in rates)
    assert all(a < b for a, b in itertools.pairwise(rates[: peak + 1]))
    assert all(a > b for a, b in itertools.pairwise(rates[peak:]))


@every_schedule
def test_ints_and_tensors_of_any_type_give_the_same_rate(make):
    schedule = make(10)
    for step in (0, 1, 9, 10, 37):
        right = float(schedule(step))
        for dtype in (tf.int32, tf.int64, tf.float32):
            rate = tf.function(schedule)(tf.constant(step, dtype))
            assert rate.dtype == tf.float32
            assert float(rate) == pytest.approx(right, rel=1e-6)


@every_schedule
def test_serialises(make):
    schedule = make(10)
    copy = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(schedule))
    assert type(copy) is type(schedule)
    for step in (0, 9, 10, 100):
        assert float(copy(step)) == float(schedule(step))


def test_the_papers_formula():
    schedule = InverseSquareRootSchedule.from_hidden_size(512, warmup_steps=4000)
    for step in (1, 100, 3999, 4000, 100_000):
        formula = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
        assert float(schedule(step - 1)) == pytest.approx(formula, rel=1e-6)


@pytest.mark.parametrize("kind", [LinearSchedule, CosineSchedule])
def test_the_decay_ends_where_it_should(kind):
    schedule = kind(1.0, warmup_steps=2, total_steps=10, end=0.25)
    assert float(schedule(9)) > 0.25
    assert float(schedule(10)) == float(schedule(1000)) == 0.25


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="peak must be a positive learning rate, got 0"):
        InverseSquareRootSchedule(0, 10)
    with pytest.raises(ValueError, match="warmup_steps must be at least 0, got -1"):
        InverseSquareRootSchedule(1.0, -1)
    with pytest.raises(ValueError, match=r"more than warmup_steps \(10\), got 10"):
        LinearSchedule(1.0, 10, 10)
    with pytest.raises(ValueError, match=r"between 0 and peak \(1.0\), got 2"):
        CosineSchedule(1.0, 1, 10, end=2)
