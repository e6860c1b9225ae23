"""A SavedModel names no device, wherever it was written."""

from __future__ import annotations

from pathlib import Path

import pytest
import tensorflow as tf
from saved_model_files import devices, nodes

from keras_transformer.tasks.saved_graph import forget_devices, read_graph

DEVICE = "/device:CPU:0"


@pytest.fixture
def pinned(tmp_path) -> Path:
    """A SavedModel as TensorFlow writes it, of a function that was pinned to a device."""
    module = tf.Module()
    module.weight = tf.Variable([2.0, 3.0])

    @tf.function(input_signature=[tf.TensorSpec([None, 2], name="x")])
    def serve(x):
        with tf.device(DEVICE):
            halves = tf.cond(tf.size(x) > 2, lambda: x / 2, lambda: x)
        return {"y": halves * module.weight}

    module.serve = serve
    tf.saved_model.save(module, str(tmp_path / "1"), signatures={"serving_default": serve})
    return tmp_path / "1"


def test_names_of_devices_go_and_all_else_stays(pinned):
    before = [(node.name, node.op, list(node.input)) for node in nodes(pinned)]
    assert DEVICE in devices(pinned)
    forget_devices(pinned)
    assert devices(pinned) == set()
    assert [(node.name, node.op, list(node.input)) for node in nodes(pinned)] == before
    assert read_graph(pinned).signature_def["serving_default"].outputs.keys() == {"y"}


def test_the_answers_stay_the_same(pinned):
    forget_devices(pinned)
    loaded = tf.saved_model.load(str(pinned))
    answer = loaded.signatures["serving_default"](x=tf.constant([[2.0, 4.0], [6.0, 8.0]]))
    assert answer["y"].numpy().tolist() == [[2.0, 6.0], [6.0, 12.0]]


def test_a_server_restores_the_variables_by_operations_that_name_no_device(pinned):
    """By the graph's own saver, as a server does, and not by Python's."""
    forget_devices(pinned)
    graph = read_graph(pinned)
    saver, (output,) = graph.saver_def, graph.signature_def["serving_default"].outputs.values()
    (given,) = graph.signature_def["serving_default"].inputs.values()
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.graph_util.import_graph_def(graph.graph_def, name="")
        variables = str(pinned / "variables" / "variables")
        session.run(saver.restore_op_name, {saver.filename_tensor_name: variables})
        found = session.run(output.name, {given.name: [[2.0, 4.0]]})
    assert found.tolist() == [[4.0, 12.0]]


def test_the_fingerprint_follows_the_file(pinned):
    read = tf.saved_model.experimental.read_fingerprint
    before = read(str(pinned)).saved_model_checksum
    forget_devices(pinned)
    after = read(str(pinned)).saved_model_checksum
    assert after != before
    forget_devices(pinned)  # changes nothing more
    assert read(str(pinned)).saved_model_checksum == after


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(ValueError, match="holds no SavedModel: there is no saved_model.pb in it"):
        forget_devices(tmp_path)
