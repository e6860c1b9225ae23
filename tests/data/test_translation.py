"""Batches for translation: shapes, budgets, counts, order, epochs and exact resumption."""

import collections
import random
import resource
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.data import TextPairs, TranslationBatches, translation_dataset


class NumberTokenizer(tf.Module):
    """Texts are numbers between spaces; number n becomes id n + 4, so that ids tell the text."""

    pad_id, bos_id, eos_id, unk_id = 0, 1, 2, 3

    def tokenize(self, texts):
        words = tf.strings.split(texts)
        return tf.ragged.map_flat_values(lambda w: tf.strings.to_number(w, tf.int32) + 4, words)


TOKENIZER = NumberTokenizer()


def make_pairs(count, longest=30, seed=0):
    """Pairs whose source begins with their own number and whose target ends with it."""

    def read():
        rng = random.Random(seed)
        for i in range(count):
            source = [i] + [7] * rng.randrange(longest)
            target = [8] * min(longest - 1, max(0, len(source) + rng.randrange(-4, 5))) + [i]
            yield " ".join(map(str, source)), " ".join(map(str, target))

    return TextPairs("numbers", read)


def make_batches(pairs, **options):
    return TranslationBatches(pairs, TOKENIZER, TOKENIZER, **options)


def numbers_of(batch):
    """The pairs' numbers in a batch; rows of padding have none."""
    source = batch[0]["source"]
    return [int(row[0]) - 4 for row in np.asarray(source) if row.any()]


def assert_same(one, other):
    assert len(one) == len(other)
    for (x, y), (u, v) in zip(one, other, strict=True):
        np.testing.assert_array_equal(x["source"], u["source"])
        np.testing.assert_array_equal(x["target"], u["target"])
        np.testing.assert_array_equal(y, v)


def test_source_target_and_labels_of_two_pairs():
    pairs = TextPairs("two", lambda: iter([("5 6 7", "1"), ("9", "2 3 4")]))
    ((inputs, labels),) = make_batches(pairs, training=False, length_multiple=4).dataset
    assert inputs["source"].numpy().tolist() == [[9, 10, 11, 2], [13, 2, 0, 0]]
    assert inputs["target"].numpy().tolist() == [[1, 5, 0, 0], [1, 6, 7, 8]]
    assert labels.numpy().tolist() == [[5, 2, 0, 0], [6, 7, 8, 2]]
    assert {inputs["source"].dtype, inputs["target"].dtype, labels.dtype} == {tf.int32}


@pytest.mark.parametrize("shuffle_buffer", [1, 100, 100_000])
def test_every_pair_comes_once_within_the_token_budget(shuffle_buffer):
    batches = make_batches(
        make_pairs(3000),
        batch_tokens=512,
        replicas=3,
        max_source_length=64,
        max_target_length=64,
        shuffle_buffer=shuffle_buffer,
    )
    seen = collections.Counter()
    for inputs, labels in batches.dataset:
        rows, source_length = inputs["source"].shape
        assert inputs["target"].shape == labels.shape == (rows, labels.shape[1])
        assert rows % 3 == 0
        assert rows * max(source_length, labels.shape[1]) <= 512
        assert source_length % 8 == labels.shape[1] % 8 == 0
        seen.update(numbers_of((inputs, labels)))
        # The partners are still partners: a target ends with its source's number.
        for source, label in zip(inputs["source"].numpy(), labels.numpy(), strict=True):
            assert not label.any() if not source.any() else source[0] in label
    assert seen == collections.Counter(range(3000))


def test_rows_of_padding_fill_the_last_batch_only_and_hold_nothing_real():
    batches = list(make_batches(make_pairs(10), batch_size=4, replicas=4).batches())
    assert sorted(n for batch in batches for n in numbers_of(batch)) == list(range(10))
    blank = sum(int(not row.any()) for x, _ in batches for row in x["source"])
    assert blank == 2
    for inputs, labels in batches:
        is_blank = ~inputs["source"].any(axis=1)
        assert not inputs["target"][is_blank].any() and not labels[is_blank].any()


def test_few_shapes_and_the_same_in_every_epoch():
    batches = make_batches(make_pairs(20_000, longest=60), batch_tokens=1024)

    def shapes(epoch):
        return collections.Counter((x["source"].shape, y.shape) for x, y in batches.batches(epoch))

    assert shapes(0) == shapes(5)
    assert len(shapes(0)) <= 40 < batches.count_batches() / 10
    assert batches.report.padding_share < 0.25


def test_order_is_shuffled_by_seed_and_epoch_and_repeats_exactly():
    def order(seed, epoch):
        batches = make_batches(make_pairs(2000), batch_tokens=512, seed=seed)
        return [n for batch in batches.batches(epoch) for n in numbers_of(batch)]

    orders = [order(0, 0), order(0, 1), order(1, 0)]
    assert order(0, 1) == orders[1]
    for i, one in enumerate(orders):
        assert sorted(one) == list(range(2000))
        assert all(one != other for other in orders[:i])
    # Far from the order of the file, in batches of one length as in those of all lengths.
    assert abs(np.corrcoef(orders[0], range(2000))[0, 1]) < 0.1
    lengths = [x["source"].shape[1] for x, _ in make_batches(make_pairs(2000)).batches()]
    assert lengths != sorted(lengths)


def test_evaluation_keeps_one_order():
    batches = make_batches(make_pairs(500), batch_size=20, training=False)
    assert_same(list(batches.batches(0)), list(batches.batches(1)))
    by_shape = collections.defaultdict(list)
    for batch in list(batches.batches())[:-5]:
        by_shape[batch[0]["source"].shape, batch[1].shape].extend(numbers_of(batch))
    assert all(numbers == sorted(numbers) for numbers in by_shape.values())


def test_iterators_are_successive_epochs():
    batches = make_batches(make_pairs(700), batch_tokens=512)
    for epoch in range(3):
        assert_same(list(batches.dataset.as_numpy_iterator()), list(batches.batches(epoch)))


@pytest.mark.parametrize("skip", [0, 1, 20, "all but one", "all"])
def test_an_epoch_continues_at_any_batch_and_the_next_one_is_whole(skip):
    batches = make_batches(make_pairs(2000), batch_tokens=512, shuffle_buffer=300)
    skip = {"all but one": batches.count_batches() - 1, "all": batches.count_batches()}.get(
        skip, skip
    )
    next(iter(batches.dataset))  # someone looks at a batch first
    batches.clock.epoch, batches.clock.skip_batches = 4, skip
    assert_same(list(batches.dataset.as_numpy_iterator()), list(batches.batches(4))[skip:])
    assert_same(list(batches.dataset.as_numpy_iterator()), list(batches.batches(5)))


def test_overlong_pairs_are_dropped_and_counted():
    pairs = TextPairs(
        "mixed", lambda: iter([("1 2", "3"), ("1 2 3", "4"), ("5", "6 7 8"), (" ", "9")])
    )
    batches = make_batches(pairs, max_source_length=3, max_target_length=3)
    with pytest.warns(UserWarning, match=r"read 3, kept 1"):
        ((inputs, _),) = batches.dataset
    assert inputs["source"].shape == (1, 3)  # never longer than the limit
    report = batches.report
    assert (report.texts.read, report.read, report.kept) == (4, 3, 1)
    assert report.dropped == {"too long": 2}
    assert "by length: read 3, kept 1, dropped 2 (too long: 2)" in str(report)


def test_overlong_pairs_are_truncated_and_counted():
    pairs = TextPairs("mixed", lambda: iter([("1 2", "3"), ("1 2 3 4", "5 6 7 8")]))
    batches = make_batches(
        pairs, max_source_length=3, max_target_length=4, overlong="truncate", training=False
    )
    ((inputs, labels),) = batches.dataset
    assert inputs["source"].numpy().tolist() == [[5, 6, 2], [5, 6, 2]]
    assert inputs["target"].numpy().tolist() == [[1, 7, 0, 0], [1, 9, 10, 11]]
    assert labels.numpy().tolist() == [[7, 2, 0, 0], [9, 10, 11, 2]]
    assert (batches.report.kept, batches.report.truncated) == (2, 1)


def test_when_nothing_is_kept_the_error_says_so():
    ten_words = TextPairs("ten words", lambda: iter([("1 " * 10, "1 " * 10)] * 7))
    with pytest.raises(ValueError, match=r"ten words: read 7, kept 0 .*too long: 7"):
        translation_dataset(ten_words, TOKENIZER, TOKENIZER, max_source_length=2)


def test_when_most_is_dropped_a_warning_gives_the_kept_share():
    rows = [("1 2 3 4", "1")] * 95 + [("1", "1")] * 5
    batches = make_batches(TextPairs("long", lambda: iter(rows)), max_source_length=3)
    with pytest.warns(UserWarning, match=r"long: read 100, kept 5 \(5\.0%\)"):
        assert batches.count_batches() == 1


def test_faults_of_the_files_are_met_before_the_first_batch():
    def read():
        yield "1", "1"
        raise ValueError("a.en, line 2: broken")

    with pytest.raises(ValueError, match=r"a.en, line 2: broken"):
        make_batches(TextPairs("broken", read)).dataset  # noqa: B018


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_tokens": 100, "batch_size": 8}, "not both"),
        ({"batch_size": 6, "replicas": 4}, "batch_size=6 must be a positive multiple of the 4"),
        ({"batch_tokens": 512, "replicas": 4}, "batch_tokens=512 is too few .* at least 1024"),
        ({"overlong": "cut"}, "overlong is 'cut'"),
        ({"max_source_length": 1}, "max_source_length must be at least 2, not 1"),
        ({"replicas": 0}, "replicas must be at least 1, not 0"),
    ],
)
def test_impossible_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make_batches(make_pairs(3), **options)


class CountSteps(keras.callbacks.Callback):
    """Counts the steps of each epoch; given a clock, also says which epoch it is."""

    def __init__(self, clock=None):
        super().__init__()
        self.steps, self.clock = [], clock

    def on_epoch_begin(self, epoch, logs=None):
        self.steps.append(0)
        if self.clock is not None:
            self.clock.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        self.steps[-1] += 1


def tiny_model():
    """The smallest model that takes a batch."""
    ids = {name: keras.Input([None], dtype="int32", name=name) for name in ("source", "target")}
    hidden = keras.layers.Embedding(5000, 4)(ids["target"])
    model = keras.Model(ids, keras.layers.Dense(5000)(hidden))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0)
    model.compile("sgd", loss, jit_compile=False)
    return model


def test_fit_sees_whole_epochs_without_a_false_warning():
    rows = [("1 2 3 4 5 6 7 8 9", "1") if i % 10 < 3 else (f"{i}", "1 2") for i in range(400)]
    batches = make_batches(
        TextPairs("30 percent go", lambda: iter(rows)), batch_tokens=256, max_source_length=8
    )
    assert batches.report.kept == 280
    validation = make_batches(make_pairs(50), batch_tokens=256, training=False).dataset
    counter = CountSteps(batches.clock)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tiny_model().fit(
            batches.dataset,
            epochs=3,
            validation_data=validation,
            verbose=0,
            callbacks=[counter],
            shuffle=False,
        )
    assert counter.steps == [batches.count_batches()] * 3


@pytest.mark.slow
def test_memory_stays_bounded_and_level_over_epochs():
    texts = [" ".join("7" * n) for n in range(1, 60)]

    def read():  # 300,000 pairs; held all at once, they take about 150 MB
        for i in range(300_000):
            yield texts[i % 59], texts[i % 53]

    batches = make_batches(TextPairs("many", read), shuffle_buffer=20_000, hold_bytes=2**20)
    next(batches.batches())  # tracing and threads are not what is measured

    def resident_mb():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize() / 2**20

    before = resident_mb()
    peaks = []
    for epoch in range(3):
        sampled = (resident_mb() for i, _ in enumerate(batches.batches(epoch)) if i % 20 == 0)
        peaks.append(max(sampled) - before)
    assert max(peaks) < 60
    assert peaks[2] < peaks[1] + 15  # the first one grows to what the process needs
