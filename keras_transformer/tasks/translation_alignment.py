"""The graph of an alignment: which tokens of the source each token of its translation looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace

import tensorflow as tf

from keras_transformer.layers import capture_attention
from keras_transformer.tasks.alignment_sides import (
    LONGEST,
    Side,
    mean_attention,
    read_tokens,
)
from keras_transformer.tasks.chunks import run_in_chunks
from keras_transformer.tasks.texts import is_blank
from keras_transformer.tasks.translation_search import TranslationSearch


@dataclass(frozen=True)
class TranslationAligner:
    """Texts in; translations, tokens of both and the attention between them out.

    The model reads the translation that was found once more, all of it at once, and that pass
    shows its attention. Of both texts at most `alignment_sides.LONGEST` tokens are read.
    """

    search: TranslationSearch

    def __call__(self, texts: tf.Tensor) -> dict[str, tf.Tensor]:
        """The outputs for texts `[batch]`, by name; blank in, blank out."""
        search = self._bounded_search()
        config, options = search.model.config, search.options
        found = search(texts, n_best=1)
        translation = found.texts[:, 0]  # [batch]
        real = ~is_blank(texts)  # [batch]
        sides, cuts = [], [found.truncated]
        for tokenizer, side_texts, longest in (
            (search.source_tokenizer, texts, options.max_source_length),
            (search.target_tokenizer, translation, options.max_target_length),
        ):
            side, cut = read_tokens(tokenizer, tf.where(real, side_texts, ""), longest - 1)
            sides.append(side.ended_by(config.eos_token_id, real))
            cuts.append(cut)
        source, target = sides
        return {
            "translation": translation,
            "score": found.scores[:, 0],
            **source.outputs("source", search.source_tokenizer),
            **target.outputs("target", search.target_tokenizer),
            "weights": self._weights(source, target),
            # The search says it of the text; a translation may have more tokens than were found.
            "truncated": tf.reduce_any(tf.stack(cuts), axis=0),
        }

    def _bounded_search(self) -> TranslationSearch:
        options = self.search.options
        longest = {
            name: min(getattr(options, name), LONGEST)
            for name in ("max_source_length", "max_target_length")
        }
        # A shorter limit must leave room for the least length.
        least = min(options.min_target_length, longest["max_target_length"] - 1)
        options = replace(options, **longest, min_target_length=least)
        return replace(self.search, options=options)

    def _weights(self, source: Side, target: Side) -> tf.Tensor:
        """float32 `[batch, target, source]`, 0 where there is no token."""
        model = self.search.model
        config = model.config
        source_ids, target_ids = (
            side.ids.to_tensor(config.pad_token_id, shape=[None, None]) for side in (source, target)
        )
        # Query t is the position that predicts target token t.
        begin = tf.fill([tf.shape(target_ids)[0], 1], config.bos_token_id)
        inputs = tf.concat([begin, target_ids], axis=1)[:, :-1]  # [batch, target]
        lengths = source.lengths(), target.lengths()
        width, height = (tf.shape(ids)[1] for ids in (source_ids, target_ids))

        def attend(
            sources: tf.Tensor,
            inputs: tf.Tensor,
            source_lengths: tf.Tensor,
            target_lengths: tf.Tensor,
        ) -> tuple[tf.Tensor]:
            columns, rows = (tf.reduce_max(part) for part in (source_lengths, target_lengths))
            with capture_attention() as captured:
                ids = {"source": sources[:, :columns], "target": inputs[:, :rows]}
                model(ids, training=False)
            weights = mean_attention(captured, "/cross_attention")  # [rows, target, source]
            weights = tf.where(tf.sequence_mask(target_lengths, rows)[..., None], weights, 0.0)
            return (tf.pad(weights, [[0, 0], [0, height - rows], [0, width - columns]]),)

        # Rows of a blank text have no tokens, and all rows of a chunk may be such.
        some = tf.where(lengths[0] > 0)[:, 0]  # [rows]
        parts = (source_ids, inputs, *lengths)
        (weights,) = run_in_chunks(
            attend,
            tuple(tf.gather(part, some) for part in parts),
            tf.gather(tf.maximum(*lengths), some),
            (tf.TensorSpec([None, None, None]),),
        )
        shape = tf.stack([tf.size(lengths[0]), height, width])
        return tf.ensure_shape(
            tf.scatter_nd(some[:, None], weights, tf.cast(shape, tf.int64)), [None, None, None]
        )
