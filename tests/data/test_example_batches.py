"""Batches of examples in memory: padding, order, epochs, replicas and exact resumption."""

import collections

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.data import ExampleBatches


def make_examples(count, longest=40, seed=0):
    """Examples that begin with their own number."""
    rng = np.random.default_rng(seed)
    examples = []
    for number in range(count):
        length = int(rng.integers(1, longest))
        ids = np.full(length, 7, np.int64)
        ids[0] = number + 1
        examples.append({"token_ids": ids, "mask": ids > 7, "label": number})
    return examples


def make_batches(count=500, **options):
    return ExampleBatches(make_examples(count), "label", **options)


def numbers(batches):
    return [int(n) for _, labels, *_ in batches for n in np.asarray(labels)]


def assert_same(one, other):
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        tf.nest.map_structure(np.testing.assert_array_equal, a, b)


def test_fields_are_padded_and_typed():
    examples = [
        {"token_ids": np.array([5, 6], np.int8), "ok": np.array([True, True]), "x": 0.5, "y": 3},
        {"token_ids": np.array([7]), "ok": np.array([True]), "x": 1.5, "y": 4},
    ]
    batches = ExampleBatches(examples, "y", length_multiple=4, training=False)
    ((features, labels),) = batches.dataset
    assert features["token_ids"].numpy().tolist() == [[7, 0], [5, 6]]
    assert features["ok"].numpy().tolist() == [[True, False], [True, True]]
    assert features["x"].numpy().tolist() == [1.5, 0.5]
    assert labels.numpy().tolist() == [4, 3]
    assert (features["token_ids"].dtype, features["ok"].dtype) == (tf.int32, tf.bool)
    assert (features["x"].dtype, labels.dtype) == (tf.float32, tf.int32)


def test_several_labels_come_as_a_dict_with_their_own_fillers():
    examples = [{"token_ids": np.arange(1, n), "tags": np.arange(1, n), "start": n} for n in (3, 4)]
    batches = ExampleBatches(
        examples, ("tags", "start"), fillers={"tags": -1}, training=False, length_multiple=2
    )
    ((features, labels),) = batches.batches()
    assert list(features) == ["token_ids"]
    assert labels["tags"].tolist() == [[1, 2, -1], [1, 2, 3]]
    assert labels["start"].tolist() == [3, 4]


def test_arrays_of_their_own_length_are_padded_on_their_own():
    examples = [
        {"token_ids": np.ones(n, int), "positions": np.arange(n // 10), "y": 0} for n in (9, 31)
    ]
    ((features, _),) = ExampleBatches(examples, "y", training=False).batches()
    assert features["token_ids"].shape == (2, 31) and features["positions"].shape == (2, 3)


def test_every_example_comes_once_an_epoch_among_others_of_its_length():
    batches = make_batches(1000, batch_size=16)
    epoch = list(batches.batches(3))
    assert sorted(numbers(epoch)) == list(range(1000))
    assert len(epoch) == batches.count_batches() == 63
    assert batches.report.padding_share < 0.25
    assert all(x["token_ids"].shape[1] in (8, 16, 24, 32, 39) for x, _ in epoch)


def test_order_depends_on_seed_and_epoch_alone():
    def order(seed, epoch):
        return numbers(make_batches(seed=seed).batches(epoch))

    orders = [order(0, 0), order(0, 1), order(1, 0)]
    assert order(0, 1) == orders[1]
    assert len({tuple(one) for one in orders}) == 3
    assert abs(np.corrcoef(orders[0], range(500))[0, 1]) < 0.2


def test_evaluation_keeps_one_order_and_rows_say_whose_answers_they_are():
    batches = make_batches(training=False, batch_size=32)
    assert_same(list(batches.batches(0)), list(batches.batches(9)))
    rows = [n for some in batches.rows() for n in some.tolist()]
    assert rows == numbers(batches.batches())


def test_the_dataset_knows_its_length_and_its_iterators_are_successive_epochs():
    batches = make_batches()
    assert int(batches.dataset.cardinality()) == batches.count_batches()
    for epoch in range(3):
        assert_same(list(batches.dataset.as_numpy_iterator()), list(batches.batches(epoch)))


@pytest.mark.parametrize("skip", [0, 1, 15, 16])
def test_an_epoch_continues_at_any_batch_and_the_next_one_is_whole(skip):
    batches = make_batches()
    assert batches.count_batches() == 16
    next(iter(batches.dataset))  # someone looks at a batch first
    batches.clock.epoch, batches.clock.skip_batches = 4, skip
    assert_same(list(batches.dataset.as_numpy_iterator()), list(batches.batches(4))[skip:])
    assert_same(list(batches.dataset.as_numpy_iterator()), list(batches.batches(5)))


def test_rows_of_fillers_make_batches_divisible_and_weigh_nothing():
    examples = [{"token_ids": np.array([9]), "y": 1, "weight": 2.0} for _ in range(10)]
    batches = ExampleBatches(
        examples, "y", batch_size=4, replicas=4, weights="weight", fillers={"y": -1}
    )
    rows = collections.Counter()
    for features, labels, weights in batches.dataset.as_numpy_iterator():
        assert len(labels) == 4 and set(features) == {"token_ids"}
        for ids, label, weight in zip(features["token_ids"], labels, weights, strict=True):
            rows[int(ids[0]), int(label), float(weight)] += 1
    assert rows == {(9, 1, 2.0): 10, (0, -1, 0.0): 2}


def test_examples_can_be_made_anew_for_every_epoch():
    made = []

    def examples(epoch):
        made.append(epoch)
        return [{"token_ids": np.array([epoch, n]), "y": n} for n in range(5)]

    batches = ExampleBatches(examples, "y", batch_size=2)
    for epoch in (0, 1, 2):
        for features, _ in batches.dataset.as_numpy_iterator():
            assert set(features["token_ids"][:, 0]) == {epoch}
    assert made == [0, 1, 2]  # each one once


def test_an_epoch_with_another_number_of_examples_is_refused():
    batches = ExampleBatches(
        lambda epoch: [{"token_ids": np.array([1]), "y": 0}] * (epoch + 3), "y"
    )
    with pytest.raises(ValueError, match="epoch 2 has 5 examples, but epoch 0 has 3"):
        list(batches.batches(2))


def test_fit_shows_the_right_number_of_steps_and_resumes():
    batches = make_batches(100, batch_size=8)
    inputs = keras.Input((None,), dtype="int32", name="token_ids")
    mask = keras.Input((None,), dtype="bool", name="mask")
    pooled = keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(200, 2)(inputs))
    model = keras.Model({"token_ids": inputs, "mask": mask}, keras.layers.Dense(1)(pooled))
    model.compile("sgd", "mse")
    steps = []

    class Count(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            steps.append(0)
            if epoch == 1:
                batches.clock.epoch, batches.clock.skip_batches = 1, 10

        def on_train_batch_end(self, batch, logs=None):
            steps[-1] += 1

    model.fit(batches.dataset, epochs=3, verbose=0, callbacks=[Count()], shuffle=False)
    assert steps == [13, 3, 13]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": "tag"}, "no field 'tag'; they have: token_ids, mask, label"),
        ({"batch_size": 6, "replicas": 4}, "batch_size=6 must be a positive multiple of the 4"),
        ({"length": "label"}, "no array 'label' that gives their length"),
        ({"fillers": {"tags": 1}}, "no field 'tags'"),
        ({"length_multiple": 0}, "length_multiple must be at least 1, not 0"),
        ({"examples": []}, "there is no example to work with"),
        ({"examples": [{"token_ids": np.zeros((2, 2))}]}, r"an array \[length\], not \(2, 2\)"),
        ({"examples": [{"token_ids": np.array(["a"])}]}, "numbers or booleans, not <U1"),
    ],
)
def test_impossible_arguments_are_refused(change, message):
    arguments = {"examples": make_examples(3), "labels": "label"} | change
    with pytest.raises(ValueError, match=message):
        ExampleBatches(**arguments)


def test_examples_with_other_fields_are_refused():
    examples = make_examples(3)
    del examples[2]["mask"]
    with pytest.raises(ValueError, match="example 2 has the fields token_ids, label"):
        ExampleBatches(examples, "label")
