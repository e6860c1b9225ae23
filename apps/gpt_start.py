"""Where a GPT command begins: a trained folder, or random weights and a new tokenizer."""

import dataclasses
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pretrained
from waiting import waiting

from keras_transformer.checkpoints import load_byte_level_bpe, load_huggingface, load_sentencepiece
from keras_transformer.models import Gpt, GptConfig
from keras_transformer.tasks import Task
from keras_transformer.text import (
    ByteLevelBPETokenizer,
    CharacterTokenizer,
    SentencePieceTokenizer,
    Tokenizer,
    load_tokenizer,
)
from keras_transformer.text.sentencepiece import MODEL_FILE

SUBWORDS = 8000  # ids of a new tokenizer of subwords where no number is given
LONGEST_BLOCK = 1024  # where no other length is asked for


class Start(NamedTuple):
    """What a run begins with."""

    model: Gpt
    tokenizer: Tokenizer
    start_id: int | None  # stands before a text


def start(options: Any, texts: Callable[[], Iterable[str]]) -> Start:
    """The model and the tokenizer that a run begins with; the latter is saved in it at once.

    Args:
        options: of the command: where from, and how to build what is new.
        texts: gives the texts that a new tokenizer learns from.

    Raises:
        ValueError: when `options.init` holds no model, or `options.block_size` is more than the
            model takes.
    """
    folder = Path(options.output, "tokenizer")
    if options.resume and (began := pretrained.read_start(options.output)) is not None:
        # Runs of older versions did not keep their dtype policy.
        dtype = options.precision or began.get("dtype", "float32")
        model = Gpt(GptConfig.from_dict(began["model"]), dtype=dtype)
        model.build()
        return Start(model, load_tokenizer(folder), began["start_id"])
    if options.init is not None:
        found = load_pretrained(options.init, options.precision)
    else:
        with waiting("Learning the tokenizer") as bar:
            tokenizer = new_tokenizer(options.tokenizer, bar.count(texts()), options.vocab_size)
        found = Start(new_model(options, tokenizer), tokenizer, tokenizer.eos_id)
    config = found.model.config
    if options.block_size is not None and options.block_size > config.max_position_embeddings:
        raise ValueError(
            f"--block-size {options.block_size} is more than the model of "
            f"{options.init or '--model'} takes, {config.max_position_embeddings}."
        )
    found.tokenizer.save(folder)
    began = {
        "model": config.to_dict(),
        "dtype": found.model.dtype_policy.name,
        "start_id": found.start_id,
    }
    pretrained.write_start(options.output, began)
    return found


def block_size(options: Any, model: Gpt) -> int:
    """Tokens of a row."""
    return options.block_size or min(model.config.max_position_embeddings, LONGEST_BLOCK)


def load_pretrained(directory: str, precision: str | None = None) -> Start:
    """What a run's folder holds, or a Hugging Face directory of GPT-2's or Llama's kind.

    Args:
        directory: the folder.
        precision: dtype policy of the model; that of the run, or Keras', by default.

    Raises:
        ValueError: when the folder holds neither.
    """
    if pretrained.is_run(directory):
        task = Task.load(directory, dtype=precision)
        if not isinstance(task.model, Gpt):
            raise ValueError(f"{directory} is a {type(task).__name__}, which holds no Gpt.")
        return Start(task.model, task.tokenizer, task.start_id)
    model = load_huggingface(directory, dtype=precision)
    if not isinstance(model, Gpt):
        raise ValueError(f"{directory} is a {type(model).__name__}, not a Gpt.")
    if Path(directory, MODEL_FILE).is_file():
        tokenizer: Tokenizer = load_sentencepiece(directory)
    else:
        tokenizer = load_byte_level_bpe(directory)
    fields = json.loads(Path(directory, "config.json").read_text(encoding="utf-8-sig"))
    # Llama begins every text with a token of its own, GPT-2 with the one that ends texts.
    has_own = fields["model_type"] == "llama" and tokenizer.bos_id != -1
    start_id = tokenizer.bos_id if has_own else tokenizer.eos_id
    # Older conversions of Llama name <unk> as padding. What may stand in a text is to be seen.
    pad_id = model.config.pad_token_id
    if pad_id in (start_id, tokenizer.eos_id) or pad_id not in tokenizer.special_ids:
        model.config = dataclasses.replace(model.config, pad_token_id=-1)
    return Start(model, tokenizer, start_id)


def new_tokenizer(kind: str, texts: Iterable[str], vocab_size: int | None) -> Tokenizer:
    """A tokenizer learned from the texts."""
    if kind == "char":
        return CharacterTokenizer.train(texts, vocab_size=vocab_size)
    if kind == "bpe":
        return ByteLevelBPETokenizer.train(texts, vocab_size or SUBWORDS)
    return SentencePieceTokenizer.train(texts, vocab_size or SUBWORDS, hard_vocab_limit=False)


def new_model(options: Any, tokenizer: Tokenizer) -> Gpt:
    """A model with random weights."""
    fields = {
        "vocab_size": tokenizer.vocab_size,
        "pad_token_id": tokenizer.pad_id,
        "bos_token_id": tokenizer.bos_id,
        "eos_token_id": tokenizer.eos_id,
    }
    if options.block_size is not None:
        fields["max_position_embeddings"] = options.block_size
    model = Gpt(GptConfig.preset(options.preset, **(fields | options.model)))
    model.build()
    return model
