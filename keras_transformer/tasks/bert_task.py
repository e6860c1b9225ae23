"""What the tasks of BERT share: a tokenizer beside the model, limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

import keras
import tensorflow as tf

from keras_transformer.checks import check_whole
from keras_transformer.models import Bert, BertConfig
from keras_transformer.tasks.bert_inputs import BertInputs, BertReading
from keras_transformer.tasks.task import Task
from keras_transformer.text import Tokenizer, load_tokenizer


class BertTask(Task):
    """Base of the tasks that hold a BERT and one tokenizer.

    A subclass names its `model_classes`, gives `signatures` and `_options`, and `_model` where its
    model takes more than an encoder.

    Args:
        model: one of `model_classes`; it is built if it is not.
        tokenizer: of the same ids as the model.
        max_length: most tokens that the model gets at once, special ones included; as many as its
            position table has by default.
        least: fewest tokens that make sense for the task.

    Raises:
        ValueError: when model and tokenizer do not have the same ids, or `max_length` is out of
            range.
    """

    model_classes: ClassVar[tuple[type[keras.Model], ...]] = ()

    def __init__(
        self,
        model: keras.Model,
        tokenizer: Tokenizer,
        max_length: int | None = None,
        *,
        least: int = 3,
        name: str | None = None,
    ):
        if not isinstance(model, self.model_classes):
            classes = " or ".join(c.__name__ for c in self.model_classes)
            raise ValueError(f"model must be a {classes}, not a {type(model).__name__}.")
        super().__init__(model, name=name)
        self.tokenizer = tokenizer
        config: BertConfig = model.config
        if tokenizer.vocab_size != config.vocab_size:
            raise ValueError(
                f"The tokenizer has {tokenizer.vocab_size} ids, the model {config.vocab_size}."
            )
        if tokenizer.pad_id != config.pad_token_id:
            raise ValueError(
                f"PAD is {tokenizer.pad_id} for the tokenizer, {config.pad_token_id} for the model."
            )
        longest = config.max_position_embeddings
        max_length = longest if max_length is None else max_length
        check_whole(max_length=max_length)
        if not least <= max_length <= longest:
            raise ValueError(
                f"max_length must be from {least} to the model's max_position_embeddings="
                f"{longest}, not {max_length}."
            )
        self.max_length = int(max_length)
        self._inputs = BertInputs(tokenizer, config.type_vocab_size)
        if not model.built:
            model.build()

    def reading(self, texts: tf.Tensor, text_pairs: tf.Tensor | None = None) -> BertReading:
        """What the model is given of texts `[batch]`; the task itself reads them by this.

        Args:
            texts: string `[batch]`.
            text_pairs: string `[batch]`, the second text of each. A task that takes one text reads
                a pair as in pretraining.
        """
        return self._inputs.reading(texts, text_pairs, self.max_length)

    # Saving.

    def _options(self) -> dict[str, Any]:
        """The arguments of the constructor beside model and tokenizer, as JSON has them."""
        raise NotImplementedError

    def _head(self) -> dict[str, Any]:
        """What `_model` needs beside the encoder."""
        return {}

    @classmethod
    def _model(cls, bert: Bert, **head: Any) -> keras.Model:
        """The model on top of an encoder."""
        return cls.model_classes[0](bert, **head)

    def _config(self) -> dict[str, Any]:
        return {
            "model": self.model.config.to_dict(),
            "dtype": self.model.dtype_policy.name,
            "head": self._head(),
            "options": self._options(),
        }

    def _parts(self) -> dict[str, Any]:
        return {"tokenizer": self.tokenizer}

    @classmethod
    def _restore(cls, config: dict[str, Any], directory: Path) -> Self:
        bert = Bert(cls._model_config(BertConfig, config, directory), dtype=config["dtype"])
        model = cls._model(bert, **config["head"])
        return cls(model, load_tokenizer(directory / "tokenizer"), **config["options"])


def check_labels(labels: Any, model: keras.Model) -> list[str]:
    """The names of a model's labels by id; a ValueError for any that cannot be right."""
    labels = list(labels)
    for index, label in enumerate(labels):
        if not isinstance(label, str) or not label:
            raise ValueError(f"labels[{index}] must be a name, not {label!r:.80}.")
        if label in labels[:index]:
            raise ValueError(f"labels holds {label!r} twice, as {labels.index(label)} and {index}.")
    if len(labels) != model.num_labels:
        raise ValueError(f"There are {len(labels)} labels, but the model has {model.num_labels}.")
    return labels
