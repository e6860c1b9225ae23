"""Rows of every batch shared out among workers: none twice, none lost, from one seed."""

import numpy as np
import pytest
import tensorflow as tf
from data.corpus_of_numbers import NumberWords, numbered_documents

from keras_transformer.data import ExampleBatches, language_model_batches, worker_rows


def examples(count=50):
    rng = np.random.default_rng(0)
    return [{"token_ids": np.arange(1, rng.integers(2, 9)), "y": n} for n in range(count)]


def make_batches(**options):
    options = {"batch_size": 6, "seed": 3} | options
    return ExampleBatches(examples(), "y", **options)


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_workers_together_have_the_rows_of_every_batch_once(workers):
    whole = make_batches()
    shares = [worker_rows(make_batches().dataset, workers, worker) for worker in range(workers)]
    for epoch in range(2):
        parts = zip(*(share.as_numpy_iterator() for share in shares), strict=True)
        for (features, labels), parts_of_batch in zip(whole.batches(epoch), parts, strict=True):
            together = np.concatenate([y for _, y in parts_of_batch])
            assert sorted(together.tolist()) == sorted(labels.tolist())
            for worker, (part, y) in enumerate(parts_of_batch):
                assert y.tolist() == labels[worker::workers].tolist()
                np.testing.assert_array_equal(
                    part["token_ids"], features["token_ids"][worker::workers]
                )
    assert {int(share.cardinality()) for share in shares} == {whole.count_batches()}


def test_replicas_make_the_rows_go_round():
    shares = [worker_rows(make_batches(batch_size=8, replicas=4).dataset, 4, w) for w in range(4)]
    for parts in zip(*(share.as_numpy_iterator() for share in shares), strict=True):
        assert len({len(y) for _, y in parts}) == 1


def test_a_worker_goes_on_within_an_epoch():
    batches = make_batches()
    share = worker_rows(batches.dataset, 2, 1)
    batches.clock.epoch, batches.clock.skip_batches = 4, 5
    expected = [labels[1::2].tolist() for _, labels in make_batches().batches(4)][5:]
    assert [labels.tolist() for _, labels in share.as_numpy_iterator()] == expected


def test_known_shapes_stay_known_and_nothing_is_shared_out_again():
    batches = language_model_batches(
        numbered_documents(60), NumberWords(), block_size=16, batch_size=5
    )
    share = worker_rows(batches.dataset, 2, 0)
    assert share.element_spec[1].shape == (3, 16)
    policy = share.options().experimental_distribute.auto_shard_policy
    assert policy == tf.data.experimental.AutoShardPolicy.OFF


@pytest.mark.parametrize(("workers", "worker"), [(2, 2), (2, -1), (0, 0)])
def test_a_worker_that_there_is_not_is_refused(workers, worker):
    with pytest.raises(ValueError, match=f"worker is {worker}, but with {workers} workers"):
        worker_rows(tf.data.Dataset.range(3).batch(2), workers, worker)
