"""The examples in the docstrings run."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["characters", "sentencepiece"])
def test_examples_in_docstrings(name):
    result = doctest.testmod(importlib.import_module(f"keras_transformer.text.{name}"))
    assert result.attempted > 0 and result.failed == 0
