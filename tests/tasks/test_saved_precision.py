"""What was saved in one precision is loaded in another, and an export says which one it has."""

import json

import keras
import numpy as np
import pytest
import small_berts

from keras_transformer.tasks import Task

KIND = "embedder"


@pytest.mark.parametrize("saved", ["float32", "mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("wanted", ["float32", "mixed_bfloat16"])
def test_weights_are_restored_across_precisions(saved, wanted, tmp_path):
    small_berts.make(KIND, dtype=saved).save(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["dtype"] == saved
    found, same = Task.load(tmp_path, dtype=wanted), Task.load(tmp_path)
    assert found.model.bert.dtype_policy.name == wanted
    assert same.model.bert.dtype_policy.name == saved
    text = small_berts.strings(["a text", "another"])
    with small_berts.eagerly():
        expected = small_berts.make(KIND, dtype=wanted).serving_default(text)
        for name, value in found.serving_default(text).items():
            np.testing.assert_array_equal(value, expected[name])


def test_a_precision_that_is_none_is_refused(tmp_path):
    small_berts.make(KIND).save(tmp_path)
    with pytest.raises(ValueError, match="half"):
        Task.load(tmp_path, dtype="half")


def test_an_export_says_in_which_precision_it_computes(tmp_path):
    keras.utils.set_random_seed(1)
    exported = small_berts.make(KIND, dtype="mixed_bfloat16").export(tmp_path)
    about = json.loads((exported / "assets.extra" / "precision.json").read_text())
    assert about == {"dtype": "mixed_bfloat16"}
