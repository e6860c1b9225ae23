"""CTranslate2 as a server would call it: tokens in, tokens out."""

from collections.abc import Callable
from typing import Any

from benchmarks.peers import ctranslate2_marian
from benchmarks.peers.serving_jobs import Requests, ServingJob


class Served(Requests):
    """`translate_batch` in float32."""

    compute_type = "float32"

    def __init__(self, job: ServingJob):
        self._job = job
        self._peer = ctranslate2_marian.Decoding(job.decoding(), self.compute_type)
        self.parameters = self._peer.parameters

    def request(self, signature: str, batch_size: int) -> Callable[[], Any]:
        return lambda: self._peer.translate(batch_size, self._job.beam_size)


class Int8Served(Served):
    """The same with weights and products in 8 bits."""

    compute_type = "int8"
