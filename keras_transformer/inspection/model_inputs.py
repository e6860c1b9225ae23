"""What the model of a task is given for a text, and the tokens behind the ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.tasks import Task, TextGenerator, Translator
from keras_transformer.tasks.bert_task import BertTask
from keras_transformer.text import Tokenizer


@dataclass(frozen=True)
class ModelInputs:
    """The inputs of a model for one text.

    Attributes:
        inputs: what the model takes, each `[1, length]`.
        tokens: the tokens of each input of ids, by its name, as the vocabulary spells them.
        tokenizer: what the last of them are of.
    """

    inputs: dict[str, np.ndarray]
    tokens: dict[str, list[str]]
    tokenizer: Tokenizer


def model_inputs(task: Task, text: str, target: str | None = None) -> ModelInputs:
    """What the model of a task is given for a text.

    Args:
        task: a `Translator`, a `TextGenerator` or a task of BERT.
        text: the text.
        target: the translation that a translator's decoder is given; its own by default. Of a
            task of BERT, the second text, or the context of a question.

    Raises:
        ValueError: for a blank text, one that is longer than the model takes, a target where the
            task reads one text, and a task of another kind.
    """
    if not text.strip():
        raise ValueError("The text is blank.")
    if isinstance(task, Translator):
        return _of_translator(task, text, target)
    if isinstance(task, TextGenerator):
        if target is not None:
            raise ValueError("A TextGenerator reads one text; there is no target.")
        start = [] if task.start_id is None else [task.start_id]
        ids = start + _ids(task.tokenizer, text)
        _check_length(ids, task.model.config.max_position_embeddings)
        return _inputs({"token_ids": (ids, task.tokenizer)})
    if isinstance(task, BertTask):
        pair = None if target is None else tf.constant([target])
        batch, _, truncated = task.reading(tf.constant([text]), pair)
        if truncated.numpy()[0] or len(batch.token_ids) != 1:
            raise ValueError(f"The text is longer than the {task.max_length} tokens of the task.")
        read = _inputs({"token_ids": (batch.token_ids.numpy()[0].tolist(), task.tokenizer)})
        segments = {"segment_ids": batch.segment_ids.numpy()}
        return ModelInputs(read.inputs | segments, read.tokens, read.tokenizer)
    raise ValueError(f"Nothing is known of what a {type(task).__name__} gives to its model.")


def _of_translator(task: Translator, text: str, target: str | None) -> ModelInputs:
    config = task.model.config
    source = [*_ids(task.source_tokenizer, text), config.eos_token_id]
    _check_length(source, task.options.max_source_length)
    target = task([text])[0] if target is None else target
    ids = [config.bos_token_id, *_ids(task.target_tokenizer, target)]
    _check_length(ids, task.options.max_target_length)
    return _inputs(
        {"source": (source, task.source_tokenizer), "target": (ids, task.target_tokenizer)}
    )


def _inputs(rows: dict[str, tuple[list[int], Tokenizer]]) -> ModelInputs:
    return ModelInputs(
        {name: np.array([ids], "int32") for name, (ids, _) in rows.items()},
        {name: [tokenizer.id_to_token(i) for i in ids] for name, (ids, tokenizer) in rows.items()},
        list(rows.values())[-1][1],
    )


def _ids(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.tokenize([text]).to_list()[0]


def _check_length(ids: list[Any], most: int) -> None:
    if len(ids) > most:
        raise ValueError(f"The text has {len(ids)} tokens, special ones counted; {most} are read.")
