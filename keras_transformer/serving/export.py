"""Exports of tasks for a server: chosen signatures, warm-up records, and a page about them."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from keras_transformer.serving.compiled_signatures import compiled_signatures
from keras_transformer.serving.examples import examples_of
from keras_transformer.serving.provenance import provenance
from keras_transformer.serving.signature_page import PAGE_FILE, signature_page
from keras_transformer.serving.warmup import WarmupRequest, prediction_logs, write_warmup
from keras_transformer.serving.warmup_requests import read_requests
from keras_transformer.tasks import Task
from keras_transformer.tasks.task import check_export_folder, check_version
from keras_transformer.text.files import write_atomically

DEFAULT = "serving_default"


def export_for_serving(
    task: Task,
    directory: str | os.PathLike[str],
    version: int | None = None,
    *,
    signatures: Sequence[str] | None = None,
    xla: bool = False,
    warmup: str | os.PathLike[str] | None = None,
    xla_warmup: bool = False,
    run: str | os.PathLike[str] | None = None,
) -> Path:
    """Writes a version of a SavedModel with all that a server and its users want beside it.

    That is `signatures.md`, which says how each signature is asked and where the model comes from,
    and, if there are texts to warm up with, `assets.extra/tf_serving_warmup_requests`.

    Args:
        task: the task.
        directory: folder of the model, one sub-folder a version; its name is the model's.
        version: a whole number; one more than the newest by default.
        signatures: names of those to serve, all by default but those that are optional;
            `serving_default` always is.
        xla: whether to add, named `<name>_xla`, signatures whose search XLA compiles; for servers
            that have it switched on.
        warmup: a file of requests, see `read_requests`.
        xla_warmup: whether to warm up the `*_xla` signatures as well. Only a server that has XLA
            switched on can then load the version at all.
        run: folder that the task was loaded from, for the page.

    Returns:
        The folder of the version.

    Raises:
        ValueError: for a version that exists, a signature that does not, a task that has nothing
            for XLA to compile, requests that fit no signature or fail; when a package is missing.
        OSError: when the folder cannot be written.

    >>> translator = Translator.load("runs/translate")  # doctest: +SKIP
    >>> export_for_serving(translator, "saved_models/translate", xla=True)  # doctest: +SKIP
    PosixPath('saved_models/translate/2')
    """
    check_export_folder(directory)
    check_version(directory, version)
    functions = chosen_signatures(task, signatures, xla)
    inputs = {name: _inputs(function) for name, function in functions.items()}
    defaults = default_inputs(task)
    requests: list[WarmupRequest] = []
    if warmup is not None:
        prediction_logs()  # what is missing is said before the work
        warm = {n: specs for n, specs in inputs.items() if xla_warmup or not n.endswith("_xla")}
        requests = read_requests(warmup, warm, defaults)
    where_from = provenance(task, run)
    model_name = os.path.basename(os.path.abspath(directory))

    def add(path: Path) -> None:
        if requests:
            write_warmup(path, requests, model_name)
        examples = examples_of(inputs, where_from.task, defaults, requests)
        page = signature_page(path, model_name, examples, where_from)
        write_atomically(path / PAGE_FILE, page.encode("utf-8"))

    return task.export(directory, version, signatures=functions, add=add)


def chosen_signatures(
    task: Task, names: Sequence[str] | None = None, xla: bool = False
) -> dict[str, Callable]:
    """The functions to serve, by name; `Task.optional_signatures` only where they are named.

    Raises:
        ValueError: when a name is unknown, or XLA has nothing to compile.
    """
    usual = task.signatures()
    offered = usual | task.optional_signatures()
    for name in names or ():
        if name not in offered:
            raise ValueError(
                f"A {type(task).__name__} has no signature {name!r}; it has {', '.join(offered)}."
            )
    kept = usual if names is None else (DEFAULT, *names)
    chosen = {name: function for name, function in offered.items() if name in kept}
    if not xla:
        return chosen
    twins = {n: f for n, f in compiled_signatures(task).items() if n.removesuffix("_xla") in chosen}
    if not twins:
        raise ValueError(
            f"A {type(task).__name__} has no search for XLA to compile: export it without XLA."
        )
    return chosen | twins


def default_inputs(task: Task) -> dict[str, Any]:
    """Values of the options that a signature may take as inputs, as the task has them."""
    options = getattr(task, "options", None)
    return dataclasses.asdict(options) if dataclasses.is_dataclass(options) else {}


def _inputs(function: Any) -> dict[str, tf.TensorSpec]:
    return {spec.name: spec for spec in function.input_signature}
