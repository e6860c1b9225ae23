"""The graph of a translation: texts to ids, search, ids to texts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import tensorflow as tf

from keras_transformer.checks import check_at_least, check_number_fields
from keras_transformer.generation import Hypotheses, beam_search
from keras_transformer.models import Transformer
from keras_transformer.tasks.chunks import map_in_chunks
from keras_transformer.tasks.graph_function import graph_function
from keras_transformer.tasks.text_bounds import beginnings, most_bytes
from keras_transformer.tasks.texts import is_blank
from keras_transformer.text import Tokenizer

ROWS_AT_A_TIME = 64


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
    min_target_length: int = 0
    """Fewest output tokens, EOS left out."""
    length_factor: float = 3.0
    """Output tokens allowed for each source token, beside length_offset."""
    length_offset: int = 20
    """Output tokens allowed however short the source is."""

    def __post_init__(self) -> None:
        check_number_fields(self)
        check_at_least(1, beam_size=self.beam_size, n_best=self.n_best)
        if self.n_best > self.beam_size:
            raise ValueError(f"n_best={self.n_best} must not exceed beam_size={self.beam_size}.")
        check_at_least(
            2, max_source_length=self.max_source_length, max_target_length=self.max_target_length
        )
        if not 0 <= self.min_target_length < self.max_target_length:
            raise ValueError(
                f"min_target_length must be from 0 to {self.max_target_length - 1}, not "
                f"{self.min_target_length}."
            )
        for name in ("length_penalty", "length_factor"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be 0 or more, not {getattr(self, name)}.")
        check_at_least(1, length_offset=self.length_offset)


class Found(NamedTuple):
    """Translations of a batch of texts, best first, those of a text all different."""

    texts: tf.Tensor  # string [batch, n_best]
    scores: tf.Tensor  # float32 [batch, n_best]; -inf where a text has fewer translations
    truncated: tf.Tensor  # bool [batch]; also where the best ends exactly at its limit


@dataclass(frozen=True)
class TranslationSearch:
    """Texts in, translations out, all in the graph.

    Attributes:
        options: limits of the lengths, and what the call does not say.
        jit_compile: whether XLA compiles the search. It is then faster (1.2 to 4 times), but for
            some seconds of compilation for each new shape; shapes are rounded up, so that there
            are few.
    """

    model: Transformer
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    options: TranslationOptions
    jit_compile: bool = False

    def __call__(
        self, texts: tf.Tensor, n_best: int, alpha: float | tf.Tensor | None = None
    ) -> Found:
        """Translates texts `[batch]`; blank in, blank out.

        Args:
            texts: string `[batch]`.
            n_best: translations of each text, at most the options' beam size.
            alpha: of the length penalty; the options' by default.
        """
        alpha = self.options.length_penalty if alpha is None else alpha
        source, cut = self.source_ids(texts)  # [batch, source_length]
        lengths = self._lengths(source)  # [batch]

        def translate_chunk(source: tf.Tensor, lengths: tf.Tensor) -> tuple[tf.Tensor, ...]:
            source = source[:, : tf.reduce_max(lengths)]
            # A row's limit is its own, so that its translation does not depend on its batch.
            limits = self._limit(lengths)  # [rows]
            search = self._compiled_search if self.jit_compile else self._search
            found = search(source, limits, n_best, alpha)
            flat = tf.reshape(found.ids, [-1, tf.shape(found.ids)[-1]])  # [rows * n_best, longest]
            texts = tf.reshape(self.target_tokenizer.detokenize(flat), [-1, n_best])
            # At its limit a row has no choice but EOS: the model may have had more to say.
            unended = found.lengths[:, 0] >= limits
            return *without_repeats(texts, found.scores), unended

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
        blank = is_blank(texts)  # [batch]
        first = tf.range(n_best) == 0
        found = tf.where(blank[:, None], "", found)
        scores = tf.where(blank[:, None], tf.where(first, 0.0, float("-inf")), scores)
        return Found(found, scores, (cut | unended) & ~blank)

    def best_ids(self, text: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Ids of one text `[1]` with EOS, those of its best translation, EOS counted, and whether
        either was cut; of a blank text the translation is EOS alone."""
        source, cut = self.source_ids(text)  # [1, source_length]
        limits = self._limit(self._lengths(source))  # [1]
        found = self._search(source, limits, 1, self.options.length_penalty)
        length, blank = found.lengths[0, 0], is_blank(text)[0]
        end = tf.constant([self.model.config.eos_token_id])
        written = tf.cond(blank, lambda: end, lambda: found.ids[0, 0, :length])
        return source[0], written, (cut[0] | (length >= limits[0])) & ~blank

    def source_ids(self, texts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Source ids `[batch, source_length]`, each row ended by EOS, and which rows were cut."""
        config, most = self.model.config, self.options.max_source_length - 1
        texts, too_long = beginnings(texts, most_bytes(most))
        tokens = self.source_tokenizer.tokenize(texts)  # [batch, (tokens)]
        cut = too_long | (tokens.row_lengths() > most)
        tokens = tokens[:, :most]
        ends = tf.fill([tf.shape(texts)[0], 1], config.eos_token_id)
        tokens = tf.concat([tokens, ends], axis=1)
        return tokens.to_tensor(config.pad_token_id), cut

    def _lengths(self, source: tf.Tensor) -> tf.Tensor:
        """Numbers of real tokens, int32 `[batch]`, in source ids `[batch, source_length]`."""
        return tf.reduce_sum(tf.cast(source != self.model.config.pad_token_id, tf.int32), 1)

    def _limit(self, lengths: tf.Tensor) -> tf.Tensor:
        """Most tokens of a translation, EOS included, by the number of source tokens."""
        options = self.options
        factor = tf.cast(options.length_factor * tf.cast(lengths, tf.float32), tf.int32)
        limit = tf.maximum(options.length_offset + factor, options.min_target_length + 1)
        return tf.minimum(limit, options.max_target_length)

    def _search(
        self,
        source: tf.Tensor,
        limits: tf.Tensor,
        n_best: int,
        alpha: float | tf.Tensor,
        room: tf.Tensor | None = None,
    ) -> Hypotheses:
        """Hypotheses for source ids `[rows, source_length]`, with at most `limits [rows]` tokens.

        With `room` the model's memory has that many places from the start; else it grows.
        """
        config, beam_size, rows = self.model.config, self.options.beam_size, tf.shape(source)[0]
        return beam_search(
            self.model,
            self.model.start(source, tf.constant(0) if room is None else room, beams=beam_size),
            batch_size=rows,
            beam_size=beam_size,
            n_best=n_best,
            bos_id=config.bos_token_id,
            eos_id=config.eos_token_id,
            pad_id=config.pad_token_id,
            max_length=tf.reduce_max(limits) if room is None else room,
            max_lengths=limits,
            min_lengths=tf.fill([rows], self.options.min_target_length),
            forbidden_ids=self._forbidden_ids(),
            length_penalty=alpha,
            grow=self.model.grow if room is None else None,
        )

    def _compiled_search(
        self, source: tf.Tensor, limits: tf.Tensor, n_best: int, alpha: float | tf.Tensor
    ) -> Hypotheses:
        """The same by XLA, with 1, 2, 4, ... or 64 rows of 16, 32, 48, ... source tokens."""

        @graph_function(jit_compile=True)
        def search(source: tf.Tensor, limits: tf.Tensor, alpha: tf.Tensor) -> Hypotheses:
            room = self._limit(tf.shape(source)[1])  # XLA wants all sizes from shapes alone
            return self._search(source, limits, n_best, alpha, room)

        rows, width = tf.unstack(tf.shape(source))
        sizes = tf.constant([2**i for i in range(ROWS_AT_A_TIME.bit_length())])
        more_rows = tf.reduce_min(tf.boolean_mask(sizes, sizes >= rows)) - rows
        padding = [[0, more_rows], [0, -width % 16]]
        source = tf.pad(source, padding, constant_values=self.model.config.pad_token_id)
        limits = tf.pad(limits, [[0, more_rows]], constant_values=1)
        found = search(source, limits, tf.cast(alpha, tf.float32))
        return Hypotheses(*(tensor[:rows] for tensor in found))

    def _forbidden_ids(self) -> tuple[int, ...]:
        """Ids that stand for no text: all control ids but EOS, and the unknown id."""
        config, tokenizer = self.model.config, self.target_tokenizer
        ids = {*tokenizer.special_ids, tokenizer.unk_id}
        return tuple(sorted(ids - {config.eos_token_id, config.pad_token_id}))


def without_repeats(texts: tf.Tensor, scores: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Keeps the best of equal texts; fillers follow at the end, so that shapes stay.

    Different tokens may make the same text.

    Args:
        texts: string `[rows, n_best]`, best first.
        scores: float32 `[rows, n_best]`.

    >>> texts, scores = without_repeats(tf.constant([["a", "a", "b"]]), tf.constant([[3.0, 2, 1]]))
    >>> texts.numpy().tolist(), scores.numpy().tolist()
    ([[b'a', b'b', b'']], [[3.0, 1.0, -inf]])
    """
    n_best = texts.shape[1]
    if n_best == 1:
        return texts, scores
    ranks = tf.range(n_best)
    equal = texts[:, :, None] == texts[:, None, :]  # [rows, n_best, n_best]
    repeated = tf.reduce_any(equal & (ranks[None, :] < ranks[:, None]), axis=2)  # [rows, n_best]
    order = tf.argsort(ranks + tf.where(repeated, n_best, 0))  # [rows, n_best]
    texts = tf.gather(tf.where(repeated, "", texts), order, batch_dims=1)  # [rows, n_best]
    scores = tf.where(repeated, float("-inf"), scores)
    return texts, tf.gather(scores, order, batch_dims=1)  # [rows, n_best]
