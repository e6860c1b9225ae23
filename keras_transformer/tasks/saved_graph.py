"""The graph in the file of a SavedModel."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from tensorflow.core.framework import node_def_pb2
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2
from tensorflow.python.saved_model import fingerprinting_utils

from keras_transformer.text.files import write_atomically

GRAPH_FILE = "saved_model.pb"


def read_graph(path: Path) -> meta_graph_pb2.MetaGraphDef:
    """The meta graph that a server runs: nodes, functions and signatures.

    Args:
        path: folder of the SavedModel.

    Raises:
        ValueError: when there is no SavedModel in the folder.
    """
    return _only_graph(_read(path), path)


def forget_devices(path: Path) -> None:
    """Takes the names of devices out of a SavedModel, as if no machine had written it.

    TensorFlow's saver pins the reading and writing of the variables' file to the CPU that saved
    (``/device:CPU:0``), or to the GPU, and what is traced under a distribution strategy may name
    its devices. A server finds a place for each operation by itself.

    Args:
        path: folder of the SavedModel.

    Raises:
        ValueError: when there is no SavedModel in the folder.
    """
    saved = _read(path)
    for node in _nodes(_only_graph(saved, path)):
        node.ClearField("device")
    write_atomically(path / GRAPH_FILE, saved.SerializeToString(deterministic=True))
    # TensorFlow has no public name for this: the fingerprint is that of the file as it now is.
    fingerprinting_utils.write_fingerprint(str(path))


def _read(path: Path) -> saved_model_pb2.SavedModel:
    file = Path(path, GRAPH_FILE)
    if not file.is_file():
        raise ValueError(f"{path} holds no SavedModel: there is no {GRAPH_FILE} in it.")
    return saved_model_pb2.SavedModel.FromString(file.read_bytes())


def _only_graph(saved: saved_model_pb2.SavedModel, path: Path) -> meta_graph_pb2.MetaGraphDef:
    if len(saved.meta_graphs) != 1:
        raise ValueError(f"{path} must hold one graph, not {len(saved.meta_graphs)}.")
    return saved.meta_graphs[0]


def _nodes(graph: meta_graph_pb2.MetaGraphDef) -> Iterator[node_def_pb2.NodeDef]:
    functions = graph.graph_def.library.function
    return itertools.chain(graph.graph_def.node, *(function.node_def for function in functions))
