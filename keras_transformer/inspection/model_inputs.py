"""What the model of a task is given for a text, as the task itself reads it, and the tokens."""

from __future__ import annotations

from dataclasses import dataclass

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
        read = task.written_ids(text, min_new_tokens=0, max_new_tokens=0)
        _refuse_cut(read.truncated, task.model.config.max_position_embeddings)
        return _inputs({"token_ids": (read.read, task.tokenizer)})
    if isinstance(task, BertTask):
        pair = None if target is None else tf.constant([target])
        batch, _, truncated = task.reading(tf.constant([text]), pair)
        _refuse_cut(truncated.numpy()[0] or len(batch.token_ids) != 1, task.max_length)
        read = _inputs({"token_ids": (batch.token_ids.numpy()[0].tolist(), task.tokenizer)})
        segments = {"segment_ids": batch.segment_ids.numpy()}
        return ModelInputs(read.inputs | segments, read.tokens, read.tokenizer)
    raise ValueError(f"Nothing is known of what a {type(task).__name__} gives to its model.")


def _of_translator(task: Translator, text: str, target: str | None) -> ModelInputs:
    source, written, truncated = task.written_ids(text, target or "")
    _refuse_cut(truncated, task.options.max_source_length)
    if target is None:
        written = task.written_ids(text).written
    most = task.options.max_target_length
    if len(written) > most:
        raise ValueError(f"The target has {len(written)} tokens, its end counted; {most} are read.")
    read = [task.model.config.bos_token_id, *written[:-1]]
    return _inputs(
        {"source": (source, task.source_tokenizer), "target": (read, task.target_tokenizer)}
    )


def _inputs(rows: dict[str, tuple[list[int], Tokenizer]]) -> ModelInputs:
    return ModelInputs(
        {name: np.array([ids], "int32") for name, (ids, _) in rows.items()},
        {name: [tokenizer.id_to_token(i) for i in ids] for name, (ids, tokenizer) in rows.items()},
        list(rows.values())[-1][1],
    )


def _refuse_cut(is_cut: bool, most: int) -> None:
    if is_cut:
        raise ValueError(f"The text is longer than the {most} tokens that the model is given.")
