"""A tokenizer in a SavedModel, and what may be in such a graph."""

import shutil
from pathlib import Path

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

STATEFUL = ("PyFunc", "HashTable", "LookupTable", "Xla", "Variable")


class Exported(tf.Module):
    """A user's module: a tokenizer is an attribute, a signature uses it."""

    def __init__(self, tokenizer):
        super().__init__()
        self.tokenizer = tokenizer

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def run(self, text):
        ids, starts, ends = self.tokenizer.tokenize_with_offsets(text)
        outputs = {
            "ids": self.tokenizer.tokenize(text).to_tensor(-1),
            "same_ids": ids.to_tensor(-1),
            "starts": starts.to_tensor(-1),
            "ends": ends.to_tensor(-1),
            "text": self.tokenizer.detokenize(ids),
        }
        if hasattr(self.tokenizer, "tokenize_with_byte_offsets"):
            _, starts, ends = self.tokenizer.tokenize_with_byte_offsets(text)
            outputs |= {"starts_byte": starts.to_tensor(-1), "ends_byte": ends.to_tensor(-1)}
        return outputs


def export_and_move(tokenizer, load, folder: Path) -> tuple[Exported, Path]:
    """Saves, loads and exports a tokenizer; its files are deleted, and the export is moved."""
    tokenizer.save(folder / "files")
    module = Exported(load(folder / "files"))
    tf.saved_model.save(module, str(folder / "first"), signatures={"serving_default": module.run})
    shutil.rmtree(folder / "files")
    shutil.move(folder / "first", folder / "moved")
    return module, folder / "moved"


def as_lists(outputs):
    return {
        name: [text.decode() for text in value.numpy()]
        if value.dtype == tf.string
        else value.numpy().tolist()
        for name, value in outputs.items()
    }


def assert_all_ways_agree(module: Exported, folder: Path, texts: list[str]) -> None:
    """Eagerly, in a graph, and loaded from the export."""
    eager = as_lists(module.run.python_function(tf.constant(texts)))
    assert eager["ids"] == eager["same_ids"]
    assert as_lists(module.run(tf.constant(texts))) == eager
    loaded = tf.saved_model.load(str(folder))
    assert as_lists(loaded.signatures["serving_default"](text=tf.constant(texts))) == eager


def assert_stateless(folder: Path) -> None:
    """No table, no variable, no XLA, no device."""
    saved = saved_model_pb2.SavedModel.FromString(Path(folder, "saved_model.pb").read_bytes())
    graph = saved.meta_graphs[0].graph_def
    nodes = [*graph.node, *(node for f in graph.library.function for node in f.node_def)]
    assert {node.op for node in nodes if any(word in node.op for word in STATEFUL)} == set()
    reading_variables = {"/device:CPU:0", "/device:CPU:*"}  # there are none, but a saver
    assert {node.device for node in nodes} - reading_variables == {""}
