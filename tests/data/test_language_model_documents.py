"""Whole documents packed into blocks: none sees another, none is lost, little is padding."""

import collections

import keras
import numpy as np
import pytest
from data.corpus_of_numbers import (
    EOS,
    NumberWords,
    numbered_documents,
    real_labels,
    rows_of,
    stream_of,
)

from keras_transformer.data import TextDocuments, language_model_batches
from keras_transformer.models import Gpt, GptConfig


def make_batches(documents=None, **options):
    options = {"block_size": 32, "batch_size": 4, "packing": "documents", "seed": 0} | options
    return language_model_batches(documents or numbered_documents(300), NumberWords(), **options)


def segments_of(batches):
    """(inputs, labels) of every document or piece of one."""
    for features, labels in batches:
        for ids, segments, targets in zip(
            features["token_ids"], features["segment_ids"], labels, strict=True
        ):
            for number in range(1, int(segments.max()) + 1):
                of_segment = segments == number
                yield ids[of_segment], targets[of_segment]


def document_numbers(documents):
    """The document that each id belongs to."""
    return {
        4 + int(word): number for number, (text,) in enumerate(documents) for word in text.split()
    }


@pytest.mark.parametrize("hold_tokens", [1, 700, 10**6])
def test_no_label_and_no_input_reaches_into_another_document(hold_tokens):
    batches = make_batches(hold_tokens=hold_tokens)
    number_of = document_numbers(numbered_documents(300))
    for epoch in range(2):
        for inputs, labels in segments_of(batches.batches(epoch)):
            ids = {int(i) for i in (*inputs, *labels)} - {EOS}
            assert len({number_of[i] for i in ids}) == 1
            np.testing.assert_array_equal(inputs[1:], labels[:-1])
            assert EOS not in labels[:-1]  # it ends a document, never stands within


@pytest.mark.parametrize("hold_tokens", [1, 700, 10**6])
@pytest.mark.parametrize("block_size", [1, 5, 32, 4096])
def test_every_token_and_end_marker_is_a_label_once_an_epoch(block_size, hold_tokens):
    batches = make_batches(block_size=block_size, hold_tokens=hold_tokens)
    expected = collections.Counter(stream_of(numbered_documents(300)))
    for epoch in (0, 3):
        assert collections.Counter(real_labels(batches.batches(epoch))) == expected


def test_a_document_that_fits_stays_whole_and_starts_after_the_start_id():
    documents = numbered_documents(300, longest=31)
    for options, start in (({}, EOS), ({"start_id": 1}, 1)):
        found = list(segments_of(make_batches(documents, **options).batches()))
        assert len(found) == 300
        for inputs, labels in found:
            assert inputs[0] == start and labels[-1] == EOS


def test_a_longer_document_is_cut_into_pieces_that_follow_each_other():
    text = " ".join(map(str, range(70)))
    batches = make_batches(TextDocuments("one", lambda: iter([[text]])), training=False)
    pieces = list(segments_of(batches.batches()))
    assert [len(labels) for _, labels in pieces] == [32, 32, 7]
    assert [int(inputs[0]) for inputs, _ in pieces] == [EOS, 35, 67]
    assert [int(i) for _, labels in pieces for i in labels] == [*range(4, 74), EOS]


def test_segments_are_numbered_from_one_and_padding_stands_last():
    for features, labels in make_batches().batches():
        for segments, targets in zip(features["segment_ids"], labels, strict=True):
            real = segments != 0
            np.testing.assert_array_equal(real, targets != 0)
            steps = np.diff(segments[real])
            assert set(steps) <= {0, 1} and (not real.any() or segments[0] == 1)
            assert not real[real.sum() :].any()


def test_little_of_the_blocks_is_padding():
    short = make_batches(numbered_documents(2000, longest=40), block_size=128, batch_size=1)
    assert short.report.padding_share < 0.01
    # Longer than half of a block: they cannot share one.
    halves = make_batches(TextDocuments("17", lambda: iter([[" ".join("1" * 17)]] * 100)))
    assert halves.count_examples == 100


def test_validation_keeps_one_order_and_training_shuffles_the_blocks():
    batches = make_batches(training=False)
    one, other = (rows_of(batches.batches(epoch)) for epoch in (0, 4))
    assert [row[1].tolist() for row in one] == [row[1].tolist() for row in other]
    orders = [
        [tuple(labels) for _, labels in rows_of(make_batches().batches(epoch))]
        for epoch in (0, 1, 1)
    ]
    assert orders[1] == orders[2] != orders[0]
    assert sorted(orders[0]) == sorted(orders[1])


def test_an_epoch_continues_at_any_batch():
    for hold_tokens in (700, 10**6):
        batches = make_batches(hold_tokens=hold_tokens)
        batches.clock.epoch, batches.clock.skip_batches = 2, 5
        rest = list(batches.dataset.as_numpy_iterator())
        expected = list(batches.batches(2))[5:]
        assert len(rest) == len(expected) == batches.count_batches() - 5
        for (x, y), (u, v) in zip(rest, expected, strict=True):
            np.testing.assert_array_equal(x["segment_ids"], u["segment_ids"])
            np.testing.assert_array_equal(x["token_ids"], u["token_ids"])
            np.testing.assert_array_equal(y, v)


def test_what_a_model_gives_for_a_document_does_not_depend_on_its_neighbours():
    keras.utils.set_random_seed(0)
    model = Gpt(GptConfig.preset("nano", vocab_size=7000))
    features, _ = next(make_batches().batches())
    together = np.asarray(model(features))  # [batch, block, vocabulary]
    compared = 0
    for row, segments in enumerate(features["segment_ids"]):
        for number in range(1, int(segments.max()) + 1):
            place = segments == number
            alone = model({"token_ids": features["token_ids"][row][place][None]})
            np.testing.assert_allclose(together[row][place], np.asarray(alone)[0], atol=1e-5)
            compared += 1
    assert compared > 4
