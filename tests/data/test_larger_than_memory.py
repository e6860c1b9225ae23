"""Corpora of which memory holds a part: read once, level, and the same batches as ever."""

import random
import tracemalloc

import numpy as np
import pytest
import tensorflow as tf
from data.bert_tokenizers import words_tokenizer
from data.corpus_of_numbers import NumberWords, numbered_documents

from keras_transformer.data import (
    TextDocuments,
    TextPairs,
    TranslationBatches,
    language_model_batches,
    pretraining,
    pretraining_batches,
)

pytestmark = pytest.mark.slow

NUMBERS = NumberWords()


class Counted:
    """Opens a source, and counts how often."""

    def __init__(self, rows):
        self.rows = rows
        self.passes = 0

    def __call__(self):
        self.passes += 1
        yield from self.rows


def pairs_of(count=3000):
    rng = random.Random(0)
    return Counted(
        [
            (f"{i} {'7 ' * rng.randrange(20)}", f"{'8 ' * rng.randrange(20)} {i}")
            for i in range(count)
        ]
    )


def documents_of(count=60, seed=0):
    rng = np.random.default_rng(seed)
    return Counted(
        [
            [" ".join(f"w{n}" for n in rng.integers(0, 200, rng.integers(1, 12))) for _ in range(9)]
            for _ in range(count)
        ]
    )


def translation(read, **options):
    return TranslationBatches(
        TextPairs("pairs", read), NUMBERS, NUMBERS, batch_tokens=256, max_source_length=64,
        max_target_length=64, **options,
    )  # fmt: skip


def stream(read, packing="stream", **options):
    documents = TextDocuments("numbers", read)
    return language_model_batches(
        documents, NUMBERS, block_size=16, batch_size=4, packing=packing, **options
    )


def bert(read, **options):
    return pretraining_batches(
        TextDocuments("words", read), words_tokenizer(), max_length=24, batch_size=2, **options
    )


def numbers():
    return Counted(list(numbered_documents(200)))


WAYS = {
    # name -> (makes a source, makes batches of it, how to hold nothing in memory)
    "translation": (pairs_of, translation, {"hold_bytes": 0}),
    "translation in groups": (
        pairs_of,
        lambda read, **options: translation(read, shuffle_buffer=300, **options),
        {"hold_bytes": 0},
    ),
    "stream": (numbers, stream, {"hold_tokens": 1}),
    "documents": (
        numbers,
        lambda read, **options: stream(read, packing="documents", **options),
        {"hold_tokens": 1},
    ),
    "bert": (documents_of, bert, {"hold_bytes": 0}),
    "single texts": (
        documents_of,
        lambda read, **options: bert(read, next_sentence=False, **options),
        {"hold_bytes": 0},
    ),
}


def assert_same(one, other):
    one, other = list(one), list(other)
    assert len(one) == len(other) > 0
    for a, b in zip(one, other, strict=True):
        tf.nest.map_structure(np.testing.assert_array_equal, a, b)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("training", [True, False])
def test_batches_are_the_same_whether_the_ids_are_in_memory_or_in_a_file(way, training):
    source, make, hold_nothing = WAYS[way]
    held = make(source(), training=training, seed=4)
    in_a_file = make(source(), training=training, seed=4, **hold_nothing)
    for epoch in (0, 2):
        assert_same(held.batches(epoch), in_a_file.batches(epoch))
    assert held.count_batches() == in_a_file.count_batches() == len(list(held.batches(1)))


@pytest.mark.parametrize("way", WAYS)
def test_an_epoch_goes_on_where_it_was_left_in_another_process(way):
    source, make, hold_nothing = WAYS[way]
    whole = list(make(source(), **hold_nothing).batches(3))
    resumed = make(source(), **hold_nothing)  # nothing is known from before
    resumed.clock.epoch, resumed.clock.skip_batches = 3, 7
    assert_same(resumed.dataset.as_numpy_iterator(), whole[7:])
    assert_same(resumed.dataset.as_numpy_iterator(), make(source()).batches(4))


@pytest.mark.parametrize("way", WAYS)
def test_texts_are_read_once_for_all_epochs(way):
    source, make, hold_nothing = WAYS[way]
    read = source()
    batches = make(read, **hold_nothing)
    for epoch in range(3):
        for _ in batches.batches(epoch):
            pass
    assert batches.count_batches() and batches.report
    assert read.passes == 1


def test_a_corpus_beyond_the_shuffle_buffer_is_mixed_as_a_whole():
    batches = translation(pairs_of(6000), shuffle_buffer=600)
    means = [
        np.mean([row[0] - 4 for row in inputs["source"] if row.any()])
        for inputs, _ in batches.batches(1)
    ]
    # Where a pair stands in the file does not tell when it comes; it would, were the file read
    # from its beginning to its end.
    assert abs(np.corrcoef(means, range(len(means)))[0, 1]) < 0.5
    first, second = means[: len(means) // 2], means[len(means) // 2 :]
    assert max(first) > 3500 and min(second) < 2500


def test_examples_beyond_the_pool_are_made_as_they_are_needed_and_each_once(monkeypatch):
    monkeypatch.setattr(pretraining, "HOLD_POSITIONS", 24 * 64)  # 64 examples
    batches = bert(documents_of(200))
    assert batches.count_examples > 300
    assert batches._kept is None
    for epoch in (0, 1):
        rows = np.concatenate(batches.rows(epoch))
        assert sorted(rows.tolist()) == list(range(batches.count_examples))
    assert len(list(batches.batches(0))) == batches.count_batches()
    padded = sum(x["token_ids"].size for x, _ in batches.batches(0))
    assert batches.report.padded == padded
    assert_same(batches.batches(1), bert(documents_of(200)).batches(1))
    batches.clock.epoch, batches.clock.skip_batches = 1, 90
    assert_same(batches.dataset.as_numpy_iterator(), list(batches.batches(1))[90:])
    still = bert(documents_of(200), training=False)
    assert_same(still.batches(0), still.batches(5))


def peak_of(work) -> int:
    """Most bytes that Python and NumPy hold meanwhile."""
    for make in (translation, bert):  # what is loaded first is not what is measured
        source = pairs_of if make is translation else documents_of
        next(make(source(9)).batches())
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_pretraining_holds_a_part_of_its_texts_and_examples(monkeypatch):
    monkeypatch.setattr(pretraining, "HOLD_POSITIONS", 2**13)
    lines = [" ".join(f"w{n}" for n in range(i, i + 10)) for i in range(150)]

    def read():  # 300,000 tokens in 30,000 sentences: they and their examples would take 20 MB
        for number in range(3000):
            yield lines[number % 140 : number % 140 + 10]

    def two_epochs():
        batches = pretraining_batches(
            TextDocuments("many", read), words_tokenizer(), max_length=48, batch_size=4,
            hold_bytes=2**16,
        )  # fmt: skip
        for epoch in range(2):
            for _ in zip(batches.batches(epoch), range(400), strict=False):
                pass

    assert peak_of(two_epochs) < 6_000_000


def test_translation_holds_a_part_of_its_ids():
    texts = [" ".join("7" * n) for n in range(1, 60)]

    def read():  # 1.2 million ids a side, which would take 10 MB
        for i in range(40_000):
            yield texts[i % 59], texts[i % 53]

    def two_epochs():
        batches = TranslationBatches(
            TextPairs("many", read), NUMBERS, NUMBERS, shuffle_buffer=2000, hold_bytes=2**16
        )
        for epoch in range(2):
            for _ in batches.batches(epoch):
                pass

    assert peak_of(two_epochs) < 5_000_000
