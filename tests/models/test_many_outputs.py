"""Outputs of many sentences, in batches of several lengths, with a vocabulary of any size."""

import math
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from layers.fresh_process import report_of
from models import berts
from numpy.testing import assert_allclose


@pytest.mark.slow
def test_evaluation_keeps_no_logits_of_batches_that_are_over():
    """2,000 sentences of 64 tokens: all logits over 32,000 ids would be 16 GB."""
    report = report_of(Path(__file__).with_name("evaluate_big_vocabulary.py"))
    assert report["all_logits"] > 16e9
    assert report["growth"] < 2 * 2**30
    # Random ids are as good as unknown.
    assert abs(report["scores"]["loss"] - math.log(32_000)) < 2
    assert report["scores"]["token_accuracy"] < 0.01


def test_predictions_of_batches_of_several_lengths_are_rows_in_order():
    model = berts.built("tagger")
    random = np.random.default_rng(2)
    sizes = ((3, 5), (2, 7), (3, 5))
    batches = [{"token_ids": random.integers(3, 31, size).astype("int32")} for size in sizes]
    signature = {"token_ids": tf.TensorSpec([None, None], tf.int32)}
    data = tf.data.Dataset.from_generator(lambda: iter(batches), output_signature=signature)
    data = data.apply(tf.data.experimental.assert_cardinality(len(batches)))
    predicted = [row.numpy() for row in model.predict(data, verbose=0)]
    expected = [row for batch in batches for row in model(batch).numpy()]
    assert [row.shape for row in predicted] == [(5, 5)] * 3 + [(7, 5)] * 2 + [(5, 5)] * 3
    for row, right in zip(predicted, expected, strict=True):
        assert_allclose(row, right, atol=1e-5)
