"""Around an exported task: versions with warm-up records and a page of their signatures."""

from keras_transformer.serving.export import export_for_serving
from keras_transformer.serving.warmup import read_warmup, write_warmup

__all__ = ["export_for_serving", "read_warmup", "write_warmup"]
