"""Signatures whose search XLA compiles."""

from __future__ import annotations

from typing import Any

from keras_transformer.tasks import Task


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

    >>> compiled_signatures(Task.load("runs/translate")).keys()  # doctest: +SKIP
    dict_keys(['serving_default_xla', 'n_best_xla'])
    """
    compiled = task.compiled()
    if compiled is None:
        return {}
    return {
        f"{name}_xla": function
        for name, function in compiled.signatures().items()
        if must_compile(function)  # the scores of texts, say, need no search
    }


def must_compile(function: Any) -> bool:
    """Whether a part of a function with an input signature runs by XLA only.

    >>> import tensorflow as tf
    >>> fast = tf.function(lambda x: 2 * x, [tf.TensorSpec([None])], jit_compile=True)
    >>> must_compile(fast), must_compile(tf.function(lambda x: x, [tf.TensorSpec([None])]))
    (True, False)
    """
    graph = function.get_concrete_function()
    parts = [graph.function_def, *graph.graph.as_graph_def().library.function]
    return any(part.attr["_XlaMustCompile"].b for part in parts)
