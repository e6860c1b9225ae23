"""The loss: its value, its gradient, padding, types, and memory."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny

from keras_transformer.training import TokenCrossEntropy


def random_batch(dtype="float64", rows=3, tokens=4, vocabulary=7):
    rng = np.random.default_rng(1)
    labels = rng.integers(1, vocabulary, [rows, tokens])
    labels[0, 2:] = 0
    return labels, tf.constant(rng.normal(size=[rows, tokens, vocabulary]) * 3, dtype)


def closed_form(labels, logits, smoothing):
    """Loss and gradient written out, with the full target distribution."""
    logits = np.asarray(logits, np.float64)
    vocabulary = logits.shape[-1]
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    target = (1 - smoothing) * np.eye(vocabulary)[labels] + smoothing / vocabulary
    real = labels != 0
    loss = -(target * np.log(p)).sum(-1)[real].mean()
    return loss, (p - target) * real[..., None] / real.sum()


def loss_and_gradient(loss, labels, logits, **kwargs):
    with tf.GradientTape() as tape:
        tape.watch(logits)
        value = loss(labels, logits, **kwargs)
    return value, tape.gradient(value, logits)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_value_and_gradient_equal_the_closed_form(smoothing, compiled):
    labels, logits = random_batch()
    run = tf.function(loss_and_gradient, jit_compile=compiled)
    value, gradient = run(TokenCrossEntropy(smoothing), labels, logits)
    right_value, right_gradient = closed_form(labels, logits, smoothing)
    assert value.dtype == gradient.dtype == tf.float64
    np.testing.assert_allclose(value, right_value, rtol=1e-12)
    np.testing.assert_allclose(gradient, right_gradient, atol=1e-14)


@pytest.mark.parametrize(
    "dtype, tolerance", [("float32", 1e-6), ("bfloat16", 4e-3), ("float16", 1e-3)]
)
def test_half_precision_logits_are_computed_in_float32(dtype, tolerance):
    labels, logits = random_batch(dtype)
    value, gradient = loss_and_gradient(TokenCrossEntropy(0.1), labels, logits)
    right_value, right_gradient = closed_form(labels, tf.cast(logits, "float64"), 0.1)
    assert value.dtype == tf.float32
    assert gradient.dtype == logits.dtype
    np.testing.assert_allclose(value, right_value, rtol=1e-6)
    # One rounding to the logits' type is all that separates the gradient from the right one.
    error = np.abs(tf.cast(gradient, "float64") - right_gradient).max()
    assert error <= tolerance * np.abs(right_gradient).max()


def test_padding_has_no_loss_and_no_gradient():
    labels, logits = random_batch("float32")
    wild = tf.where((labels == 0)[..., None], 1e30, logits)
    for smoothing in (0.0, 0.1):
        loss = TokenCrossEntropy(smoothing)
        value, gradient = loss_and_gradient(loss, labels, wild)
        assert value == loss(labels, logits)
        assert not np.any(gradient.numpy()[labels == 0])
        assert np.all(np.any(gradient.numpy()[labels != 0], axis=-1))


def test_a_batch_of_padding_gives_zero():
    _, logits = random_batch("float32")
    value, gradient = loss_and_gradient(TokenCrossEntropy(0.1), np.zeros([3, 4], int), logits)
    assert value == 0
    assert not np.any(gradient)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_amount_of_padding_changes_neither_loss_nor_step(smoothing):
    x, y = tiny.tiny_ids(6)
    ends = []
    for tokens in (10, 50):
        model = tiny.tiny_model(keras.optimizers.SGD(1.0), dropout=0.0, metrics=False)
        model.compile(keras.optimizers.SGD(1.0), TokenCrossEntropy(smoothing), jit_compile=False)
        padding = ((0, 0), (0, tokens - 5))
        loss = model.train_on_batch(np.pad(x, padding), np.pad(y, padding))
        ends.append([loss, *model.get_weights()])
    for short, long in zip(*ends, strict=True):
        np.testing.assert_allclose(short, long, rtol=1e-6, atol=1e-7)


def test_smoothing_spreads_over_the_vocabulary_whatever_the_padding():
    labels, logits = random_batch("float32")
    value = TokenCrossEntropy(0.1)(labels, logits)
    padded = TokenCrossEntropy(0.1)(
        np.pad(labels, ((0, 0), (0, 40))), tf.pad(logits, ((0, 0), (0, 40), (0, 0)))
    )
    np.testing.assert_allclose(padded, value, rtol=1e-6)
    np.testing.assert_allclose(value, closed_form(labels, logits, 0.1)[0], rtol=1e-6)


def test_far_apart_logits_stay_finite_and_right():
    logits = tf.constant([[[0.0, 1e4, -1e4], [0.0, 200.0, 0.0]]])
    value, gradient = loss_and_gradient(TokenCrossEntropy(), [[2, 2]], logits)
    assert value == (2e4 + 200.0) / 2
    np.testing.assert_array_equal(gradient, [[[0, 0.5, -0.5], [0, 0.5, -0.5]]])


def test_sample_weight_scales_rows_or_tokens():
    labels, logits = random_batch("float32")
    loss = TokenCrossEntropy(0.1)
    rows = np.array([2.0, 0.0, 1.0])
    by_row, gradient = loss_and_gradient(loss, labels, logits, sample_weight=rows)
    by_token = loss(labels, logits, sample_weight=np.repeat(rows[:, None], 4, 1))
    shares = loss.call(labels, logits).numpy()
    np.testing.assert_allclose(by_row, (shares * rows[:, None]).sum(), rtol=1e-6)
    assert by_row == by_token
    assert not np.any(gradient[1])


def test_another_padding_id_may_lie_outside_the_vocabulary():
    labels, logits = random_batch("float32")
    loss = TokenCrossEntropy(0.1, pad_id=-100)
    assert loss(np.where(labels == 0, -100, labels), logits) == TokenCrossEntropy(0.1)(
        labels, logits
    )


def test_wrong_arguments_are_refused():
    labels, logits = random_batch("float32")
    with pytest.raises(ValueError, match=r"label_smoothing must be in \[0, 1\), got 1"):
        TokenCrossEntropy(1.0)
    with pytest.raises(ValueError, match=r"labels \(3, 3\) and logits \(3, 4, 7\)"):
        TokenCrossEntropy()(labels[:, 1:], logits)
    with pytest.raises(ValueError, match="int32"):
        TokenCrossEntropy()(labels, tf.cast(logits, tf.int32))


def test_it_survives_serialisation():
    loss = TokenCrossEntropy(0.2, pad_id=3)
    copy = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(loss))
    assert copy.get_config() == loss.get_config()


def test_a_big_vocabulary_costs_less_than_three_times_the_logits():
    tokens, vocabulary, hidden = 384, 50_000, 16
    rng = np.random.default_rng(0)
    x = tf.constant(rng.normal(size=[tokens, hidden]), tf.float32)
    matrix = tf.constant(rng.normal(size=[hidden, vocabulary]), tf.float32)
    labels = tf.constant(rng.integers(1, vocabulary, [tokens]))

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            tape.watch([x, matrix])
            value = TokenCrossEntropy(0.1)(labels, x @ matrix)
        return value, tape.gradient(value, [x, matrix])

    operations = step.get_concrete_function().graph.get_operations()
    assert not [op.type for op in operations if op.type == "OneHot"]
    step()  # the first run allocates what stays
    status = "/proc/self/status"
    try:
        before = _kilobytes(status, "VmRSS")
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the peak starts anew
    except OSError:
        pytest.skip("no resettable memory peak on this system")
    step()
    peak = (_kilobytes(status, "VmHWM") - before) * 1024
    assert peak < 3 * tokens * vocabulary * 4


def _kilobytes(path, field):
    with open(path) as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field))


def test_the_classes_may_be_positions_of_texts_of_any_length():
    loss = TokenCrossEntropy(label_smoothing=0.1, pad_id=-1)

    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None, None])])
    def value_and_gradient(labels, logits):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            value = loss(tf.cast(labels, tf.int32), logits)
        return value, tape.gradient(value, logits)

    logits = np.random.default_rng(0).normal(size=(3, 7)).astype("float32")
    value, gradient = value_and_gradient([2.0, -1.0, 6.0], logits)
    probabilities = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    targets = np.full((3, 7), 0.1 / 7) + 0.9 * np.eye(7)[[2, 0, 6]]
    losses = -(targets * np.log(probabilities)).sum(-1)
    np.testing.assert_allclose(value, (losses[0] + losses[2]) / 2, rtol=1e-5)
    expected = (probabilities - targets) / 2 * np.array([1, 0, 1])[:, None]
    np.testing.assert_allclose(gradient, expected, atol=1e-6)
