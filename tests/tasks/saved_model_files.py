"""What stands in the files of a SavedModel."""

from collections.abc import Iterator
from pathlib import Path

from tensorflow.core.framework import node_def_pb2
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2


def meta_graph(model: Path) -> meta_graph_pb2.MetaGraphDef:
    """The one meta graph."""
    saved = saved_model_pb2.SavedModel.FromString((model / "saved_model.pb").read_bytes())
    (found,) = saved.meta_graphs
    return found


def nodes(model: Path) -> Iterator[node_def_pb2.NodeDef]:
    """All nodes of the graph and of the functions in its library."""
    graph = meta_graph(model).graph_def
    yield from graph.node
    for function in graph.library.function:
        yield from function.node_def


def signature(model: Path, name: str) -> dict[str, tuple[str, list[int]]]:
    """Type and shape (-1: any) of each input ("in:...") and output ("out:...")."""
    from tensorflow import as_dtype

    found = meta_graph(model).signature_def[name]
    return {
        f"{way}:{key}": (
            as_dtype(info.dtype).name,
            None if info.tensor_shape.unknown_rank else [d.size for d in info.tensor_shape.dim],
        )
        for way, infos in (("in", found.inputs), ("out", found.outputs))
        for key, info in infos.items()
    }


def devices(model: Path) -> set[str]:
    """The devices that nodes ask for."""
    return {node.device for node in nodes(model)} - {""}
