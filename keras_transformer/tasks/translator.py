"""Text-to-text with an encoder-decoder: translation, and any other rewriting of a text."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import tensorflow as tf

from keras_transformer.checks import check_at_least, check_whole
from keras_transformer.models import Transformer, TransformerConfig
from keras_transformer.tasks.alignments import TranslationAlignment, translation_alignments
from keras_transformer.tasks.answer_rows import best_translations
from keras_transformer.tasks.answers import Translation, WrittenIds
from keras_transformer.tasks.graph_function import graph_function
from keras_transformer.tasks.requests import finite, plain
from keras_transformer.tasks.task import Task
from keras_transformer.tasks.texts import as_texts
from keras_transformer.tasks.translation_alignment import TranslationAligner
from keras_transformer.tasks.translation_search import TranslationOptions, TranslationSearch
from keras_transformer.text import Tokenizer, load_tokenizer


class Translator(Task):
    """Translates texts; `translator(["..."])` runs the very graph that is exported.

    Args:
        model: the Transformer; built.
        source_tokenizer: tokenizer of the source.
        target_tokenizer: tokenizer of the target; the source's by default.
        options: how translations are searched.

    Raises:
        ValueError: when tokenizers and model do not have the same ids, or the model's position
            table is shorter than the lengths allowed.

    >>> translator = Translator.load("runs/translate")  # doctest: +SKIP
    >>> translator(["A dog runs."])  # doctest: +SKIP
    ['Ein Hund rennt.']
    """

    def __init__(
        self,
        model: Transformer,
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer | None = None,
        options: TranslationOptions | None = None,
    ):
        super().__init__(model, name="translator")
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer or source_tokenizer
        self.options = options or TranslationOptions()
        self._check_fit()
        if not model.built:
            model.build()
        self._search = TranslationSearch(
            model, self.source_tokenizer, self.target_tokenizer, self.options
        )
        text = [tf.TensorSpec([None], tf.string, name="text")]
        self.serving_default = graph_function(self._translate, input_signature=text)
        self.n_best = graph_function(self._translate_n_best, input_signature=text)
        self.alignment = graph_function(self._align, input_signature=text)
        self._functions: dict[Any, tf.types.experimental.PolymorphicFunction] = {}

    def _check_fit(self) -> None:
        config = self.model.config
        for side, tokenizer, size in (
            ("source", self.source_tokenizer, config.vocab_size),
            ("target", self.target_tokenizer, config.output_size),
        ):
            if tokenizer.vocab_size != size:
                raise ValueError(
                    f"The {side} tokenizer has {tokenizer.vocab_size} ids, the model {size}."
                )
        ids = (config.pad_token_id, config.bos_token_id, config.eos_token_id)
        tokenizer = self.target_tokenizer
        if ids != (tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id):
            raise ValueError(
                f"The model's ids of PAD, BOS and EOS, {ids}, are not the tokenizer's."
            )
        self._check_lengths(self.options)

    def _check_lengths(self, options: TranslationOptions) -> None:
        config = self.model.config
        longest = max(options.max_source_length, options.max_target_length)
        if config.positions == "learned" and longest > config.max_position_embeddings:
            raise ValueError(
                f"Lengths of up to {longest} are allowed, but the model's position table ends at "
                f"max_position_embeddings={config.max_position_embeddings}."
            )

    # In Python.

    def __call__(self, texts: Sequence[str]) -> list[str]:
        """Translates texts; blank in, blank out.

        Raises:
            ValueError: when ``texts`` is one string instead of a list of them, or holds anything
                but strings.
        """
        outputs = self.serving_default(as_texts(texts))
        return [text.decode("utf-8") for text in outputs["translation"].numpy()]

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam_size: int | None = None,
        n_best: int = 1,
        length_penalty: float | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
        jit_compile: bool = False,
    ) -> list[Translation]:
        """Translates texts with options of one's own.

        Args:
            texts: the texts.
            beam_size: hypotheses kept at each step.
            n_best: translations of each text, all different; fewer are given where fewer exist,
                or where several hypotheses are the same text in other tokens.
            length_penalty: alpha of the length penalty.
            min_length: fewest tokens of a translation, EOS left out.
            max_length: most tokens of a translation, EOS included.
            jit_compile: whether XLA compiles the search: 1.2 to 4 times faster, after some seconds
                of compilation for every new shape. (A batch is rounded up to 1, 2, 4, ... 64 texts
                of 16, 32, 48, ... tokens.)

        Raises:
            ValueError: for options out of range.
        """
        whole = {"beam_size": beam_size, "min_length": min_length, "max_length": max_length}
        whole = {name: value for name, value in whole.items() if value is not None}
        check_whole(n_best=n_best, **whole)
        if max_length is not None:
            check_at_least(2, max_length=max_length)
        longest = self.options.max_target_length if max_length is None else max_length
        min_length = self.options.min_target_length if min_length is None else min_length
        if not 0 <= min_length < longest:
            raise ValueError(f"min_length must be from 0 to {longest - 1}, not {min_length}.")
        options = dataclasses.replace(
            self.options,
            n_best=n_best,
            beam_size=max(n_best, self.options.beam_size) if beam_size is None else beam_size,
            max_target_length=longest,
            min_target_length=min_length,
            length_penalty=(
                self.options.length_penalty if length_penalty is None else length_penalty
            ),
        )
        self._check_lengths(options)
        search = self._search_function(options, jit_compile)
        found = search(as_texts(texts), tf.constant(options.length_penalty, tf.float32))
        columns = {"translations": found.texts, "scores": found.scores}
        return best_translations(plain(columns | {"truncated": found.truncated}))

    def written_ids(self, text: str, translation: str | None = None) -> WrittenIds:
        """The tokens of a text as the model reads them, and those of its translation.

        Args:
            text: the source.
            translation: the target; by default the best translation that the search finds, in just
                the tokens that it was found in.
        """
        texts = as_texts([text])
        if translation is None:
            source, written, truncated = self._best_ids(texts)
            return WrittenIds(source.numpy().tolist(), written.numpy().tolist(), bool(truncated))
        source, truncated = self._search.source_ids(texts)
        (written,) = self.target_tokenizer.tokenize(as_texts([translation])).to_list()
        written = [*written, self.model.config.eos_token_id]
        return WrittenIds(source[0].numpy().tolist(), written, bool(truncated[0]))

    @cached_property
    def _best_ids(self) -> tf.types.experimental.PolymorphicFunction:
        """One text to the ids of both sides, and whether one of them was cut."""
        return graph_function(
            self._search.best_ids, input_signature=[tf.TensorSpec([None], tf.string)]
        )

    def align(self, texts: Sequence[str]) -> list[TranslationAlignment]:
        """Translations with the tokens of both texts, and which of them looked at which.

        Of each text at most 500 tokens are read here.

        Raises:
            ValueError: when ``texts`` is anything but a list of strings.
        """
        return translation_alignments(plain(self.alignment(as_texts(texts))))

    def _search_function(
        self, options: TranslationOptions, jit_compile: bool
    ) -> tf.types.experimental.PolymorphicFunction:
        """Texts and the length penalty's alpha to what is found; traced once for equal options."""
        options = dataclasses.replace(options, length_penalty=self.options.length_penalty)
        if (options, jit_compile) not in self._functions:
            search = dataclasses.replace(self._search, options=options, jit_compile=jit_compile)
            self._functions[options, jit_compile] = graph_function(
                lambda texts, alpha: search(texts, options.n_best, alpha),
                input_signature=[tf.TensorSpec([None], tf.string), tf.TensorSpec([], tf.float32)],
            )
        return self._functions[options, jit_compile]

    # In the graph.

    def signatures(self) -> dict[str, Any]:
        """`serving_default`: the best translation; `n_best`: several of them, with scores. Where a
        text has fewer, empty ones with the score -1e9 follow."""
        return {"serving_default": self.serving_default, "n_best": self.n_best}

    def optional_signatures(self) -> dict[str, Any]:
        """`alignment`: the best translation, and what it looked at in the text."""
        return {"alignment": self.alignment}

    def _align(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        return TranslationAligner(self._search)(text)

    def compiled(self) -> Self:
        """The same translator, whose signatures search by XLA."""
        twin = type(self)(self.model, self.source_tokenizer, self.target_tokenizer, self.options)
        twin._search = dataclasses.replace(self._search, jit_compile=True)
        return twin

    def _translate(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        found = self._search(text, n_best=1)
        return {
            "translation": found.texts[:, 0],
            "score": found.scores[:, 0],
            "truncated": found.truncated,
        }

    def _translate_n_best(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        found = self._search(text, n_best=self.options.n_best)
        return {
            "translations": found.texts,
            "scores": finite(found.scores),
            "truncated": found.truncated,
        }

    # Saving.

    def _config(self) -> dict[str, Any]:
        return {
            "model": self.model.config.to_dict(),
            "dtype": self.model.dtype_policy.name,
            "options": dataclasses.asdict(self.options),
            "shared_tokenizer": self.source_tokenizer is self.target_tokenizer,
        }

    def _parts(self) -> dict[str, Any]:
        if self.source_tokenizer is self.target_tokenizer:
            return {"tokenizer": self.source_tokenizer}
        return {
            "source_tokenizer": self.source_tokenizer,
            "target_tokenizer": self.target_tokenizer,
        }

    @classmethod
    def _restore(cls, config: dict[str, Any], directory: Path) -> Translator:
        if config["shared_tokenizer"]:
            source = target = load_tokenizer(directory / "tokenizer")
        else:
            source = load_tokenizer(directory / "source_tokenizer")
            target = load_tokenizer(directory / "target_tokenizer")
        model_config = cls._model_config(TransformerConfig, config, directory)
        model = Transformer(model_config, dtype=config.get("dtype"))  # older files do not say
        return cls(model, source, target, TranslationOptions(**config["options"]))
