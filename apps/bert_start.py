"""Where a BERT command begins: a pretrained folder, or random weights and a new tokenizer."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pretrained
from waiting import waiting

from keras_transformer.checkpoints import load_huggingface, load_wordpiece
from keras_transformer.models import Bert, BertConfig
from keras_transformer.tasks import Task
from keras_transformer.text import (
    CharacterTokenizer,
    Tokenizer,
    WordPieceTokenizer,
    load_tokenizer,
)


def start(options: Any, texts: Callable[[], Iterable[str]]) -> tuple[Bert, Tokenizer]:
    """The encoder and the tokenizer that a run begins with; the latter is saved in it at once.

    Args:
        options: of the command: where from, and how to build what is new.
        texts: gives the texts that a new tokenizer learns from.
    """
    folder = Path(options.output, "tokenizer")
    if options.resume and (began := pretrained.read_start(options.output)) is not None:
        dtype = options.precision or began.get("dtype")  # older versions did not keep it
        bert = Bert(BertConfig.from_dict(began["model"]), dtype=dtype)
        bert.build()
        return bert, load_tokenizer(folder)
    if options.init is not None:
        bert, tokenizer = load_pretrained(options.init, options.precision)
        most = bert.config.max_position_embeddings
        if options.max_length > most:
            raise ValueError(
                f"--max-length {options.max_length} is more than the model of {options.init} "
                f"takes, {most}."
            )
    else:
        with waiting("Learning the tokenizer") as bar:
            tokenizer = new_tokenizer(
                options.tokenizer, bar.count(texts()), options.vocab_size, options.lowercase
            )
        bert = new_encoder(options.preset, tokenizer, options.max_length, options.model)
    tokenizer.save(folder)
    pretrained.write_start(
        options.output, {"model": bert.config.to_dict(), "dtype": bert.dtype_policy.name}
    )
    return bert, tokenizer


def load_pretrained(directory: str, precision: str | None = None) -> tuple[Bert, Tokenizer]:
    """The encoder and the tokenizer of a run's folder, or of a Hugging Face directory.

    Args:
        directory: the folder.
        precision: dtype policy of the encoder; that of the run, or Keras', by default.

    Raises:
        ValueError: when the folder holds neither.
    """
    if pretrained.is_run(directory):
        task = Task.load(directory, dtype=precision)
        if not hasattr(task.model, "bert"):
            raise ValueError(f"{directory} is a {type(task).__name__}, which holds no BERT.")
        return task.model.bert, task.tokenizer
    return load_huggingface(directory, Bert, dtype=precision), load_wordpiece(directory)


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
    bert = Bert(BertConfig.preset(preset, **(sizes | overrides)))
    bert.build()
    return bert
