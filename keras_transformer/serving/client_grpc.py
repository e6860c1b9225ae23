"""The gRPC API of TensorFlow Serving, by the packages grpcio and tensorflow-serving-api."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from urllib.parse import SplitResult

from keras_transformer.serving.client_errors import ServingError, StatusError
from keras_transformer.serving.client_metadata import (
    Signature,
    VersionStatus,
    signatures_of,
    versions_of,
)
from keras_transformer.serving.client_requests import ServedModel

_OPTIONS = [
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),  # vectors of a batch are soon more than 4 MiB
    # Where a name has several addresses, requests go to each of them in turn.
    ("grpc.lb_policy_name", "round_robin"),
    # It must try to connect again as soon as a request is tried again.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2000),
]


class GrpcTransport:
    """Asks one model over gRPC, on one connection that stays open.

    Args:
        address: of the server, with the scheme ``grpc`` or ``grpcs`` (TLS).
        model: the model.

    Raises:
        ValueError: when a package is missing.
    """

    def __init__(self, address: SplitResult, model: ServedModel):
        self._api = _api()
        grpc = self._api.grpc
        if address.scheme == "grpcs":
            credentials = grpc.ssl_channel_credentials()
            self._channel = grpc.secure_channel(address.netloc, credentials, _OPTIONS)
        else:
            self._channel = grpc.insecure_channel(address.netloc, _OPTIONS)
        self._model = model
        self._predictions = self._api.prediction_grpc.PredictionServiceStub(self._channel)
        self._models = self._api.model_grpc.ModelServiceStub(self._channel)

    def predict(self, signature: str, inputs: dict[str, list], timeout: float) -> dict[str, list]:
        """The outputs of a signature, by name."""
        request = self._api.predict.PredictRequest(model_spec=self._spec(signature))
        for name, values in inputs.items():
            request.inputs[name].CopyFrom(self._tensor(values))
        answer = self._ask(self._predictions.Predict, request, timeout)
        return {name: self._values(tensor) for name, tensor in answer.outputs.items()}

    def signatures(self, timeout: float) -> dict[str, Signature]:
        """The signatures of the model."""
        metadata = self._api.metadata
        request = metadata.GetModelMetadataRequest(
            model_spec=self._spec(), metadata_field=["signature_def"]
        )
        answer = self._ask(self._predictions.GetModelMetadata, request, timeout)
        found = metadata.SignatureDefMap()
        answer.metadata["signature_def"].Unpack(found)
        return signatures_of(self._plain(found))

    def versions(self, timeout: float) -> list[VersionStatus]:
        """The versions that the server has, or had, of the model."""
        request = self._api.status.GetModelStatusRequest()
        request.model_spec.name = self._model.name
        return versions_of(self._plain(self._ask(self._models.GetModelStatus, request, timeout)))

    def close(self) -> None:
        """Ends the connection."""
        self._channel.close()

    def _spec(self, signature: str = "") -> Any:
        spec = self._api.model.ModelSpec(name=self._model.name, signature_name=signature)
        if self._model.version is not None:
            spec.version.value = self._model.version
        elif self._model.label is not None:
            spec.version_label = self._model.label
        return spec

    def _ask(self, method: Any, request: Any, timeout: float) -> Any:
        try:
            return method(request, timeout=timeout)
        except self._api.grpc.RpcError as error:
            raise StatusError(error.code().name, error.details() or "") from error

    def _tensor(self, values: list) -> Any:
        """A vector; the server converts no types."""
        tf = self._api.tf
        if isinstance(values[0], str | bytes):
            dtype = tf.string
        else:
            dtype = tf.float32 if isinstance(values[0], float) else tf.int32
        return tf.make_tensor_proto(values, dtype, [len(values)])

    def _values(self, tensor: Any) -> list:
        values = self._api.tf.make_ndarray(tensor).tolist()
        return _as_text(values) if tensor.dtype == self._api.tf.string.as_datatype_enum else values

    def _plain(self, message: Any) -> dict[str, Any]:
        return self._api.json_format.MessageToDict(message, preserving_proto_field_name=True)


def _as_text(values: Any) -> Any:
    """Nested lists of UTF-8 as nested lists of texts."""
    if isinstance(values, list):
        return [_as_text(value) for value in values]
    try:
        return values.decode("utf-8")
    except UnicodeDecodeError:
        fault = f"The server's answer holds bytes that are no UTF-8: {values!r:.80}."
        raise ServingError(fault) from None


def _api() -> SimpleNamespace:
    """What gRPC needs, TensorFlow with it."""
    try:
        import grpc
        import tensorflow as tf
        from google.protobuf import json_format
        from tensorflow_serving.apis import (
            get_model_metadata_pb2,
            get_model_status_pb2,
            model_pb2,
            model_service_pb2_grpc,
            predict_pb2,
            prediction_service_pb2_grpc,
        )
    except ModuleNotFoundError as error:
        raise ValueError(
            f"gRPC needs the package {_package(error.name)}: pip install tensorflow-serving-api "
            "(the extra [serving]), or ask over REST (http://...)."
        ) from error
    return SimpleNamespace(
        grpc=grpc,
        tf=tf,
        json_format=json_format,
        metadata=get_model_metadata_pb2,
        status=get_model_status_pb2,
        model=model_pb2,
        model_grpc=model_service_pb2_grpc,
        predict=predict_pb2,
        prediction_grpc=prediction_service_pb2_grpc,
    )


def _package(module: str | None) -> str:
    names = {"grpc": "grpcio", "tensorflow_serving": "tensorflow-serving-api"}
    root = (module or "").split(".")[0]
    return names.get(root, root)
