"""A client for exported tasks behind TensorFlow Serving, over REST and gRPC."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, Protocol, Self, TypeVar
from urllib.parse import SplitResult

import numpy as np

from keras_transformer.checks import check_at_least, check_whole
from keras_transformer.serving.client_answers import (
    best_translations,
    embeddings,
    tagged_words,
    task_of,
)
from keras_transformer.serving.client_errors import (
    ModelNotFound,
    RequestRefused,
    ServerTimeout,
    ServerUnavailable,
    ServingError,
    StatusError,
    explained,
)
from keras_transformer.serving.client_grpc import GrpcTransport
from keras_transformer.serving.client_metadata import Signature, VersionStatus
from keras_transformer.serving.client_requests import (
    ServedModel,
    address_parts,
    as_text_pairs,
    as_texts,
    batches,
    check_columns,
    generation_columns,
    question_columns,
)
from keras_transformer.serving.client_rest import RestTransport
from keras_transformer.serving.client_retries import Retries
from keras_transformer.tasks import answer_rows
from keras_transformer.tasks.alignments import (
    AnswerAlignment,
    TranslationAlignment,
    answer_alignments,
    translation_alignments,
)
from keras_transformer.tasks.answers import (
    Answers,
    Classification,
    Generation,
    Guesses,
    Regression,
    TaggedWord,
    TextScore,
    TokenVectors,
    Translation,
)

Result = TypeVar("Result")


class Transport(Protocol):
    """One way to a model of a server; raises `StatusError`."""

    def predict(self, signature: str, inputs: dict[str, list], timeout: float) -> dict[str, list]:
        """Outputs by name."""

    def signatures(self, timeout: float) -> dict[str, Signature]:
        """Signatures by name."""

    def versions(self, timeout: float) -> list[VersionStatus]:
        """The model's versions."""

    def close(self) -> None:
        """Ends the connection."""


TRANSPORTS: dict[str, Callable[[SplitResult, ServedModel], Transport]] = {
    "http": RestTransport,
    "https": RestTransport,
    "grpc": GrpcTransport,
    "grpcs": GrpcTransport,
}


class Client:
    """Asks one model of a server.

    The methods are those of the tasks, with the same answers. Texts may be `str` or `bytes`; bytes
    that are no UTF-8 reach the model as they are. A list of more than `batch_size` texts is sent in
    several requests, one after the other. Several threads may use one client.

    Asked again, after pauses, is only a server that refused the connection or said that it is
    unavailable.

    Args:
        address: `http://HOST:8501` or `https://...` for REST, where a path before `/v1` may follow;
            `grpc://HOST:8500` or `grpcs://...` (TLS) for gRPC, which needs the package
            tensorflow-serving-api.
        model: its name on the server.
        version: a version of it; the newest by default.
        label: the label of a version instead, such as "stable".
        timeout: seconds for each request, with all its tries.
        retries: most tries after the first one.
        batch_size: most rows of a request; at most what the server takes for a batch.
        xla: whether translations and generated texts are asked of the signatures that XLA compiles,
            which an export may have (`serving_default_xla`, ...) and a server must allow.

    Raises:
        ValueError: for an argument out of range, or a missing package.

    The methods raise a ValueError for what no server is asked, and else a `ServingError`, which is
    an OSError: `ServerUnavailable`, `ServerTimeout`, `ModelNotFound` or `RequestRefused`.

    >>> client = Client("http://localhost:8501", "translate", label="stable")
    >>> client.translate(["A dog runs."])[0].texts  # doctest: +SKIP
    ['Ein Hund rennt.']
    >>> Client("localhost:8501", "translate")
    Traceback (most recent call last):
    ValueError: address must be such as http://localhost:8501 or grpc://localhost:8500, not ...
    """

    def __init__(
        self,
        address: str,
        model: str,
        *,
        version: int | None = None,
        label: str | None = None,
        timeout: float = 30.0,
        retries: int = 3,
        batch_size: int = 64,
        xla: bool = False,
    ):
        check_whole(retries=retries, batch_size=batch_size)
        check_at_least(0, retries=retries)
        check_at_least(1, batch_size=batch_size)
        if not isinstance(timeout, Real) or not 0 < timeout <= 86_400:
            raise ValueError(f"timeout must be above 0 and at most 86400 seconds, not {timeout!r}.")
        self._model = ServedModel(model, version, label)
        self._address, parts = address, address_parts(address)
        self._transport = TRANSPORTS[parts.scheme](parts, self._model)
        self._timeout, self._retries, self._batch_size = timeout, Retries(retries), batch_size
        self._suffix = "_xla" if xla else ""

    # The tasks.

    def translate(self, texts: Iterable[str | bytes], n_best: int = 1) -> list[Translation]:
        """Translations of each text by a `Translator`, at most `n_best` of them."""
        check_whole(n_best=n_best)
        check_at_least(1, n_best=n_best)
        columns = {"text": as_texts(texts)}
        if n_best == 1:
            return self._rows(f"serving_default{self._suffix}", columns, answer_rows.translations)
        return self._rows(f"n_best{self._suffix}", columns, best_translations(n_best))

    def align(self, texts: Iterable[str | bytes]) -> list[TranslationAlignment]:
        """Translations by a `Translator` and what they looked at, if `alignment` is served."""
        return self._rows("alignment", {"text": as_texts(texts)}, translation_alignments)

    def fill_mask(self, texts: Iterable[str | bytes]) -> list[Guesses]:
        """What stands at the first ``[MASK]`` of each text, by a `FillMask`."""
        return self._rows("serving_default", {"text": as_texts(texts)}, answer_rows.guesses)

    def classify(
        self, texts: Iterable[str | bytes], text_pairs: Iterable[str | bytes] | None = None
    ) -> list[Classification] | list[Regression]:
        """The labels, or the numbers, that a `TextClassifier` gives to texts or pairs of them."""
        if text_pairs is None:
            columns = {"text": as_texts(texts)}
            return self._rows("serving_default", columns, answer_rows.classifications)
        pairs = as_text_pairs(texts, text_pairs, ("texts", "text_pairs"))
        columns = dict(zip(("text", "text_pair"), pairs, strict=True))
        return self._rows("pair", columns, answer_rows.classifications)

    def tag(self, texts: Iterable[str | bytes]) -> list[list[TaggedWord]]:
        """The words of each text with their tags, by a `TokenTagger`."""
        return self._rows("serving_default", {"text": as_texts(texts)}, tagged_words)

    def answer(
        self, questions: Iterable[str | bytes], contexts: Iterable[str | bytes]
    ) -> list[Answers]:
        """The best answers to each question in its context, by a `QuestionAnswerer`."""
        columns = question_columns(questions, contexts)
        return self._rows("n_best", columns, answer_rows.answers)

    def align_answers(
        self, questions: Iterable[str | bytes], contexts: Iterable[str | bytes]
    ) -> list[AnswerAlignment]:
        """The best answers and what the questions looked at, if `alignment` is served."""
        columns = question_columns(questions, contexts)
        return self._rows("alignment", columns, answer_alignments)

    def embed(self, texts: Iterable[str | bytes]) -> np.ndarray:
        """A vector for each text by a `TextEmbedder`: float32 `[texts, hidden_size]`."""
        vectors = self._rows("serving_default", {"text": as_texts(texts)}, embeddings)
        return np.stack(vectors) if vectors else np.zeros((0, 0), np.float32)

    def token_vectors(self, texts: Iterable[str | bytes]) -> list[TokenVectors]:
        """A vector for each token of each text, by a `TextEmbedder`."""
        return self._rows("tokens", {"text": as_texts(texts)}, answer_rows.token_vectors)

    def generate(
        self,
        prompts: Iterable[str | bytes],
        *,
        max_new_tokens: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
    ) -> list[Generation]:
        """How a `TextGenerator` goes on from prompts.

        Without options it does as it was exported, with its seed for every prompt. A request has
        all options or none: next to one that is given, the others are those of
        `GenerationOptions()`, and prompt i draws with seed + i.
        """
        columns: dict[str, list] = {"prompt": as_texts(prompts, "prompts")}
        asked = {
            "max_new_tokens": max_new_tokens,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "seed": seed,
        }
        if all(value is None for value in asked.values()):
            return self._rows(f"serving_default{self._suffix}", columns, answer_rows.generations)
        columns |= generation_columns(len(columns["prompt"]), asked)
        return self._rows(f"generate{self._suffix}", columns, answer_rows.generations)

    def score(self, texts: Iterable[str | bytes]) -> list[TextScore]:
        """How likely a `TextGenerator` finds texts."""
        return self._rows("score", {"text": as_texts(texts)}, answer_rows.text_scores)

    # The server.

    def predict(self, signature: str, inputs: Mapping[str, Sequence]) -> dict[str, list]:
        """The outputs of any signature, in one request.

        Args:
            signature: its name.
            inputs: lists by the names of its inputs, one value a row: texts, whole numbers (int32)
                or decimals (float32).

        Returns:
            Nested lists by the names of its outputs.
        """
        columns = check_columns(inputs)
        ask = functools.partial(self._transport.predict, signature, columns)
        outputs = self._ask(ask)
        rows = len(next(iter(columns.values())))
        for name, values in outputs.items():
            if not isinstance(values, list) or len(values) != rows:
                raise ServingError(
                    f"The signature {signature!r} of {self._model} does not give one {name} for "
                    f"each of {rows} rows: it is of another kind of model."
                )
        return outputs

    def signatures(self) -> dict[str, Signature]:
        """The model's signatures by name: types and shapes of their inputs and outputs."""
        return self._ask(self._transport.signatures)

    def task(self) -> str:
        """The class of the model's task, such as "Translator".

        Raises:
            ServingError: when the model is no export of a task.
        """
        default = self.signatures().get("serving_default")
        task = None if default is None else task_of(default.outputs)
        if task is None:
            raise ServingError(f"{self._address}: {self._model} is none of the tasks exported.")
        return task

    def versions(self) -> list[VersionStatus]:
        """All versions of the model that the server has or had, newest first."""
        return self._ask(self._transport.versions)

    def ready(self) -> bool:
        """Whether the server answers for this model (and version or label) now; asked once.

        Raises:
            ServingError: when something answers that is no such server.
        """
        try:
            self._ask(self._transport.signatures, Retries(0))
        except (ServerUnavailable, ServerTimeout, ModelNotFound):
            return False
        return True

    def close(self) -> None:
        """Ends the connection, if there is one."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # One request.

    def _rows(
        self, signature: str, columns: dict[str, list], read: Callable[[dict[str, list]], list]
    ) -> list[Any]:
        found = []
        for batch in batches(columns, self._batch_size):
            outputs = self.predict(signature, batch)
            try:
                found += read(outputs)
            except answer_rows.MissingOutput as missing:
                given = ", ".join(sorted(outputs)) or "nothing"
                raise RequestRefused(
                    f"{self._address}: {self._model} is of another task: its signature "
                    f"{signature!r} gives {given}, no {missing}."
                ) from None
        return found

    def _ask(self, ask: Callable[[float], Result], retries: Retries | None = None) -> Result:
        try:
            return (retries or self._retries).call(ask, self._timeout)
        except StatusError as error:
            raise explained(error, str(self._model), self._address) from error
