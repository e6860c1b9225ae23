"""The examples in the docstrings run."""

import doctest
import importlib
import pkgutil

import pytest

import keras_transformer

MODULES = [
    module.name
    for module in pkgutil.walk_packages(
        keras_transformer.__path__, keras_transformer.__name__ + "."
    )
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    assert doctest.testmod(importlib.import_module(name), optionflags=flags).failed == 0


def test_most_modules_have_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    without = [
        name
        for name in MODULES
        if not any(test.examples for test in finder.find(importlib.import_module(name)))
    ]
    assert len(without) < len(MODULES) / 2, without
