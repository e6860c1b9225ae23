"""Around an exported task: versions with warm-up records and a page of their signatures, and a
client for the server that runs them."""

from keras_transformer.serving.client import Client
from keras_transformer.serving.client_errors import (
    ModelNotFound,
    RequestRefused,
    ServerTimeout,
    ServerUnavailable,
    ServingError,
)
from keras_transformer.serving.export import export_for_serving
from keras_transformer.serving.warmup import read_warmup, write_warmup

__all__ = [
    "Client",
    "ModelNotFound",
    "RequestRefused",
    "ServerTimeout",
    "ServerUnavailable",
    "ServingError",
    "export_for_serving",
    "read_warmup",
    "write_warmup",
]
