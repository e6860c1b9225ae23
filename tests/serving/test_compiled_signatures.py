"""Which signatures have a twin that XLA compiles, and what it says."""

from __future__ import annotations

import pytest
import small_exports
import tensorflow as tf

from keras_transformer.serving.compiled_signatures import compiled_signatures, must_compile
from keras_transformer.serving.export import chosen_signatures


@pytest.mark.parametrize("kind", ["classifier", "tagger"])
def test_a_task_that_does_not_search_has_none(kind):
    task = small_exports.task(kind)
    assert compiled_signatures(task) == {}
    with pytest.raises(ValueError, match="has no search for XLA to compile: export it without XLA"):
        chosen_signatures(task, xla=True)


@pytest.mark.slow
def test_texts_are_generated_alike_and_scored_without_a_search():
    task = small_exports.task("characters")
    ordinary, twins = task.signatures(), compiled_signatures(task)
    assert twins.keys() == {"serving_default_xla", "generate_xla"}
    assert not any(must_compile(function) for function in ordinary.values())
    prompts = tf.constant(["the dog", "", "a"])
    expected, found = ordinary["serving_default"](prompts), twins["serving_default_xla"](prompts)
    assert found["text"].numpy().tolist() == expected["text"].numpy().tolist()
    tf.debugging.assert_near(found["score"], expected["score"], 1e-3)


@pytest.mark.slow
def test_only_the_twins_of_chosen_signatures_are_served():
    task = small_exports.task("translator")
    assert chosen_signatures(task, ["serving_default"], xla=True).keys() == {
        "serving_default",
        "serving_default_xla",
    }
    assert chosen_signatures(task, xla=True).keys() == {
        *("serving_default", "n_best"),
        *("serving_default_xla", "n_best_xla"),
    }
