"""Documents joined and cut to blocks: no token lost or doubled, order, shifts, resumption."""

import collections
import itertools
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf
from data.corpus_of_numbers import (
    EOS,
    NumberWords,
    numbered_documents,
    real_labels,
    rows_of,
    stream_of,
)

from keras_transformer.data import TextDocuments, ignored_label, language_model_batches
from keras_transformer.text import CharacterTokenizer


def make_batches(count=60, **options):
    options = {"block_size": 16, "batch_size": 4, "seed": 0} | options
    return language_model_batches(numbered_documents(count), NumberWords(), **options)


def assert_same(one, other):
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        tf.nest.map_structure(np.testing.assert_array_equal, a, b)


@pytest.mark.parametrize("block_size", [1, 7, 16, 1000, 5000])
@pytest.mark.parametrize("hold_tokens", [1, 300, 10**6])
def test_every_token_and_end_marker_is_a_label_once_an_epoch(block_size, hold_tokens):
    batches = make_batches(block_size=block_size, hold_tokens=hold_tokens)
    expected = collections.Counter(stream_of(numbered_documents(60)))
    for epoch in (0, 1, 5):
        assert collections.Counter(real_labels(batches.batches(epoch))) == expected


def test_a_label_is_the_token_after_its_input_in_the_joined_text():
    stream = stream_of(numbered_documents(60))
    followers = set(itertools.pairwise([EOS, *stream]))
    for epoch in range(3):
        for inputs, labels in rows_of(make_batches().batches(epoch)):
            assert set(zip(inputs.tolist(), labels.tolist(), strict=True)) <= followers
            np.testing.assert_array_equal(inputs[1:], labels[:-1])


def test_only_the_last_block_has_padding():
    tokens = len(stream_of(numbered_documents(60)))
    for training in (True, False):
        batches = make_batches(training=training)
        lengths = sorted(len(labels) for _, labels in rows_of(batches.batches(3)))
        assert lengths[1:] == [16] * (tokens // 16) and lengths[0] == tokens % 16 > 0
        assert batches.count_examples == len(lengths)
        assert batches.count_batches() == -(-len(lengths) // 4)


def test_validation_keeps_the_order_and_fills_the_last_batch_with_padding():
    batches = make_batches(training=False)
    epoch = list(batches.batches())
    assert real_labels(epoch) == stream_of(numbered_documents(60))
    assert_same(epoch, list(batches.batches(9)))
    assert {(x["token_ids"].shape, y.shape) for x, y in epoch} == {((4, 16), (4, 16))}
    assert not epoch[-1][1][-1].any() and not epoch[-1][0]["token_ids"][-1].any()


def test_blocks_begin_elsewhere_in_every_epoch_and_come_in_another_order():
    batches = make_batches(600)
    firsts = [
        {int(labels[0]) for _, labels in rows_of(batches.batches(epoch))} for epoch in range(6)
    ]
    assert len(set(map(frozenset, firsts))) >= 5
    orders = [tuple(real_labels(batches.batches(epoch))) for epoch in range(3)]
    assert len(set(orders)) == 3
    assert orders[1] == tuple(real_labels(make_batches(600).batches(1)))  # the same in every run
    assert orders[1] != tuple(real_labels(make_batches(600, seed=1).batches(1)))
    assert abs(np.corrcoef(orders[0], range(len(orders[0])))[0, 1]) < 0.1


def test_the_dataset_knows_its_length_and_its_iterators_are_successive_epochs():
    batches = make_batches()
    assert int(batches.dataset.cardinality()) == batches.count_batches()
    for epoch in range(3):
        assert_same(list(batches.dataset.as_numpy_iterator()), list(batches.batches(epoch)))


@pytest.mark.parametrize("hold_tokens", [200, 10**6])
@pytest.mark.parametrize("skip", [0, 1, 7, "all"])
def test_an_epoch_continues_at_any_batch_and_the_next_one_is_whole(skip, hold_tokens):
    batches = make_batches(hold_tokens=hold_tokens)
    skip = batches.count_batches() if skip == "all" else skip
    next(iter(batches.dataset))  # someone looks at a batch first
    batches.clock.epoch, batches.clock.skip_batches = 4, skip
    assert_same(list(batches.dataset.as_numpy_iterator()), list(batches.batches(4))[skip:])
    assert_same(list(batches.dataset.as_numpy_iterator()), list(batches.batches(5)))


def test_a_corpus_that_is_not_held_is_shuffled_as_a_whole():
    batches = make_batches(count=200, hold_tokens=512)
    assert batches.report.on_disk and "in a temporary file" in str(batches.report)
    assert not make_batches().report.on_disk
    numbers = [np.mean(real_labels([batch])) for batch in batches.batches(0)]
    assert abs(np.corrcoef(numbers, range(len(numbers)))[0, 1]) < 0.3


def test_sentences_are_joined_by_line_feeds_and_the_report_counts_bytes():
    documents = TextDocuments("two", lambda: iter([["é", "b"], ["b"]]))
    batches = language_model_batches(
        documents, CharacterTokenizer("éb\n"), block_size=6, batch_size=1, training=False
    )
    ((features, labels),) = batches.batches()
    assert features["token_ids"].tolist() == [[2, 4, 6, 5, 2, 5]]
    assert labels.tolist() == [[4, 6, 5, 2, 5, 2]]
    report = batches.report
    assert (report.tokens, report.text_bytes, report.texts.documents) == (6, 5, 2)
    assert report.padding_share == 0
    assert report.bits_per_byte(np.log(2)) == pytest.approx(6 / 5)
    assert "6 tokens of 5 bytes" in str(report)


def test_a_long_text_is_tokenised_in_pieces_that_make_it_up_again():
    lines = [f"{n} " * (n % 700) for n in range(300)]  # 300 KB, in lines of up to 3,500 characters
    text = "\n".join([*lines, "x" * 40_000, "y " * 20_000])
    tokenizer = CharacterTokenizer.train([text])
    batches = language_model_batches(
        TextDocuments("long", lambda: iter([[text], ["1"]])),
        tokenizer,
        block_size=512,
        batch_size=8,
        training=False,
    )
    ids = real_labels(batches.batches())
    assert ids == [*tokenizer.tokenize(text).numpy(), 2, *tokenizer.tokenize("1").numpy(), 2]


def test_documents_without_tokens_have_no_end_marker_and_are_counted():
    class SkipsX(NumberWords):
        def tokenize(self, texts):
            return super().tokenize(tf.strings.regex_replace(texts, "x", ""))

    documents = TextDocuments("odd", lambda: iter([["x"], ["5"], ["x", "x"]] * 2))
    batches = language_model_batches(documents, SkipsX(), block_size=4, batch_size=1)
    assert sorted(real_labels(batches.batches())) == [2, 2, 9, 9]
    assert batches.report.texts.documents == 2
    assert "document without tokens: 4" in str(batches.report)
    nothing = TextDocuments("nothing", lambda: iter([["x"]] * 3))
    with pytest.raises(ValueError, match="nothing: read 3, .*; there is nothing to work with"):
        language_model_batches(nothing, SkipsX()).count_batches()


@pytest.mark.parametrize("packing", ["stream", "documents"])
def test_a_text_shorter_than_the_block_gives_one_padded_block(packing):
    text = TextDocuments("50", lambda: iter([[" ".join(map(str, range(50)))]]))
    batches = language_model_batches(
        text, NumberWords(), block_size=64, batch_size=2, packing=packing, training=False
    )
    ((features, labels),) = batches.dataset
    assert labels.shape == (2, 64)
    assert np.asarray(labels)[0].tolist() == [*range(4, 54), 2, *[0] * 13]
    assert np.asarray(features["token_ids"])[0].tolist() == [2, *range(4, 54), *[0] * 13]
    assert not np.asarray(labels)[1].any()


@pytest.mark.parametrize("tokens", [63, 64, 65, 128, 129])
@pytest.mark.parametrize("training", [True, False])
def test_a_corpus_of_about_a_block_gives_as_many_blocks_as_it_needs(tokens, training):
    text = TextDocuments("some", lambda: iter([[" ".join(map(str, range(tokens - 1)))]]))
    batches = language_model_batches(
        text, NumberWords(), block_size=64, batch_size=1, training=training
    )
    assert batches.count_batches() == len(list(batches.dataset)) == -(-tokens // 64)
    expected = sorted([*range(4, tokens + 3), EOS])
    for epoch in range(2):
        assert sorted(real_labels(batches.batches(epoch))) == expected


@pytest.mark.parametrize("packing", ["stream", "documents"])
def test_fit_sees_whole_epochs_without_a_false_warning(packing):
    batches = make_batches(packing=packing)
    names = ("token_ids", "segment_ids") if packing == "documents" else ("token_ids",)
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in names}
    model = keras.Model(inputs, keras.layers.Embedding(3000, 1)(inputs["token_ids"]))
    model.compile("sgd", "mse")
    seen = []
    note = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: seen.append(batch))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DeprecationWarning)  # Keras' own dealings with NumPy
        model.fit(batches.dataset, epochs=3, verbose=0, callbacks=[note], shuffle=False)
    assert seen == [*range(batches.count_batches())] * 3


def test_where_padding_means_the_end_of_a_text_labels_are_padded_with_another_id():
    class PadsWithEnd(NumberWords):
        pad_id = bos_id = eos_id = 2
        special_ids = (2,)

    assert (ignored_label(NumberWords()), ignored_label(PadsWithEnd())) == (0, -1)
    batches = language_model_batches(
        numbered_documents(1), PadsWithEnd(), block_size=64, batch_size=1
    )
    ((features, labels),) = batches.batches()
    assert batches.ignored_label == -1
    is_token = labels[0] != -1
    assert is_token.sum() == batches.report.tokens
    assert (labels[0] == EOS).sum() == 1
    assert (features["token_ids"][0][~is_token] == 2).all()


def test_faults_of_the_files_are_met_before_the_first_batch():
    def read():
        yield ["1"]
        raise ValueError("a.txt, line 2: broken")

    with pytest.raises(ValueError, match=r"^a.txt, line 2: broken"):
        language_model_batches(TextDocuments("broken", read), NumberWords()).dataset  # noqa: B018


def test_a_text_that_ends_documents_is_refused():
    documents = TextDocuments("odd", lambda: iter([["1 -2"]]))  # the id of -2 is the end marker
    with pytest.raises(ValueError, match="odd: the tokenizer finds its end marker, id 2, inside"):
        language_model_batches(documents, NumberWords()).count_batches()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"block_size": 0}, "block_size must be at least 1, not 0"),
        ({"block_size": 1.5}, "block_size must be a whole number, not 1.5"),
        ({"batch_size": 6, "replicas": 4}, "batch_size=6 must be a positive multiple of the 4"),
        ({"packing": "tight"}, "packing is 'tight'; right are"),
        ({"start_id": 1}, 'start_id is 1, but packing="stream"'),
        ({"start_id": -1, "packing": "documents"}, "start_id is -1; ids are 0 to 59999"),
        ({"hold_tokens": 0}, "hold_tokens must be at least 1, not 0"),
    ],
)
def test_impossible_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make_batches(**options)
