"""Where a BERT command begins: a pretrained folder, or random weights and a new tokenizer."""

import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import keras
import pretrained
from waiting import waiting

from keras_transformer.checkpoints import load_huggingface, load_wordpiece
from keras_transformer.models import Bert, BertConfig
from keras_transformer.models.bert import BertWithHead
from keras_transformer.tasks import Task
from keras_transformer.text import (
    CharacterTokenizer,
    Tokenizer,
    WordPieceTokenizer,
    load_tokenizer,
)

TAUGHT = ("pooler", "token_head", "next_sentence")
"""Parts of heads that pretraining teaches; Devlin et al. (2019) fine-tune the pooler, too."""


def start(
    options: Any, texts: Callable[[], Iterable[str]], model_class: type[BertWithHead], **head: Any
) -> tuple[BertWithHead, Tokenizer]:
    """The model and the tokenizer that a run begins with; the latter is saved in it at once.

    Of a pretrained model the encoder goes on, and of its head what is in `TAUGHT`; the rest of the
    head is new.

    Args:
        options: of the command: where from, and how to build what is new.
        texts: gives the texts that a new tokenizer learns from.
        model_class: the model to train.
        **head: its arguments besides the encoder.
    """
    folder = Path(options.output, "tokenizer")
    if options.resume and (began := pretrained.read_start(options.output)) is not None:
        dtype = options.precision or began.get("dtype")  # older versions did not keep it
        bert = Bert(BertConfig.from_dict(began["model"]), dtype=dtype)
        return built(model_class(bert, **head)), load_tokenizer(folder)
    if options.init is not None:
        source, tokenizer = load_pretrained(options.init, options.precision, model_class)
        bert = with_dropout(encoder_of(source), options.model)
        most = bert.config.max_position_embeddings
        if options.max_length > most:
            raise ValueError(
                f"--max-length {options.max_length} is more than the model of {options.init} "
                f"takes, {most}."
            )
        model = built(model_class(bert, **head))
        go_on_with_head(model, source)
    else:
        with waiting("Learning the tokenizer") as bar:
            tokenizer = new_tokenizer(
                options.tokenizer, bar.count(texts()), options.vocab_size, options.lowercase
            )
        bert = new_encoder(options.preset, tokenizer, options.max_length, options.model)
        model = built(model_class(bert, **head))
    tokenizer.save(folder)
    pretrained.write_start(
        options.output, {"model": bert.config.to_dict(), "dtype": bert.dtype_policy.name}
    )
    return model, tokenizer


def load_encoder(directory: str) -> tuple[Bert, Tokenizer]:
    """The encoder and the tokenizer of a run's folder, or of a Hugging Face directory.

    Raises:
        ValueError: when the folder holds neither.
    """
    model, tokenizer = load_pretrained(directory, None, Bert)
    return encoder_of(model), tokenizer


def load_pretrained(
    directory: str, precision: str | None, model_class: type[keras.Model]
) -> tuple[keras.Model, Tokenizer]:
    """The model and the tokenizer of a run's folder, or of a Hugging Face directory.

    Args:
        directory: the folder.
        precision: dtype policy of the encoder; that of the run, or Keras', by default.
        model_class: what is wanted of a Hugging Face directory; a run gives the model that it has.

    Raises:
        ValueError: when the folder holds neither.
    """
    if pretrained.is_run(directory):
        task = Task.load(directory, dtype=precision)
        if not hasattr(task.model, "bert"):
            raise ValueError(f"{directory} is a {type(task).__name__}, which holds no BERT.")
        return task.model, task.tokenizer
    return load_huggingface(directory, model_class, dtype=precision), load_wordpiece(directory)


def encoder_of(model: keras.Model) -> Bert:
    """The encoder of a model with a head, or the model itself."""
    return getattr(model, "bert", model)


def with_dropout(bert: Bert, rates: dict[str, float]) -> Bert:
    """The encoder with other rates of dropout, and the weights that it has."""
    if not rates:
        return bert
    other = built(Bert(dataclasses.replace(bert.config, **rates), dtype=bert.dtype_policy))
    other.set_weights(bert.get_weights())
    return other


def go_on_with_head(model: BertWithHead, source: keras.Model) -> None:
    """Gives a model the parts of another one's head that are worth keeping."""
    for part in TAUGHT:
        if hasattr(model, part) and hasattr(source, part):
            getattr(model, part).set_weights(getattr(source, part).get_weights())


def built(model: keras.Model) -> keras.Model:
    """The model, with its weights made."""
    model.build()
    return model


def new_tokenizer(kind: str, texts: Iterable[str], vocab_size: int, lowercase: bool) -> Tokenizer:
    """A tokenizer learned from the texts."""
    if kind == "char":
        return CharacterTokenizer.train(texts, vocab_size=vocab_size, mask=True)
    return WordPieceTokenizer.train(texts, vocab_size, lowercase=lowercase)


def new_encoder(
    preset: str, tokenizer: Tokenizer, max_length: int, overrides: dict[str, Any]
) -> Bert:
    """An encoder with random weights."""
    sizes = {"vocab_size": tokenizer.vocab_size, "max_position_embeddings": max_length}
    return Bert(BertConfig.preset(preset, **(sizes | overrides)))
