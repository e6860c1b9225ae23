"""The examples in the docstrings run."""

import doctest
import importlib
import pkgutil

import pytest

import keras_transformer.layers
import keras_transformer.models

MODULES = [
    module.name
    for package in (keras_transformer.layers, keras_transformer.models)
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + ".")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testmod(importlib.import_module(name), optionflags=flags)
    assert result.failed == 0
    # Base classes and private helpers have no example of their own.
    assert result.attempted > 0 or name.endswith((".block", ".cache"))
