"""Stubs of TensorFlow Serving's two APIs, in this process.

They are written from its documentation, to test what the client does; they prove nothing about the
server.
"""

from __future__ import annotations

import base64
import json
import math
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

PREDICT = re.compile(r"/v1/models/([^/:]+)(?:/versions/(\d+)|/labels/([^/:]+))?:predict")
METADATA = re.compile(r"/v1/models/([^/:]+)(?:/versions/(\d+)|/labels/([^/:]+))?/metadata")
STATUS = re.compile(r"/v1/models/([^/:]+)")

HTTP = {
    "INVALID_ARGUMENT": 400,
    "NOT_FOUND": 404,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}


class Fault(Exception):
    """A status other than OK."""

    def __init__(self, code: str, message: str):
        super().__init__(code, message)
        self.code, self.message = code, message


class Function(NamedTuple):
    """A signature."""

    call: Callable[..., dict[str, Any]]
    inputs: dict[str, tf.TensorSpec]
    outputs: dict[str, tf.TensorSpec]


def functions_of(signatures: dict[str, Any]) -> dict[str, Function]:
    """The signatures of a loaded SavedModel."""
    return {
        name: Function(
            function,
            function.structured_input_signature[1],
            {
                key: tf.TensorSpec(t.shape, t.dtype)
                for key, t in function.structured_outputs.items()
            },
        )
        for name, function in signatures.items()
    }


def echo() -> dict[str, Function]:
    """A model that looks like a translator and answers with the text itself."""
    text = {"text": tf.TensorSpec([None], tf.string)}
    outputs = {
        "translation": tf.TensorSpec([None], tf.string),
        "score": tf.TensorSpec([None], tf.float32),
        "truncated": tf.TensorSpec([None], tf.bool),
    }

    def call(text: tf.Tensor) -> dict[str, tf.Tensor]:
        zeros = tf.zeros(tf.shape(text))
        return {"translation": text, "score": zeros + 0.1, "truncated": zeros > 1}

    return {"serving_default": Function(call, text, outputs)}


@dataclass
class StubModel:
    """What both stubs serve: one model under one name.

    Attributes:
        versions: signatures by version.
        labels: version of each label.
        faults: statuses to give first, in place of answers.
        asked: what came, in order: (version, label, signature, inputs).
    """

    name: str = "echo"
    versions: dict[int, dict[str, Function]] = field(default_factory=lambda: {1: echo()})
    labels: dict[str, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    asked: list[tuple] = field(default_factory=list)

    def functions(self, name: str, version: int | None, label: str | None) -> dict[str, Function]:
        if label is not None and label not in self.labels:
            raise Fault("INVALID_ARGUMENT", f"Unrecognized servable version label: {label}")
        version = self.labels.get(label, version) if label is not None else version
        if name != self.name:
            raise Fault("NOT_FOUND", f"Servable not found for request: Latest({name})")
        version = max(self.versions) if version is None else version
        if version not in self.versions:
            raise Fault("NOT_FOUND", f"Servable not found for request: Specific({name}, {version})")
        return self.versions[version]

    def function(
        self, name: str, version: int | None, label: str | None, signature: str
    ) -> Function:
        functions = self.functions(name, version, label)
        if signature not in functions:
            fault = f'Serving signature name: "{signature}" not found in signature def'
            raise Fault("INVALID_ARGUMENT", fault)
        return functions[signature]

    def next_fault(self) -> None:
        if self.faults:
            raise self.faults.pop(0)


# REST --------------------------------------------------------------------------------------------


class Answer(NamedTuple):
    """What a stub sends; `length` is what the header says of it."""

    status: int
    content: bytes
    length: int | None = None


def answering(
    status: int, content: str | bytes, length: int | None = None
) -> Callable[[str, str, bytes], Answer]:
    """For a `RestStub` that says the same to everything."""
    content = content.encode() if isinstance(content, str) else content
    return lambda method, path, body: Answer(status, content, length)


def free_port() -> int:
    """Where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


class RestStub:
    """Answers by `respond(method, path, body)`, as the REST API does for a `StubModel` by default.

    Attributes:
        url: its address.
        requests: what came, in order: (method, path, body).
    """

    def __init__(
        self,
        model: StubModel | None = None,
        respond: Callable[[str, str, bytes], Answer] | None = None,
        port: int = 0,
    ):
        self.model = model or StubModel()
        self.requests: list[tuple[str, str, bytes]] = []
        answer = respond or self._respond
        requests = self.requests

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                requests.append((self.command, self.path, body))
                found = answer(self.command, self.path, body)
                self.send_response(found.status)
                length = len(found.content) if found.length is None else found.length
                self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(found.content)

            do_GET = do_POST = handle_any

            def log_message(self, *arguments: Any) -> None:
                """Nothing on standard error."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.handle_error = lambda *arguments: None  # clients go away
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.01])

    def __enter__(self) -> RestStub:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _respond(self, method: str, path: str, body: bytes) -> Answer:
        try:
            self.model.next_fault()
            return Answer(200, self._answer(method, path, body).encode("utf-8"))
        except Fault as fault:
            document = json.dumps({"error": fault.message}, ensure_ascii=False)
            return Answer(HTTP[fault.code], document.encode("utf-8"))

    def _answer(self, method: str, path: str, body: bytes) -> str:
        if method == "POST" and (found := PREDICT.fullmatch(path)):
            return self._predict(*_spec(found), body)
        if method == "GET" and (found := METADATA.fullmatch(path)):
            functions = self.model.functions(*_spec(found))
            definitions = {name: _definition(function) for name, function in functions.items()}
            return json.dumps({"metadata": {"signature_def": {"signature_def": definitions}}})
        if method == "GET" and (found := STATUS.fullmatch(path)):
            if found[1] != self.model.name:
                raise Fault("NOT_FOUND", f"Could not find any versions of model {found[1]}")
            ok = {"error_code": "OK", "error_message": ""}
            versions = [
                {"version": str(version), "state": "AVAILABLE", "status": ok}
                for version in self.model.versions
            ]
            return json.dumps({"model_version_status": versions})
        raise Fault("INVALID_ARGUMENT", f"Malformed request: {method} {path}")

    def _predict(self, name: str, version: int | None, label: str | None, body: bytes) -> str:
        request = json.loads(body.decode("utf-8"), parse_constant=_refuse)
        assert request.keys() <= {"signature_name", "inputs", "instances"}, request.keys()
        signature = request.get("signature_name", "serving_default")
        function = self.model.function(name, version, label, signature)
        in_rows = "instances" in request
        assert in_rows != ("inputs" in request)
        columns = columns_of(request, function)
        self.model.asked.append((version, label, signature, columns))
        tensors = {}
        for key, spec in function.inputs.items():
            if key not in columns:
                raise Fault("INVALID_ARGUMENT", f"Missing named input: {key} in 'inputs' object.")
            values = [value_of(value, spec.dtype) for value in columns[key]]
            tensors[key] = tf.constant(values, spec.dtype, [len(values)])
        outputs = {key: _json(value) for key, value in sorted(function.call(**tensors).items())}
        if in_rows:
            rows = zip(*outputs.values(), strict=True)
            named = [dict(zip(outputs, row, strict=True)) for row in rows]
            plain = [next(iter(row.values())) for row in named] if len(outputs) == 1 else named
            return _dumps({"predictions": plain})
        return _dumps({"outputs": outputs if len(outputs) > 1 else next(iter(outputs.values()))})


def _spec(found: re.Match) -> tuple[str, int | None, str | None]:
    return found[1], None if found[2] is None else int(found[2]), found[3]


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def columns_of(request: dict[str, Any], function: Function) -> dict[str, list]:
    """The inputs of a request in column form, whichever form it has."""
    names = list(function.inputs)
    if "inputs" in request:
        inputs = request["inputs"]
        return inputs if isinstance(inputs, dict) else {names[0]: inputs}
    rows = request["instances"]
    if not rows:
        raise Fault("INVALID_ARGUMENT", "No values in 'instances' array")
    if isinstance(rows[0], dict) and rows[0].keys() != {"b64"}:
        return {name: [row[name] for row in rows] for name in names}
    if len(names) > 1:
        raise Fault("INVALID_ARGUMENT", "instances is a plain list, but expecting list of objects")
    return {names[0]: rows}


def value_of(value: Any, dtype: tf.DType) -> Any:
    if dtype == tf.string:
        if isinstance(value, dict) and value.keys() == {"b64"}:
            return base64.b64decode(value["b64"], validate=True)
        matches = isinstance(value, str)
    elif dtype == tf.float32:
        matches = isinstance(value, int | float) and not isinstance(value, bool)
    else:
        matches = isinstance(value, int) and not isinstance(value, bool)
    if not matches:
        fault = f"JSON Value: {value!r} is not of expected type: {dtype.name}"
        raise Fault("INVALID_ARGUMENT", fault)
    return value


class _Decimal(float):
    """Written with the nine digits that a float32 needs."""

    def __repr__(self) -> str:
        if not math.isfinite(self):
            return "NaN" if math.isnan(self) else "Infinity" if self > 0 else "-Infinity"
        text = f"{float(self):.9g}"
        return text if "." in text or "e" in text else f"{text}.0"


def _json(tensor: tf.Tensor) -> Any:
    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(item) for item in value]
        if isinstance(value, bytes):
            return value.decode("utf-8")
        return _Decimal(value) if isinstance(value, float) else value

    return plain(np.asarray(tensor).tolist())


def _dumps(document: Any) -> str:
    """JSON with `_Decimal`s as they write themselves, which `json.dumps` does not let them."""
    if isinstance(document, dict):
        items = (f"{json.dumps(key)}: {_dumps(value)}" for key, value in document.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(document, list):
        return "[" + ", ".join(map(_dumps, document)) + "]"
    if isinstance(document, _Decimal):
        return repr(document)
    return json.dumps(document, ensure_ascii=False)


def _definition(function: Function) -> dict[str, Any]:
    def tensors(specs: dict[str, tf.TensorSpec]) -> dict[str, Any]:
        return {
            name: {
                "dtype": f"DT_{'FLOAT' if spec.dtype == tf.float32 else spec.dtype.name.upper()}",
                "tensor_shape": {
                    "dim": [{"size": str(-1 if s is None else s), "name": ""} for s in spec.shape],
                    "unknown_rank": False,
                },
                "name": f"{name}:0",
            }
            for name, spec in specs.items()
        }

    return {"inputs": tensors(function.inputs), "outputs": tensors(function.outputs)}


# gRPC --------------------------------------------------------------------------------------------


@contextmanager
def grpc_stub(model: StubModel) -> Iterator[str]:
    """Serves a model by the gRPC API; yields the address."""
    from concurrent.futures import ThreadPoolExecutor

    import grpc
    from tensorflow_serving.apis import (
        get_model_metadata_pb2,
        get_model_status_pb2,
        model_service_pb2_grpc,
        predict_pb2,
        prediction_service_pb2_grpc,
    )

    def spec_of(request: Any) -> tuple[str, int | None, str | None]:
        spec = request.model_spec
        version = spec.version.value if spec.HasField("version") else None
        return spec.name, version, spec.version_label or None

    def answering(answer: Callable) -> Callable:
        def method(self, request: Any, context: Any) -> Any:
            try:
                model.next_fault()
                return answer(request)
            except Fault as fault:
                context.abort(getattr(grpc.StatusCode, fault.code), fault.message)

        return method

    def predict(request: Any) -> Any:
        name, version, label = spec_of(request)
        signature = request.model_spec.signature_name or "serving_default"
        function = model.function(name, version, label, signature)
        tensors = {key: tf.make_ndarray(value) for key, value in request.inputs.items()}
        model.asked.append((version, label, signature, tensors))
        if tensors.keys() != function.inputs.keys():
            raise Fault("INVALID_ARGUMENT", f"input size does not match signature: {list(tensors)}")
        for key, spec in function.inputs.items():  # nothing is converted
            if request.inputs[key].dtype != spec.dtype.as_datatype_enum:
                raise Fault("INVALID_ARGUMENT", f"Expects {key} to be {spec.dtype.name}")
            assert spec.shape.is_compatible_with(tensors[key].shape)
        answer = predict_pb2.PredictResponse()
        given = {key: tf.constant(v, function.inputs[key].dtype) for key, v in tensors.items()}
        for key, value in function.call(**given).items():
            answer.outputs[key].CopyFrom(tf.make_tensor_proto(value.numpy()))
        return answer

    def metadata(request: Any) -> Any:
        signatures = get_model_metadata_pb2.SignatureDefMap()
        for name, function in model.functions(*spec_of(request)).items():
            definition = signatures.signature_def[name]
            for specs, side in ((function.inputs, definition.inputs),
                                (function.outputs, definition.outputs)):  # fmt: skip
                for key, spec in specs.items():
                    side[key].dtype = spec.dtype.as_datatype_enum
                    side[key].tensor_shape.CopyFrom(spec.shape.as_proto())
        answer = get_model_metadata_pb2.GetModelMetadataResponse()
        answer.metadata["signature_def"].Pack(signatures)
        return answer

    def status(request: Any) -> Any:
        if request.model_spec.name != model.name:
            name = request.model_spec.name
            raise Fault("NOT_FOUND", f"Could not find any versions of model {name}")
        answer = get_model_status_pb2.GetModelStatusResponse()
        for version in model.versions:
            answer.model_version_status.add(version=version, state="AVAILABLE")
        return answer

    predictions = type(
        "Predictions",
        (prediction_service_pb2_grpc.PredictionServiceServicer,),
        {"Predict": answering(predict), "GetModelMetadata": answering(metadata)},
    )
    models = type(
        "Models",
        (model_service_pb2_grpc.ModelServiceServicer,),
        {"GetModelStatus": answering(status)},
    )
    options = [("grpc.max_receive_message_length", -1)]
    server = grpc.server(ThreadPoolExecutor(8), options=options)
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(predictions(), server)
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(models(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"grpc://127.0.0.1:{port}"
    finally:
        server.stop(None).wait()
