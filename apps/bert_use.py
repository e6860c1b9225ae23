"""What the encoder of a folder can be used for without learning a task."""

from typing import Literal

import pretrained
from bert_start import load_encoder

from keras_transformer.checkpoints import load_huggingface, load_wordpiece
from keras_transformer.models import BertEmbedder, BertMaskedLM
from keras_transformer.tasks import FillMask, Task, TextEmbedder

Use = Literal["fill_mask", "embed"]


def used_as(folder: str, use: Use) -> Task:
    """A task around the encoder of a run or of a Hugging Face directory.

    Args:
        folder: the folder.
        use: to guess masked tokens, or for the vectors of texts and tokens.

    Raises:
        ValueError: when there is no model in the folder, or none that guesses masked tokens.
    """
    is_run = pretrained.is_run(folder)
    if not is_run:
        tokenizer = load_wordpiece(folder)
        if use == "embed":
            return TextEmbedder(load_huggingface(folder, BertEmbedder), tokenizer)
        return FillMask(load_huggingface(folder, BertMaskedLM), tokenizer)
    if use == "embed":
        bert, tokenizer = load_encoder(folder)
        return TextEmbedder(BertEmbedder(bert), tokenizer)
    task = Task.load(folder)
    if not isinstance(task, FillMask):
        raise ValueError(
            f"{folder} is a {type(task).__name__}, which cannot guess masked tokens: give a "
            "folder of bert_pretrain.py."
        )
    return task
