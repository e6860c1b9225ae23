"""Signatures whose search XLA compiles."""

from __future__ import annotations

import copy
import dataclasses
import functools
from types import MethodType
from typing import Any

import tensorflow as tf

from keras_transformer.tasks import Task, TextGenerator, Translator


def compiled_signatures(task: Task) -> dict[str, Any]:
    """A task's signatures with a search that XLA compiles, named `<name>_xla`.

    They take and give what the ordinary ones do, faster, but for some seconds of compilation for
    each new shape; shapes are rounded up, so that there are few. A server runs them only where XLA
    is switched on (`--xla_cpu_compilation_enabled` on a CPU). Strings are no matter for XLA: only
    the search inside is compiled, so a signature without a search has no such twin. The encoders'
    tasks have none at all: their model runs once, and there is no loop to gain much from.

    Args:
        task: any task.

    Returns:
        The functions by name; none for a task that does not search.

    >>> compiled_signatures(Translator.load("runs/translate")).keys()  # doctest: +SKIP
    dict_keys(['serving_default_xla', 'n_best_xla'])
    """
    compiled = copy.copy(task)  # with the same model
    if isinstance(task, Translator):
        compiled._search = dataclasses.replace(task._search, jit_compile=True)
    elif isinstance(task, TextGenerator):
        compiled._search = functools.partial(task._search, jit_compile=True)
    else:
        return {}
    twins = {}
    for name, function in task.signatures().items():
        method = MethodType(function.python_function.__func__, compiled)
        twin = tf.function(method, function.input_signature, autograph=False)
        if must_compile(twin):  # the scores of texts, say, need no search
            twins[f"{name}_xla"] = twin
    return twins


def must_compile(function: Any) -> bool:
    """Whether a part of a function with an input signature runs by XLA only.

    >>> fast = tf.function(lambda x: 2 * x, [tf.TensorSpec([None])], jit_compile=True)
    >>> must_compile(fast), must_compile(tf.function(lambda x: x, [tf.TensorSpec([None])]))
    (True, False)
    """
    graph = function.get_concrete_function()
    parts = [graph.function_def, *graph.graph.as_graph_def().library.function]
    return any(part.attr["_XlaMustCompile"].b for part in parts)
