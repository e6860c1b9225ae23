"""Explanations give the numbers that texts on the Transformer work through by hand."""

import math

import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose

from keras_transformer.inspection import (
    ATTENTION_EXAMPLES,
    activations_topic,
    attention_topic,
    gradient_topic,
    look_up_topic,
    mask_topic,
    positions_topic,
    scaling_topic,
    schedules_topic,
    sizes_topic,
    softmax_topic,
    trace_attention,
    variance_topic,
)
from keras_transformer.training import CosineSchedule


def cells(topic, step):
    """A step's matrix as it is printed, its rows joined by blanks."""
    return [" ".join(row) for row in topic.step(step).matrix.cells()]


def printed(topic, step):
    """The same as numbers."""
    return [[float(cell) for cell in row] for row in topic.step(step).matrix.cells()]


def test_attention_without_projections():
    topic = attention_topic(**ATTENTION_EXAMPLES[0])
    assert cells(topic, "Weights") == [
        "0.4011 0.1978 0.4011",
        "0.1978 0.4011 0.4011",
        "0.2483 0.2483 0.5035",
    ]
    assert cells(topic, "Output") == ["0.8022 0.5989", "0.5989 0.8022", "0.7517 0.7517"]


def test_attention_with_projections():
    topic = attention_topic(**ATTENTION_EXAMPLES[1])
    assert cells(topic, "Queries") == ["2 0", "0 4"]
    assert cells(topic, "Keys") == ["0 2", "4 0"]
    assert cells(topic, "Values") == ["1 1", "2 2"]
    assert cells(topic, "Scores") == ["0 8", "8 0"]
    assert cells(topic, "Scaled") == ["0.0000 5.6569", "5.6569 0.0000"]
    assert cells(topic, "Weights") == ["0.0035 0.9965", "0.9965 0.0035"]
    assert cells(topic, "Output") == ["1.9965 1.9965", "1.0035 1.0035"]


def test_causal_attention_shows_the_mask_and_what_it_hides():
    topic = attention_topic([[1, 0], [0, 1], [1, 1]], causal=True, words=["a", "b", "c"])
    assert cells(topic, "Mask") == ["yes · ·", "yes yes ·", "yes yes yes"]
    assert cells(topic, "Masked")[0] == "0.7071 -1e+30 -1e+30"
    assert cells(topic, "Weights")[:2] == ["1.0000 0.0000 0.0000", "0.3302 0.6698 0.0000"]
    assert topic.step("Weights").matrix.columns == ["to a", "to b", "to c"]


def test_a_trace_that_leaves_the_layer_is_noticed(monkeypatch):
    softmax = trace_attention.masked_softmax
    monkeypatch.setattr(trace_attention, "masked_softmax", lambda s, m: softmax(2 * s, m))
    with pytest.raises(RuntimeError, match="The traced weights .* are not the layer's"):
        attention_topic([[1, 0], [0, 1]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x": []}, "x must be rows of equally many numbers"),
        ({"x": [[1, 0], [1]]}, "x must be rows of equally many numbers"),
        ({"x": [[1, "a"]]}, "x must be rows of equally many numbers"),
        ({"x": [[1, math.nan]]}, "x must be rows of equally many numbers"),
        ({"x": [[1, 0]], "wq": [[1]]}, "wq has 1 rows, but the vectors of x have 2 numbers"),
        ({"x": [[1]], "wq": [[1, 2]]}, "wq has 2 columns and wk 1"),
        ({"x": [[1e200, 1e200]]}, "too large: products of them are not finite"),
        ({"x": [[1]], "words": ["a", "b"]}, "There are 2 words, but x has 1 rows"),
        ({"x": [[1]], "words": [3]}, r"words must be a list of texts, .* not \[3\]"),
        ({"x": [[1]], "words": "a"}, "words must be a list of texts, .* not 'a'"),
    ],
)
def test_matrices_that_do_not_fit_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        attention_topic(**given)


@pytest.mark.parametrize(
    ("scores", "scaled", "weights"),
    [
        ([112, 96], ["14 12"], ["0.8808 0.1192"]),
        ([32.5, 28.3, 15.7], None, ["0.5834 0.3451 0.0714"]),
    ],
)
def test_scores_are_divided_by_the_root_of_the_key_width(scores, scaled, weights):
    topic = scaling_topic(scores, key_dim=64)
    assert scaled is None or cells(topic, "Scaled") == scaled
    assert cells(topic, "Weights, scaled") == weights


@pytest.mark.parametrize(
    ("scores", "weights"),
    [
        ([12, 8, 15], "0.0474 0.0009 0.9517"),
        ([5, 2, 1], "0.9362 0.0466 0.0171"),
    ],
)
def test_softmax(scores, weights):
    assert cells(softmax_topic(scores), "Weights") == [weights]


def test_softmax_with_its_exponentials():
    topic = softmax_topic([3.2, 5.1, -1.7])
    ((first, second, third),) = printed(topic, "Exponentials")
    assert (round(first, 2), round(second, 2), round(third, 4)) == (24.53, 164.02, 0.1827)
    assert_allclose(np.round(printed(topic, "Weights"), 3), [[0.130, 0.869, 0.001]])
    ((_, largest, _),) = printed(topic, "The same, without huge numbers")
    assert largest == 1


@pytest.mark.filterwarnings("error")
def test_exponentials_may_be_too_large_for_a_number():
    topic = softmax_topic([1000, 2000])
    assert cells(topic, "Exponentials") == ["inf inf"]
    assert cells(topic, "Weights") == ["0 1"]


def test_temperature():
    topic = softmax_topic([3, 5, -10, 20], temperature=10)
    assert cells(topic, "Temperature 10")[1] == "0.1255 0.1533 0.0342 0.6870"
    assert "the largest is 0.9999997" in topic.step("Weights").sentence


def test_soft_look_up():
    topic = look_up_topic([5, -4, 3, 2, 2.5], [1, 2, 3, 4, 5])
    assert cells(topic, "Weights") == ["0.7891 0.0001 0.1068 0.0393 0.0648"]
    assert cells(topic, "Value") == ["1.5906"]


def test_sinusoidal_position():
    topic = positions_topic()
    assert cells(topic, "Table")[2] == "0.9093 -0.4161 0.0200 0.9998"
    assert cells(topic, "Added") == [
        "0.3000 -0.2000 0.7000 0.1000",
        "0.9093 -0.4161 0.0200 0.9998",
        "1.2093 -0.6161 0.7200 1.0998",
    ]


@pytest.mark.parametrize(("position", "shift", "width"), [(2, 3, 4), (0, 599, 16), (300, 41, 7)])
def test_a_shift_is_a_rotation_of_each_pair(position, shift, width):
    topic = positions_topic(position + 1, width, position, shift=shift)
    _, turned, there = topic.step("Shifted").matrix.values
    assert_allclose(turned, there, atol=1e-6)
    assert np.abs(there).max() > 0.5


def test_causal_mask():
    topic = mask_topic(4)
    allowed = np.array(topic.step("Mask").matrix.values)
    assert allowed.dtype == bool
    assert_allclose(allowed, np.tril(np.ones((4, 4))))
    weights = np.array(topic.step("Weights of equal scores").matrix.values)
    assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)
    assert np.all(weights[~allowed] == 0)


def test_heads_and_feed_forward_shapes():
    topic = sizes_topic()
    heads = cells(topic, "Heads")
    assert heads[:2] == ["512 8 64", "128 4 32"]
    assert heads[2].startswith("130 8 refused: num_heads=8 must divide")
    shapes = [row[1] for row in topic.step("Feed-forward network").matrix.cells()]
    assert shapes == ["[3, 4, 8]", "[8, 32]", "[3, 4, 32]", "[32, 8]", "[3, 4, 8]"]


@pytest.mark.parametrize("true", [1, 2, 3])
def test_the_gradient_is_the_softmax_less_the_truth(true):
    logits = np.array([2.0, 1.0, 0.1])
    topic = gradient_topic(logits, true)
    weights = np.exp(logits) / np.exp(logits).sum()
    assert_allclose(
        np.array(topic.step("Gradient").matrix.values)[0],
        weights - np.eye(3)[true - 1],
        atol=1e-12,
    )
    assert_allclose(topic.step("Loss").matrix.values[0][0], -np.log(weights[true - 1]), rtol=1e-9)


def test_the_variance_of_products_is_the_width_and_after_the_scaling_one():
    for width, product, scaled in (
        variance_topic((4, 64), samples=8000).step("Measured").matrix.values
    ):
        assert_allclose([product / width, scaled], 1.0, rtol=0.05)


def test_activations():
    found = dict(
        zip(
            activations_topic().step("Values").matrix.rows,
            cells(activations_topic(), "Values"),
            strict=True,
        )
    )
    expected = {
        "sigmoid": "0.1192 0.5000 0.8808",
        "tanh": "-0.9640 0.0000 0.9640",
        "relu": "0.0000 0.0000 2.0000",
        "leaky_relu": "-0.0200 0.0000 2.0000",
        "gelu": "-0.0455 0.0000 1.9545",
    }
    assert found | expected == found


def test_the_rates_are_those_of_the_schedules():
    rates = schedules_topic(0.5, 4, 20).step("Rates").matrix
    updates = [int(name.removeprefix("update ")) for name in rates.columns]
    cosine = CosineSchedule(0.5, 4, 20)
    found = [float(rate) for rate in rates.values[rates.rows.index("cosine")]]
    assert_allclose(found, [float(cosine(update - 1)) for update in updates], rtol=1e-3)
    assert updates[0] == 1 and updates[-1] == 20
    assert schedules_topic(0.5, 0, 1).step("Rates").matrix.columns == ["update 1"]
    assert keras.ops.convert_to_numpy(cosine(3)) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: softmax_topic([1]), "scores must be two or more numbers, not"),
        (lambda: softmax_topic([1, 2], temperature=0), "temperature must be a positive number"),
        (lambda: look_up_topic([1, 2], [1, 2, 3]), "There are 2 scores and 3 values"),
        (lambda: scaling_topic([1, 2], key_dim=0), "key_dim must be at least 1, not 0"),
        (lambda: variance_topic(seed=-1), "seed must be at least 0, not -1"),
        (lambda: gradient_topic([1, 2], true=3), "must be from 1 to 2, not 3"),
        (lambda: positions_topic(4, position=4), "position must be below length=4, not 4"),
        (lambda: mask_topic(100_000), "A table of 100,000 x 100,000 numbers cannot be shown"),
        (lambda: positions_topic(10_000, 512), "A table of 10,000 x 512 numbers cannot be shown"),
        (lambda: positions_topic(vector=[1.0]), "The vector must have 4 numbers, not 1"),
    ],
)
def test_what_cannot_be_explained_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
