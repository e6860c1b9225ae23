"""Text-to-text with an encoder-decoder: translation, and any other rewriting of a text."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.generation import beam_search
from keras_transformer.layers import capture_attention
from keras_transformer.models import Transformer, TransformerConfig
from keras_transformer.tasks.chunks import map_in_chunks
from keras_transformer.tasks.task import Task
from keras_transformer.text import Tokenizer, load_tokenizer

ROWS_AT_A_TIME = 64

# Nothing but what Python's `str.isspace` takes for white space.
_BLANK = r"[\t-\r\x1c-\x1f\x{85}\p{Z}]*"


@dataclass(frozen=True)
class TranslationOptions:
    """How translations are searched."""

    beam_size: int = 4
    """Hypotheses kept at each step; 1 is greedy search."""
    n_best: int = 4
    """Results of the n-best signature, at most beam_size."""
    length_penalty: float = 1.0
    """Alpha of the length penalty (Wu et al. 2016): 0 prefers short outputs, 1 is neutral."""
    max_source_length: int = 256
    """Most source tokens, EOS included; longer input is truncated and reported."""
    max_target_length: int = 256
    """Most output tokens, EOS included."""
    length_factor: float = 3.0
    """Output tokens allowed for each source token, beside length_offset."""
    length_offset: int = 20
    """Output tokens allowed however short the source is."""

    def __post_init__(self) -> None:
        for name in ("beam_size", "n_best"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}.")
        if self.n_best > self.beam_size:
            raise ValueError(f"n_best={self.n_best} must not exceed beam_size={self.beam_size}.")
        for name in ("max_source_length", "max_target_length"):
            if getattr(self, name) < 2:
                raise ValueError(f"{name} must be at least 2, not {getattr(self, name)}.")
        for name in ("length_penalty", "length_factor"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be 0 or more, not {getattr(self, name)}.")
        if self.length_offset < 1:
            raise ValueError(f"length_offset must be at least 1, not {self.length_offset}.")


class Translation(NamedTuple):
    """Translations of one text, best first."""

    texts: list[str]
    scores: list[float]
    """Log-probability divided by the length penalty; 0 for a blank text."""
    truncated: bool
    """Whether the text was longer than the model takes, or the best output than it may become."""


class TranslationAttention(NamedTuple):
    """What a translation looked at."""

    source_tokens: list[str]
    target_tokens: list[str]
    weights: dict[str, np.ndarray]
    """Path of each attention layer to `[heads, queries, keys]`; in the decoder query ``t`` is the
    position that predicts target token ``t``."""


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
        text = [tf.TensorSpec([None], tf.string, name="text")]
        self.serving_default = tf.function(self._translate, input_signature=text)
        self.n_best = tf.function(self._translate_n_best, input_signature=text)
        self._searches: dict[tuple[int, int], tf.types.experimental.PolymorphicFunction] = {}

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
        outputs = self.serving_default(_as_texts(texts))
        return [text.decode("utf-8") for text in outputs["translation"].numpy()]

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam_size: int | None = None,
        n_best: int = 1,
        length_penalty: float | None = None,
        min_length: int = 0,
        max_length: int | None = None,
    ) -> list[Translation]:
        """Translates texts with options of one's own.

        Args:
            texts: the texts.
            beam_size: hypotheses kept at each step.
            n_best: translations of each text; fewer are given where fewer exist.
            length_penalty: alpha of the length penalty.
            min_length: fewest tokens of a translation.
            max_length: most tokens of a translation, EOS included.

        Raises:
            ValueError: for options out of range.
        """
        if max_length is not None and max_length < 2:
            raise ValueError(f"max_length must be at least 2, not {max_length}.")
        changes = {
            "beam_size": beam_size,
            "length_penalty": length_penalty,
            "max_target_length": max_length,
        }
        changes = {name: value for name, value in changes.items() if value is not None}
        defaults = {"n_best": n_best, "beam_size": max(n_best, self.options.beam_size)}
        options = dataclasses.replace(self.options, **defaults | changes)
        self._check_lengths(options)
        if not 0 <= min_length < options.max_target_length:
            raise ValueError(
                f"min_length must be from 0 to {options.max_target_length - 1}, not {min_length}."
            )
        search = self._search_function(options.beam_size, options.n_best)
        found, scores, truncated = search(
            _as_texts(texts),
            tf.constant(options.length_penalty, tf.float32),
            tf.constant(min_length, tf.int32),
            tf.constant(options.max_target_length, tf.int32),
        )
        return [
            Translation(
                [t.decode("utf-8") for t, s in zip(row, row_scores, strict=True) if np.isfinite(s)],
                [float(s) for s in row_scores if np.isfinite(s)],
                bool(cut),
            )
            for row, row_scores, cut in zip(
                found.numpy(), scores.numpy(), truncated.numpy(), strict=True
            )
        ]

    def attention(self, text: str, translation: str | None = None) -> TranslationAttention:
        """The attention weights of every layer and head for one text and its translation.

        Args:
            text: the source.
            translation: the target; the model's own translation by default.
        """
        translation = self([text])[0] if translation is None else translation
        config = self.model.config
        source, _ = self._source_ids(tf.constant([text]))
        target = self.target_tokenizer.tokenize(tf.constant([translation])).to_tensor()
        inputs = tf.concat([[[config.bos_token_id]], target], axis=1)  # [1, target_length]
        with capture_attention() as weights:
            self.model({"source": source, "target": inputs}, training=False)
        targets = [*target[0].numpy(), config.eos_token_id]
        return TranslationAttention(
            [self.source_tokenizer.id_to_token(int(i)) for i in source[0].numpy()],
            [self.target_tokenizer.id_to_token(int(i)) for i in targets],
            {path: w.numpy()[0] for path, w in weights.items()},
        )

    def _search_function(self, beam_size: int, n_best: int) -> Any:
        if (beam_size, n_best) not in self._searches:

            def search(texts: Any, alpha: Any, min_length: Any, max_length: Any) -> Any:
                return self._search(texts, beam_size, n_best, alpha, min_length, max_length)

            self._searches[beam_size, n_best] = tf.function(
                search,
                input_signature=[
                    tf.TensorSpec([None], tf.string),
                    tf.TensorSpec([], tf.float32),
                    tf.TensorSpec([], tf.int32),
                    tf.TensorSpec([], tf.int32),
                ],
            )
        return self._searches[beam_size, n_best]

    # In the graph.

    def signatures(self) -> dict[str, Any]:
        """`serving_default`: the best translation; `n_best`: several of them, with scores."""
        return {"serving_default": self.serving_default, "n_best": self.n_best}

    def _translate(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        texts, scores, truncated = self._search(text, self.options.beam_size, 1)
        return {"translation": texts[:, 0], "score": scores[:, 0], "truncated": truncated}

    def _translate_n_best(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        texts, scores, truncated = self._search(text, self.options.beam_size, self.options.n_best)
        return {"translations": texts, "scores": scores, "truncated": truncated}

    def _search(
        self,
        texts: tf.Tensor,
        beam_size: int,
        n_best: int,
        alpha: float | tf.Tensor | None = None,
        min_length: int | tf.Tensor = 0,
        max_length: int | tf.Tensor | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Texts `[batch]` to translations and scores `[batch, n_best]` and flags `[batch]`."""
        options = self.options
        alpha = options.length_penalty if alpha is None else alpha
        max_length = options.max_target_length if max_length is None else max_length
        source, cut = self._source_ids(texts)  # [batch, source_length]
        lengths = tf.reduce_sum(tf.cast(source != self.model.config.pad_token_id, tf.int32), 1)

        def translate_chunk(source: tf.Tensor, lengths: tf.Tensor) -> tuple[tf.Tensor, ...]:
            source = source[:, : tf.reduce_max(lengths)]
            return self._search_chunk(
                source, lengths, beam_size, n_best, alpha, min_length, max_length
            )

        found, scores, unended = map_in_chunks(
            translate_chunk,
            (source, lengths),
            lengths,
            ROWS_AT_A_TIME,
            (
                tf.TensorSpec([None, n_best], tf.string),
                tf.TensorSpec([None, n_best], tf.float32),
                tf.TensorSpec([None], tf.bool),
            ),
        )
        blank = tf.strings.regex_full_match(texts, _BLANK)  # [batch]
        first = tf.range(n_best) == 0
        found = tf.where(blank[:, None], "", found)
        scores = tf.where(blank[:, None], tf.where(first, 0.0, float("-inf")), scores)
        return found, scores, (cut | unended) & ~blank

    def _source_ids(self, texts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Source ids `[batch, source_length]`, each row ended by EOS, and which rows were cut."""
        config, most = self.model.config, self.options.max_source_length - 1
        tokens = self.source_tokenizer.tokenize(texts)  # [batch, (tokens)]
        cut = tokens.row_lengths() > most
        tokens = tokens[:, :most]
        ends = tf.fill([tf.shape(texts)[0], 1], config.eos_token_id)
        tokens = tf.concat([tokens, ends], axis=1)
        return tokens.to_tensor(config.pad_token_id), cut

    def _search_chunk(
        self,
        source: tf.Tensor,
        lengths: tf.Tensor,
        beam_size: int,
        n_best: int,
        alpha: float | tf.Tensor,
        min_length: int | tf.Tensor,
        max_length: int | tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        config, options = self.model.config, self.options
        # A row's limit is its own, so that its translation does not depend on its batch.
        limits = options.length_offset + tf.cast(
            options.length_factor * tf.cast(lengths, tf.float32), tf.int32
        )
        limits = tf.maximum(limits, min_length + 1)
        limits = tf.minimum(limits, max_length)  # [rows]
        longest, rows = tf.reduce_max(limits), tf.shape(source)[0]
        hypotheses = beam_search(
            self.model,
            self.model.start(source, longest, beams=beam_size),
            batch_size=rows,
            beam_size=beam_size,
            n_best=n_best,
            bos_id=config.bos_token_id,
            eos_id=config.eos_token_id,
            pad_id=config.pad_token_id,
            max_length=longest,
            max_lengths=limits,
            min_lengths=tf.fill([rows], min_length),
            forbidden_ids=self._forbidden_ids(),
            length_penalty=alpha,
        )
        flat = tf.reshape(hypotheses.ids, [-1, longest])  # [rows * n_best, longest]
        texts = tf.reshape(self.target_tokenizer.detokenize(flat), [-1, n_best])
        # At its limit a row has no choice but EOS: the model may have had more to say.
        unended = hypotheses.lengths[:, 0] >= limits
        return texts, hypotheses.scores, unended

    def _forbidden_ids(self) -> tuple[int, ...]:
        """Ids that stand for no text: all control ids but EOS, and the unknown id."""
        config, tokenizer = self.model.config, self.target_tokenizer
        ids = {*tokenizer.special_ids, tokenizer.unk_id}
        return tuple(sorted(ids - {config.eos_token_id, config.pad_token_id}))

    # Saving.

    def _config(self) -> dict[str, Any]:
        return {
            "model": self.model.config.to_dict(),
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
        model = Transformer(TransformerConfig(**config["model"]))
        return cls(model, source, target, TranslationOptions(**config["options"]))


def _as_texts(texts: Sequence[str]) -> tf.Tensor:
    if isinstance(texts, str | bytes):
        raise ValueError("Give a list of texts, such as [text], not one string.")
    texts = list(texts)
    for index, text in enumerate(texts):
        if not isinstance(text, str | bytes):
            raise ValueError(f"texts[{index}] must be a string, not {text!r:.80}.")
    return tf.constant(texts, tf.string, shape=[len(texts)])
