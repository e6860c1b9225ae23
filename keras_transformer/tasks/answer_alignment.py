"""The graph of an alignment: which tokens of a context each token of a question looked at."""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow as tf

from keras_transformer.data.windows import best_window, stride_windows
from keras_transformer.layers import capture_attention
from keras_transformer.tasks.alignment_sides import Side, mean_attention, read_tokens
from keras_transformer.tasks.answer_search import AnswerSearch, FoundAnswers
from keras_transformer.tasks.bert_inputs import slices
from keras_transformer.tasks.chunks import run_in_chunks
from keras_transformer.tasks.span_search import IMPOSSIBLE


@dataclass(frozen=True)
class AnswerAligner:
    """Questions and contexts in; answers, tokens and the attention between them out.

    The model reads the window in which the best answer stands once more, and that pass shows its
    attention. So the tokens are at most those of a window.
    """

    search: AnswerSearch

    def __call__(
        self, questions: tf.Tensor, contexts: tf.Tensor
    ) -> tuple[FoundAnswers, dict[str, tf.Tensor]]:
        """The best answers, and the outputs about what was looked at, by name.

        Args:
            questions, contexts: string `[batch]`.
        """
        tokenizer, options = self.search.inputs.tokenizer, self.search.options
        found = self.search(questions, contexts, 1)  # refuses columns of different lengths
        real = found.scores[:, 0] > IMPOSSIBLE  # [batch], others are blank, or without a token
        question, context = (
            read_tokens(tokenizer, tf.where(real, texts, ""), most)[0]
            for texts, most in (
                (questions, options.max_question_length),
                (contexts, options.max_context_length),
            )
        )
        context = self._window(question, context, found.starts[:, 0])
        return found, {
            **question.outputs("question", tokenizer),
            **context.outputs("context", tokenizer),
            "weights": self._weights(question, context),
        }

    def _window(self, question: Side, context: Side, characters: tf.Tensor) -> Side:
        """The part of each context that is read with an answer that begins there `[batch]`."""
        options = self.search.options
        rooms = options.max_length - 3 - question.ids.row_lengths()  # [batch]
        lengths = context.ids.row_lengths()  # [batch]
        counts = stride_windows(lengths, rooms, options.stride).counts
        before = context.starts < characters[:, None]  # [batch, (tokens)]
        places = tf.reduce_sum(tf.cast(before, tf.int64), axis=1)  # [batch], the answer's token
        # As the search has it: an answer counts in the window where its middle has most context.
        middles = places + options.max_answer_length // 2
        starts = best_window(middles, rooms, options.stride, counts) * options.stride
        rows = tf.range(context.ids.nrows())
        ends = tf.minimum(starts + rooms, lengths)
        return Side(*(slices(part, rows, starts, ends) for part in context))

    def _weights(self, question: Side, context: Side) -> tf.Tensor:
        """float32 `[batch, question, context]`: rows of tokens add up to 1, the others are 0."""
        batch = self.search.inputs.pair(question.ids, context.ids)
        lengths = question.lengths(), context.lengths()  # [batch] each
        height, width = (tf.reduce_max(tf.pad(part, [[0, 1]])) for part in lengths)

        def attend(
            ids: tf.Tensor,
            segments: tf.Tensor,
            sizes: tf.Tensor,
            asked: tf.Tensor,
            read: tf.Tensor,
        ) -> tuple[tf.Tensor]:
            longest = tf.reduce_max(sizes)
            inputs = {"token_ids": ids[:, :longest], "segment_ids": segments[:, :longest]}
            with capture_attention() as captured:
                self.search.model(inputs, training=False)
            weights = mean_attention(captured, "attention")  # [rows, longest, longest]
            # [CLS] question [SEP] context [SEP]: those of the question, to those of the context.
            queries = tf.range(1, height + 1)[None] + tf.zeros_like(asked)[:, None]
            keys = tf.range(2, width + 2)[None] + asked[:, None]  # [rows, context]
            for axis, places in ((1, queries), (2, keys)):
                places = tf.minimum(places, longest - 1)
                weights = tf.gather(weights, places, axis=axis, batch_dims=1)
            inside = (
                tf.sequence_mask(asked, height)[..., None] & tf.sequence_mask(read, width)[:, None]
            )  # [rows, question, context]
            weights = tf.where(inside, weights, 0.0)
            total = tf.reduce_sum(weights, axis=2, keepdims=True)  # [rows, question, 1]
            return (tf.math.divide_no_nan(weights, total),)

        spec = tf.TensorSpec([None, None, None])
        (weights,) = run_in_chunks(attend, (*batch, *lengths), batch.lengths, (spec,))
        return weights
