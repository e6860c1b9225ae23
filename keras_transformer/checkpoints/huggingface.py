"""Hugging Face directories to our models, and back."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras

from keras_transformer.checkpoints import bert, decoders
from keras_transformer.checkpoints.sentence_transformers import pooling_files, read_pooling
from keras_transformer.checkpoints.tensor_files import TensorFiles, write_checkpoint
from keras_transformer.models import Bert, BertClassifier, BertEmbedder, BertTagger, Gpt

CONFIG_FILE = "config.json"
LABELLED = (BertClassifier, BertTagger)
MODEL_TYPES = (bert.MODEL_TYPE, *decoders.FAMILIES)
WRITABLE = (*bert.WRITTEN_AS, Gpt)


def load_huggingface(
    directory: str | os.PathLike[str],
    model_class: type[keras.Model] | None = None,
    *,
    num_labels: int | None = None,
    pooling: str | None = None,
    normalize: bool | None = None,
    dtype: Any = None,
) -> keras.Model:
    """The model in a Hugging Face directory: `config.json` and safetensors, one file or several.

    Only the model; the tokenizer's files are the tokenizer's affair. Files in half precision are
    read too. Pickled weights are refused.

    Args:
        directory: the folder.
        model_class: the model wanted, `BertClassifier` say: the encoder is read, and the head as
            far as the directory holds it; otherwise it starts at random, for fine-tuning. By
            default the model that the directory says it is (a `Bert` for a "BertModel", a `Gpt`
            for GPT-2 and Llama).
        num_labels: labels of a classifier or tagger; as many as the directory says by default.
        pooling: "mean" or "cls", for `BertEmbedder`; what a sentence-transformers directory says
            by default, else "mean".
        normalize: whether a `BertEmbedder` gives vectors of length one; the same default, else not.
        dtype: Keras dtype policy of the model, such as "mixed_bfloat16".

    Returns:
        A built model.

    Warns:
        UserWarning: naming the tensors that the directory lacks (a new head) or that the model has
            no place for (a pooler, say).

    Raises:
        ValueError: when the directory holds no model that we have, when tensors are missing,
            unknown or of another shape, or for an option that the model does not have.

    >>> load_huggingface("bert-base-uncased", BertClassifier, num_labels=3)  # doctest: +SKIP
    """
    directory = Path(directory)
    fields = _read_fields(directory)
    options = {"num_labels": num_labels, "pooling": pooling, "normalize": normalize}
    given = {name: value for name, value in options.items() if value is not None}
    if fields["model_type"] in decoders.FAMILIES:
        if model_class not in (None, Gpt):
            raise ValueError(
                f"{directory} holds a decoder: model_class must be Gpt, not {model_class.__name__}."
            )
        _check_options(given, {}, Gpt)
        return decoders.load_gpt(directory, fields, dtype)
    own_class = _own_class(directory, fields, required=model_class is None)
    model_class = model_class or own_class
    if model_class not in bert.WRITTEN_AS:
        raise ValueError(
            f"model_class must be one of {_names(bert.WRITTEN_AS)}, not {model_class!r}."
        )
    options = {}
    if model_class in LABELLED:
        options["num_labels"] = _count_labels(fields) if num_labels is None else num_labels
    elif model_class is BertEmbedder:
        wanted = {name: given[name] for name in ("pooling", "normalize") if name in given}
        options = (read_pooling(directory) if len(wanted) < 2 else {}) | wanted
    _check_options(given, options, model_class)
    files = TensorFiles(directory)
    try:
        config = bert.read_config(fields)
    except ValueError as error:
        raise ValueError(f"{directory / CONFIG_FILE}: {error}") from None
    model = Bert(config, dtype=dtype)
    if model_class is not Bert:
        model = model_class(model, **options)
    model.build()
    bert.NAMES.load(model, files, config.num_hidden_layers, may_be_new=model_class is not own_class)
    return model


def save_huggingface(
    model: keras.Model,
    directory: str | os.PathLike[str],
    labels: Sequence[str] | None = None,
) -> None:
    """Writes `config.json` and `model.safetensors` (float32) as Hugging Face's libraries read them.

    A `BertEmbedder` gets the files of a sentence-transformers directory too. A `Gpt` with learned
    positions becomes a GPT-2, one with rotary positions a Llama. Each file is written under a
    temporary name and then renamed, the weights last.

    Args:
        model: one of our BERT models or a `Gpt`, built.
        directory: the folder, made where it is not there; other files in it stay.
        labels: names of the labels of a classifier or tagger, in the order of their ids;
            "LABEL_0", "LABEL_1", ... by default.

    Raises:
        ValueError: for a model of another kind, one that is not built, a `Gpt` of a shape that
            neither GPT-2 nor Llama has, or a `BertClassifier` that takes the mean of its tokens,
            and when there are not as many labels as the model has.

    >>> save_huggingface(model, "runs/sst2", labels=["bad", "good"])  # doctest: +SKIP
    """
    if type(model) not in WRITABLE:
        raise ValueError(f"model must be one of {_names(WRITABLE)}, not a {type(model).__name__}.")
    if not model.built:
        raise ValueError(f"{model.name} has no weights yet: call or build it before it is saved.")
    if labels is not None and type(model) not in LABELLED:
        raise ValueError(f"A {type(model).__name__} has no labels.")
    if isinstance(model, BertClassifier) and model.pooling != "cls":
        raise ValueError(
            f"Hugging Face's BERT classifies by the first token: a BertClassifier with "
            f"pooling={model.pooling!r} cannot be written as one."
        )
    if isinstance(model, Gpt):
        fields, tensors = decoders.written(model)
        write_checkpoint(Path(directory), {CONFIG_FILE: fields}, tensors)
        return
    config, architecture = model.config, bert.WRITTEN_AS[type(model)]
    fields = bert.write_config(config) | {"architectures": [architecture]}
    if type(model) in LABELLED:
        labels = labels or [f"LABEL_{i}" for i in range(model.num_labels)]
        if len(labels) != model.num_labels:
            raise ValueError(f"{len(labels)} labels, but the model has {model.num_labels}.")
        if len(set(labels)) != len(labels):
            raise ValueError("labels must differ from each other.")
        fields["id2label"] = {str(i): label for i, label in enumerate(labels)}
        fields["label2id"] = {label: i for i, label in enumerate(labels)}
    files = {CONFIG_FILE: fields}
    if isinstance(model, BertEmbedder):
        files |= pooling_files(
            model.pooling, model.normalize, config.hidden_size, config.max_position_embeddings
        )
    tensors = bert.NAMES.tensors(
        model, config.num_hidden_layers, bare=architecture == bert.WRITTEN_AS[Bert]
    )
    write_checkpoint(Path(directory), files, tensors)


def read_labels(directory: str | os.PathLike[str]) -> list[str] | None:
    """The names of the labels in a Hugging Face directory, by id; ``None`` where it has none.

    Raises:
        ValueError: when `config.json` is missing or damaged, or ids are left out.
    """
    directory = Path(directory)
    names = _read_fields(directory).get("id2label")
    if names is None:
        return None
    try:
        names = {int(index): str(label) for index, label in names.items()}
        return [names[i] for i in range(len(names))]
    except (ValueError, KeyError, AttributeError):
        raise ValueError(
            f"{directory / CONFIG_FILE}: id2label must name the labels 0, 1, 2, ..., not {names!r}."
        ) from None


def _read_fields(directory: Path) -> dict[str, Any]:
    path = directory / CONFIG_FILE
    if not path.is_file():
        raise ValueError(
            f"{directory} is no Hugging Face directory: there is no {path.name} in it."
        )
    try:
        fields = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}.") from None
    if not isinstance(fields, dict) or "model_type" not in fields:
        raise ValueError(f"{path} does not say which model it is of: there is no model_type in it.")
    if fields["model_type"] not in MODEL_TYPES:
        raise ValueError(
            f"{path}: model_type must be one of {', '.join(MODEL_TYPES)}, "
            f"not {fields['model_type']!r}."
        )
    return fields


def _own_class(
    directory: Path, fields: Mapping[str, Any], required: bool
) -> type[keras.Model] | None:
    """The model that a directory says it is."""
    names = fields.get("architectures") or ["BertModel"]
    if not (isinstance(names, list) and isinstance(names[0], str)):
        raise ValueError(
            f"{directory / CONFIG_FILE}: architectures must be a list of names, not {names!r}."
        )
    if names[0] not in bert.ARCHITECTURES and required:
        raise ValueError(
            f"{directory / CONFIG_FILE}: the architecture must be one of "
            f"{', '.join(bert.ARCHITECTURES)}, not {names[0]!r}; give model_class to read its "
            "encoder into another model."
        )
    return bert.ARCHITECTURES.get(names[0])


def _count_labels(fields: Mapping[str, Any]) -> int:
    """Two where nothing is said, as Hugging Face has it."""
    return len(fields.get("id2label") or ()) or fields.get("num_labels") or 2


def _check_options(
    given: Mapping[str, Any], taken: Mapping[str, Any], model_class: type[keras.Model]
) -> None:
    for name, value in given.items():
        if name not in taken:
            raise ValueError(f"{name}={value!r} is no option of {model_class.__name__}.")


def _names(classes: Iterable[type]) -> str:
    return ", ".join(c.__name__ for c in classes)
