"""The page beside an export: how each signature is asked, and where the model comes from."""

from __future__ import annotations

import base64
import json
import os
import shlex
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import tensorflow as tf
import yaml

from keras_transformer.serving.provenance import Provenance
from keras_transformer.serving.saved_signatures import SavedSignature, saved_signatures

PAGE_FILE = "signatures.md"

REST = "http://localhost:8501"
GRPC = "localhost:8500"


def signature_page(
    saved_model: str | os.PathLike[str],
    model_name: str,
    examples: Mapping[str, Mapping[str, list]],
    provenance: Provenance,
) -> str:
    """The page of a SavedModel, in Markdown.

    Args:
        saved_model: folder of one version; what its signatures take and give is read from it.
        model_name: what the model is called by the server.
        examples: for each signature a list of values for each input.
        provenance: of the model.

    >>> exported = "saved_models/translate/1"
    >>> examples = {"serving_default": {"text": ["one dog"]}, "n_best": {"text": ["one dog"]}}
    >>> where_from = provenance(translator, "runs/translate")  # doctest: +SKIP
    >>> signature_page(exported, "translate", examples, where_from)[:12]  # doctest: +SKIP
    '# translate\\n'
    """
    signatures = saved_signatures(saved_model)
    parts = [
        f"# {model_name}",
        f"A {provenance.task}: text in, text out. How a server that offers it as `{model_name}` is "
        f"asked, over REST (here at {REST}) and gRPC ({GRPC}); `localhost` stands for the server. "
        "The first dimension of everything is the rows: one for each text that is asked about.",
    ]
    for signature in signatures:
        parts += _section(signature, model_name, examples[signature.name])
    return "\n\n".join([*parts, *_provenance(provenance)]) + "\n"


# A signature.

ALIGNMENT = (
    "`weights[i][t][s]` is how much token `t` of the {target} of row `i` looked at token `s` of "
    "the {source}: over the real tokens, of which there are `..._length`, it adds up to 1. "
    "`..._starts` and `..._ends` are their places, in characters."
)


def _section(
    signature: SavedSignature, model_name: str, example: Mapping[str, list]
) -> Iterator[str]:
    yield f"## {signature.name}"
    if signature.is_compiled:
        yield (
            f"As `{signature.name.removesuffix('_xla')}`, compiled by XLA for each new shape: only "
            "for a server that has it switched on (`--xla_cpu_compilation_enabled` on a CPU)."
        )
    yield _table(
        ["", "name", "type", "shape"],
        [
            *(["input", *_described(spec)] for spec in signature.inputs.values()),
            *(["output", *_described(spec)] for spec in signature.outputs.values()),
        ],
    )
    if signature.name == "alignment":
        of_answers = "question" in signature.inputs
        target, source = ("question", "context") if of_answers else ("translation", "text")
        yield ALIGNMENT.format(target=target, source=source)
    rows = [
        dict(zip(example, values, strict=True)) for values in zip(*example.values(), strict=True)
    ]
    yield "Row by row, and with all rows of an input together:"
    yield _block(
        "bash",
        "\n".join(
            [
                _curl(signature.name, model_name, {"instances": rows}),
                _curl(signature.name, model_name, {"inputs": dict(example)}),
            ]
        ),
    )
    yield "By gRPC:"
    yield _block("python", _grpc(signature, model_name, example))


def _described(spec: tf.TensorSpec) -> list[str]:
    sizes = ["rows", *("any" if size is None else str(size) for size in spec.shape[1:])]
    return [f"`{spec.name}`", spec.dtype.name, f"[{', '.join(sizes)}]"]


def _curl(signature: str, model_name: str, data: Mapping[str, Any]) -> str:
    body = json.dumps({"signature_name": signature, **data}, ensure_ascii=False)
    return f"curl -d {shlex.quote(body)} {REST}/v1/models/{quote(model_name)}:predict"


def _grpc(signature: SavedSignature, model_name: str, example: Mapping[str, list]) -> str:
    inputs = [
        f"request.inputs[{name!r}].CopyFrom(tf.make_tensor_proto({_python(values)}, "
        f"tf.{signature.inputs[name].dtype.name}))"
        for name, values in example.items()
    ]
    return "\n".join([
        "import grpc",
        "import tensorflow as tf",
        "from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc",
        "",
        "request = predict_pb2.PredictRequest()",
        f"request.model_spec.name = {model_name!r}",
        f"request.model_spec.signature_name = {signature.name!r}",
        *inputs,
        f"with grpc.insecure_channel({GRPC!r}) as channel:",
        "    service = prediction_service_pb2_grpc.PredictionServiceStub(channel)",
        "    answer = service.Predict(request, timeout=60)",
        "print({name: tf.make_ndarray(tensor) for name, tensor in answer.outputs.items()})",
    ])  # fmt: skip


def _python(values: list) -> str:
    """A list as Python has it, bytes among it."""
    return repr([base64.b64decode(v["b64"]) if isinstance(v, dict) else v for v in values])


# Where the model comes from.


def _provenance(found: Provenance) -> Iterator[str]:
    yield "## Where it comes from"
    facts = [
        ("task", found.task),
        ("run", found.run),
        ("weights", f"{found.parameters:,} numbers"),
        ("SHA-256 of the weights' file", found.weights_sha256),
        ("precision", found.precision),
        *((f"trained with `--{n.replace('_', '-')}`", value) for n, value in found.data.items()),
        *((f"result {name}", value) for name, value in found.scores.items()),
        ("trained by commit", found.trained_commit),
        *((f"trained with {name}", version) for name, version in found.trained_versions.items()),
        ("exported by commit", found.commit),
        *((f"exported with {name}", version) for name, version in found.versions.items()),
    ]
    yield _table(["", ""], [[name, _cell(value)] for name, value in facts if value is not None])
    if not found.data:
        yield "What it was trained on is not known: there are no options of a training beside it."
    if found.config:
        yield "Model and task:"
        yield _block("json", json.dumps(found.config, indent=2, ensure_ascii=False))
    if found.options:
        yield "All options of the training:"
        text = yaml.safe_dump(found.options, sort_keys=False, allow_unicode=True)
        yield _block("yaml", text.strip())


# Markdown.


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cell(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return " ".join(text.replace("|", "\\|").split())


def _block(language: str, text: str) -> str:
    """A block of code, whose fence is longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"
