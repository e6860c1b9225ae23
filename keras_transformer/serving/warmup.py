"""Warm-up records: requests that a server answers for itself before it takes those of clients.

The first request to a signature is slow: memory is laid out, graphs are optimised, and XLA
compiles. TensorFlow Serving replays the requests that it finds in
`assets.extra/tf_serving_warmup_requests` of a version, and only then offers it. One that fails
stops the version from being loaded, and so do more than 1,000: none is written here that has not
been answered by the SavedModel itself.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers the ops of tokenizers)

from keras_transformer.text.files import set_usual_mode

WARMUP_FILE = "assets.extra/tf_serving_warmup_requests"
MOST_RECORDS = 1000  # a server refuses a version that has more


class WarmupRequest(NamedTuple):
    """One request."""

    signature: str
    inputs: dict[str, np.ndarray]
    """Arrays `[rows]` by the names of the signature's inputs; texts are UTF-8 in `bytes`."""
    origin: str = "a request"
    """What an error calls it."""


def write_warmup(
    saved_model: str | os.PathLike[str],
    requests: Sequence[WarmupRequest],
    model_name: str = "model",
) -> Path:
    """Writes the warm-up records of a SavedModel, after running each of them.

    Args:
        saved_model: folder of one version, which no server should be loading yet.
        requests: at least one and at most 1,000.
        model_name: what the model is called by the server.

    Returns:
        The file.

    Raises:
        ValueError: when a signature does not answer its request; when there are no requests, or
            too many; when tensorflow-serving-api is not installed.

    >>> request = WarmupRequest("serving_default", {"text": np.array([b"one dog"], object)})
    >>> write_warmup("saved_models/translate/1", [request]).name  # doctest: +SKIP
    'tf_serving_warmup_requests'
    """
    logs = prediction_logs()
    check_number(len(requests))
    functions = tf.saved_model.load(str(saved_model))  # kept: it owns the variables
    path = Path(saved_model, WARMUP_FILE)
    path.parent.mkdir(exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".warmup-")
    os.close(handle)
    try:
        with tf.io.TFRecordWriter(temporary) as file:
            for request in requests:
                _run(functions.signatures, request)
                file.write(_record(logs, request, model_name).SerializeToString(deterministic=True))
        set_usual_mode(temporary)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return path


def read_warmup(saved_model: str | os.PathLike[str]) -> Iterator[WarmupRequest]:
    """The requests of a SavedModel's warm-up file, in their order.

    Raises:
        ValueError: when the file holds anything but requests to predict; when
            tensorflow-serving-api is not installed.
        FileNotFoundError: when there is no such file.
    """
    logs = prediction_logs()
    path = Path(saved_model, WARMUP_FILE)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file.")
    for number, data in enumerate(tf.data.TFRecordDataset(str(path)).as_numpy_iterator(), start=1):
        where = f"{path}, record {number}"
        log = logs.PredictionLog.FromString(data)
        if log.WhichOneof("log_type") != "predict_log":
            raise ValueError(f"{where}: it is no request to predict.")
        request = log.predict_log.request
        inputs = {name: tf.make_ndarray(tensor) for name, tensor in request.inputs.items()}
        yield WarmupRequest(request.model_spec.signature_name, inputs, where)


def count_warmup(saved_model: str | os.PathLike[str]) -> int:
    """The number of a SavedModel's warm-up records; 0 where it has none.

    >>> count_warmup("saved_models/no such model/1")
    0
    """
    path = Path(saved_model, WARMUP_FILE)
    if not path.is_file():
        return 0
    return sum(1 for _ in tf.data.TFRecordDataset(str(path)).as_numpy_iterator())


def check_number(records: int) -> None:
    """Refuses a number of records that a server would not load, or that would warm up nothing.

    >>> check_number(1200)
    Traceback (most recent call last):
    ValueError: There are 1,200 warm-up records; a server takes 1,000 at most: give fewer ...
    """
    if records > MOST_RECORDS:
        raise ValueError(
            f"There are {records:,} warm-up records; a server takes {MOST_RECORDS:,} at most: give "
            "fewer lines, or fewer signatures."
        )
    if not records:
        raise ValueError("There are no requests to warm up with: give at least one.")


def prediction_logs() -> ModuleType:
    """The module with the records' format.

    Raises:
        ValueError: when its package is not installed.
    """
    try:
        from tensorflow_serving.apis import prediction_log_pb2
    except ImportError:
        raise ValueError(
            "Warm-up records need the package tensorflow-serving-api, which is not installed: "
            "pip install 'keras_transformer[serving]'."
        ) from None
    return prediction_log_pb2


def _run(signatures: Any, request: WarmupRequest) -> None:
    """Lets a signature answer, as a server will."""
    if request.signature not in signatures:
        raise ValueError(f"{request.origin}: there is no signature {request.signature!r}.")
    inputs = {name: tf.constant(values) for name, values in request.inputs.items()}
    try:
        signatures[request.signature](**inputs)
    except (tf.errors.OpError, TypeError, ValueError) as error:
        reason = str(error).strip().split("\n")[0]
        raise ValueError(
            f"{request.origin}: the signature {request.signature!r} does not answer: {reason}"
        ) from error


def _record(logs: ModuleType, request: WarmupRequest, model_name: str) -> Any:
    log = logs.PredictionLog()
    predict = log.predict_log.request
    predict.model_spec.name = model_name
    predict.model_spec.signature_name = request.signature
    for name, values in request.inputs.items():
        predict.inputs[name].CopyFrom(tf.make_tensor_proto(values))
    return log
