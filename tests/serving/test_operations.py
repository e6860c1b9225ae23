"""What stands in the exports is what a default TensorFlow Serving can run."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import small_exports
import tensorflow as tf
from google.protobuf.message import Message
from saved_model_files import devices, meta_graph, nodes, signature
from small_exports import KINDS

GENERATORS = ["characters", "subwords", "byte_pairs"]
SIGNATURES = {
    "translator": {"serving_default", "n_best", "alignment"},
    "tagger": {"serving_default"},
    "answerer": {"serving_default", "n_best", "alignment"},
    "fill_mask": {"serving_default"},
    "classifier": {"serving_default", "pair"},
    "regression": {"serving_default", "pair"},
    "embedder": {"serving_default", "tokens"},
} | dict.fromkeys(GENERATORS, {"serving_default", "generate", "score"})


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def exported(kind):
    return small_exports.export_of_all(kind)


@pytest.fixture(scope="module")
def text_operations() -> set[str]:
    """The operations that tensorflow-text brings."""
    folder = Path(find_spec("tensorflow_text").submodule_search_locations[0], "python", "ops")
    found = set()
    for library in folder.glob("_*.so"):
        module = tf.load_op_library(str(library))  # has a function by each operation's name
        found |= {name for name in vars(module) if name[0].isupper()}
    return found - set(dir(tf.raw_ops))


def served(exported: Path) -> dict[str, Any]:
    """The signatures by name, but the one that TensorFlow adds for itself."""
    found = dict(meta_graph(exported).signature_def)
    found.pop("__saved_model_init_op", None)
    return found


def test_all_signatures_of_the_task_are_there(kind, exported):
    assert set(served(exported)) == SIGNATURES[kind.partition(" of ")[0]]


def test_all_operations_are_of_tensorflow_or_of_tensorflow_text(exported, text_operations):
    own = {function.signature.name for function in meta_graph(exported).graph_def.library.function}
    operations = {node.op for node in nodes(exported)} - own
    text = operations & text_operations
    core = {name for name in operations - text if hasattr(tf.raw_ops, name)}
    print("of TensorFlow:", *sorted(core), "\nof tensorflow-text:", *sorted(text))
    assert operations - core - text == set()


def test_no_operation_needs_python_or_remembers_what_it_was_asked(exported):
    for name in {node.op for node in nodes(exported)}:
        assert not name.startswith(("PyFunc", "EagerPyFunc", "Mutable")), name
        assert not name.startswith(("Assign", "ResourceScatter", "Stack", "Queue")) or (
            name == "AssignVariableOp"  # as variables are restored
        ), name
    for key in served(exported):
        names = {node.op for _, node in reachable(exported, key)}
        assert "AssignVariableOp" not in names and "RandomUniform" not in names, key


def test_nothing_has_to_be_compiled(exported):
    for key in served(exported):
        if key.endswith("_xla"):
            continue
        for function, node in reachable(exported, key):
            assert not node.op.startswith("Xla"), (key, function, node.name)
            assert not must_compile(node.attr), (key, function, node.name)
        for function in functions_of(exported, key):
            assert not must_compile(function.attr), (key, function.signature.name)


def test_in_and_outputs_are_named_with_free_rows_and_known_ranks(exported):
    for key in served(exported):
        for name, (_, shape) in signature(exported, key).items():
            assert shape and shape[0] == -1, (key, name, shape)
            assert not name.endswith("_bytes"), (key, name)  # a server would encode it in base64
            assert not name.split(":")[1].startswith(("output_", "args_")), (key, name)


def test_no_node_asks_for_a_device(exported):
    assert devices(exported) == set()


# What TensorFlow checks as it makes ragged tensors, whatever stands in them: that their parts fit.
OF_RAGGED_TENSORS = (
    "Arguments to from_row_",
    "Arguments to _from_row_partition ",
    "Condition x == y did not hold element-wise:",
    "Input tensors at index",
    "Last row partition does not match flat_values.",
    "uniform_row_length",
)


def test_the_only_check_of_a_request_is_that_its_columns_have_one_length(kind, exported):
    # A check that fails would fail the rows of others, which a server has put beside these.
    functions = meta_graph(exported).graph_def.library.function
    checks = [
        (function, node)
        for function in functions
        for node in function.node_def
        if node.op in ("Assert", "CheckNumerics", "CheckNumericsV2")
    ]
    others = [node for function, node in checks if not is_of_ragged_tensors(function, node)]
    pairs = {"answerer": 3, "classifier": 1, "regression": 1} | dict.fromkeys(GENERATORS, 1)
    assert len(others) == pairs.get(kind.partition(" of ")[0], 0), others


def is_of_ragged_tensors(function: Any, node: Any) -> bool:
    constants = {other.name: other for other in function.node_def if other.op == "Const"}
    words = constants.get(node.input[1].split(":")[0])
    if words is None:
        return False
    message = tf.make_ndarray(words.attr["value"].tensor).item().decode()
    return message.startswith(OF_RAGGED_TENSORS)


# Functions ---------------------------------------------------------------------------------------


def must_compile(attributes: Any) -> bool:
    return any(attributes[name].b for name in attributes if name.startswith("_XlaMustCompile"))


def called(node: Message) -> set[str]:
    """Names that may be those of functions: the operation, and what its attributes name."""
    names = {node.op}
    for value in node.attr.values():
        names |= {value.func.name} | {function.name for function in value.list.func}
    return names


def functions_of(exported: Path, key: str) -> list[Any]:
    """The functions that a signature calls, and those that they call."""
    graph = meta_graph(exported).graph_def
    by_name = {function.signature.name: function for function in graph.library.function}
    roots = {info.name.split(":")[0] for info in served(exported)[key].outputs.values()}
    waiting = [name for node in graph.node if node.name in roots for name in called(node)]
    found = {}
    while waiting:
        name = waiting.pop()
        if name in by_name and name not in found:
            found[name] = by_name[name]
            waiting += [inner for node in found[name].node_def for inner in called(node)]
    assert found, key
    return list(found.values())


def reachable(exported: Path, key: str) -> Iterator[tuple[str, Any]]:
    """The nodes that a signature runs, each with the name of its function."""
    for function in functions_of(exported, key):
        for node in function.node_def:
            yield function.signature.name, node
