"""Answers requests with SavedModels, as a process that has TensorFlow and tensorflow-text alone.

    python serve_saved_model.py MODEL [MODEL ...] < REQUESTS.json > ANSWERS.json

The requests are a list for each model. A request is [signature, columns], a column a list of
numbers or texts, a text may be {"b64": ...}. Beside the answers it tells which operations of the
models TensorFlow and tensorflow-text do not register.
"""

import base64
import json
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_text
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.framework import op_def_registry


def nodes(model: str):
    """All nodes of a SavedModel, those of its functions included."""
    saved = saved_model_pb2.SavedModel.FromString(Path(model, "saved_model.pb").read_bytes())
    for graph in (meta_graph.graph_def for meta_graph in saved.meta_graphs):
        yield from graph.node
        for function in graph.library.function:
            yield from function.node_def


def unregistered(model: str) -> list[str]:
    """Operations that this process does not know (functions of the model itself left out)."""
    saved = saved_model_pb2.SavedModel.FromString(Path(model, "saved_model.pb").read_bytes())
    own = {
        function.signature.name
        for meta_graph in saved.meta_graphs
        for function in meta_graph.graph_def.library.function
    }
    names = {node.op for node in nodes(model)} - own
    return sorted(name for name in names if op_def_registry.get(name) is None)


def plain(value: np.ndarray) -> list:
    """Nested lists of strings and numbers."""
    if value.dtype == object:
        value = np.vectorize(lambda text: text.decode("utf-8"), otypes=[object])(value)
    return value.tolist()


def raw(text) -> bytes:
    return base64.b64decode(text["b64"]) if isinstance(text, dict) else text.encode()


def column(values: list, dtype: tf.DType) -> tf.Tensor:
    if dtype == tf.string:
        values = [raw(text) for text in values]
    return tf.constant(values, dtype, shape=[len(values)])


def answers_of(model: str, requests: list) -> list[dict]:
    """What a model answers to its requests."""
    loaded = tf.saved_model.load(model)
    answers = []
    for signature, columns in requests:
        function = loaded.signatures[signature]
        specs = function.structured_input_signature[1]
        inputs = {name: column(values, specs[name].dtype) for name, values in columns.items()}
        outputs = function(**inputs)
        answers.append({name: plain(value.numpy()) for name, value in outputs.items()})
    return answers


def main(*models: str) -> None:
    requests = json.load(sys.stdin)
    result = {
        "versions": [tf.__version__, tensorflow_text.__version__],
        "answers": [answers_of(*pair) for pair in zip(models, requests, strict=True)],
        "ours": [name for name in sys.modules if name.startswith("keras_transformer")],
        "unregistered": sorted({name for model in models for name in unregistered(model)}),
    }
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
