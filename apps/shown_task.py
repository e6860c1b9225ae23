"""The task of a folder, to be looked into by attention.py and explain.py."""

import json
from collections.abc import Callable
from pathlib import Path

import gpt_start
import pretrained

from keras_transformer.checkpoints.decoders import FAMILIES
from keras_transformer.tasks import Task, TextGenerator


def open_task(directory: str, around_bert: Callable[[str], Task]) -> Task:
    """The task of a run; around a model of a Hugging Face directory, one that reads texts.

    Args:
        directory: the folder.
        around_bert: makes one of a Hugging Face directory of BERT, which may have no head.

    Raises:
        ValueError: when the folder holds no model, or a SavedModel.
    """
    if pretrained.saved_model(directory) is not None:
        raise ValueError(
            f"{directory} is a SavedModel, which cannot be looked into: give the folder of its run."
        )
    if pretrained.is_run(directory):
        return Task.load(directory)
    fields = json.loads(Path(directory, "config.json").read_text(encoding="utf-8-sig"))
    if fields.get("model_type") not in FAMILIES:
        return around_bert(directory)
    model, tokenizer, start_id = gpt_start.load_pretrained(directory)
    return TextGenerator(model, tokenizer, None, start_id)
