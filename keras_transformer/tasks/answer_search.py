"""The graph of question answering: windows over the context, best spans, slices of the context."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import NamedTuple

import tensorflow as tf

from keras_transformer.checks import check_at_least, check_whole
from keras_transformer.data.windows import Windows, best_window, stride_windows
from keras_transformer.models import BertSpanQA
from keras_transformer.tasks.bert_inputs import BertBatch, BertInputs, BertReading, cut, slices
from keras_transformer.tasks.chunks import run_in_chunks
from keras_transformer.tasks.requests import same_rows
from keras_transformer.tasks.span_search import IMPOSSIBLE, Spans, best_of_texts, best_spans
from keras_transformer.tasks.text_bounds import beginnings, most_bytes
from keras_transformer.tasks.texts import is_blank, valid_unicode
from keras_transformer.text.normalization import character_to_byte_offsets


@dataclass(frozen=True)
class AnswerOptions:
    """How answers are searched. What is None suits `max_length`, and is a number afterwards.

    >>> AnswerOptions(max_length=128).max_question_length
    62
    """

    max_length: int = 384
    """Most tokens of a window: question, a part of the context and three special ones."""
    stride: int = 128
    """Tokens from the start of a window to that of the next; fewer where windows would not overlap
    by an answer."""
    max_question_length: int | None = None
    """Most tokens of a question, which is cut beyond; half of a window, at most 64."""
    max_answer_length: int | None = None
    """Most tokens of an answer; a quarter of a window, at most 30."""
    n_best: int = 5
    """Answers of the n-best signature."""
    no_answer_threshold: float | None = None
    """A score that does not exceed it is no answer; by default every context has an answer, as
    suits a model that was trained with answers only. 0 is natural for one that knows both."""
    max_context_length: int = 10_000
    """Most tokens of a context, which is cut beyond: each window of it is a pass of the model."""

    def __post_init__(self) -> None:
        check_whole(max_length=self.max_length)
        suitable = {
            "max_question_length": min(64, (self.max_length - 3) // 2),
            "max_answer_length": min(30, self.max_length // 4),
        }
        for name, value in suitable.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        for name, least in (
            ("max_length", 12),
            ("stride", 1),
            ("max_question_length", 1),
            ("max_context_length", 1),
            ("max_answer_length", 1),
            ("n_best", 1),
        ):
            value = getattr(self, name)
            check_whole(**{name: value})
            check_at_least(least, **{name: value})
        # A window overlaps the next by an answer, so that each answer is whole in one of them.
        room = self.max_length - 3 - self.max_question_length - self.max_answer_length
        if room < 1:
            raise ValueError(
                f"max_length={self.max_length} is too short for max_question_length="
                f"{self.max_question_length} and max_answer_length={self.max_answer_length}: it "
                f"must be at least {self.max_length + 1 - room}."
            )
        object.__setattr__(self, "stride", min(self.stride, room))
        threshold = self.no_answer_threshold
        if threshold is not None and not (isinstance(threshold, Real) and math.isfinite(threshold)):
            raise ValueError(f"no_answer_threshold must be a number or None, not {threshold!r}.")


class FoundAnswers(NamedTuple):
    """Answers to a batch of questions, best first, those of a question at different places.

    Fillers are empty, at the place 0, with the score -inf.
    """

    answers: tf.Tensor  # string [batch, n_best], exact slices of the contexts
    scores: tf.Tensor  # float32 [batch, n_best]
    starts: tf.Tensor  # int32 [batch, n_best], first character
    ends: tf.Tensor  # int32 [batch, n_best], one past the last character
    has_answer: tf.Tensor  # bool [batch], whether the best exceeds the threshold
    truncated: tf.Tensor  # bool [batch], whether the question or the context was cut


@dataclass(frozen=True)
class AnswerSearch:
    """Questions and contexts in, answers out, all in the graph."""

    model: BertSpanQA
    inputs: BertInputs
    options: AnswerOptions

    def __call__(self, questions: tf.Tensor, contexts: tf.Tensor, n_best: int) -> FoundAnswers:
        """Answers to questions `[batch]` in contexts `[batch]`."""
        questions, contexts = same_rows(question=questions, context=contexts)
        contexts, too_long = self._bounded(contexts)
        asked, (tokens, starts, ends), truncated = self._tokens(questions, contexts)
        spans = self.spans(asked, tokens, n_best)
        blank = is_blank(questions) | is_blank(contexts)  # [batch]
        scores = tf.where(blank[:, None], IMPOSSIBLE, spans.scores)  # [batch, n_best]
        found = scores > IMPOSSIBLE
        starts = tf.where(found, _at(starts, spans.starts), 0)  # [batch, n_best]
        ends = tf.where(found, _at(ends, spans.ends), 0)  # [batch, n_best]
        threshold = self.options.no_answer_threshold
        return FoundAnswers(
            answers=slices_of_texts(contexts, starts, ends),
            scores=scores,
            starts=starts,
            ends=ends,
            has_answer=scores[:, 0] > (IMPOSSIBLE if threshold is None else threshold),
            truncated=too_long | truncated,
        )

    def reading(self, questions: tf.Tensor, contexts: tf.Tensor) -> BertReading:
        """What the model is given of questions `[batch]` and contexts `[batch]`: windows."""
        contexts, too_long = self._bounded(contexts)
        asked, (tokens, *_), truncated = self._tokens(questions, contexts)
        rows, starts, ends, _ = self._windows(asked, tokens)[0]
        batch = self._read(asked, tokens, rows, starts, ends)
        return BertReading(batch, rows, too_long | truncated)

    def _bounded(self, contexts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """What is looked at of contexts `[batch]`, and which are longer."""
        return beginnings(contexts, most_bytes(self.options.max_context_length))

    def _tokens(
        self, questions: tf.Tensor, contexts: tf.Tensor
    ) -> tuple[tf.RaggedTensor, list[tf.RaggedTensor], tf.Tensor]:
        """Tokens of the questions, tokens of the contexts with where each begins and ends
        (`[batch, (tokens)]` each), and which rows were cut `[batch]`."""
        tokenizer, most = self.inputs.tokenizer, self.options.max_context_length
        questions, too_long = beginnings(questions, most_bytes(self.options.max_question_length))
        asked, question_cut = cut(tokenizer.tokenize(questions), self.options.max_question_length)
        read = tokenizer.tokenize_with_offsets(contexts)  # [batch, (tokens)] each
        context_cut = read[0].row_lengths() > most
        return asked, [part[:, :most] for part in read], too_long | question_cut | context_cut

    def _windows(
        self, questions: tf.RaggedTensor, contexts: tf.RaggedTensor
    ) -> tuple[Windows, tf.Tensor]:
        """Windows over the contexts' tokens, and the room for them beside each question
        `[batch]`."""
        rooms = self.options.max_length - 3 - questions.row_lengths()  # [batch]
        return stride_windows(contexts.row_lengths(), rooms, self.options.stride), rooms

    def _read(
        self,
        questions: tf.RaggedTensor,
        contexts: tf.RaggedTensor,
        rows: tf.Tensor,
        starts: tf.Tensor,
        ends: tf.Tensor,
    ) -> BertBatch:
        """Questions with windows of their contexts; rows, starts and ends are `[windows]`."""
        return self.inputs.pair(tf.gather(questions, rows), slices(contexts, rows, starts, ends))

    def spans(self, questions: tf.RaggedTensor, contexts: tf.RaggedTensor, n_best: int) -> Spans:
        """The best spans of each context.

        Args:
            questions, contexts: tokens, int32 `[batch, (tokens)]`.
            n_best: spans of each.

        Returns:
            Spans in tokens of the contexts; scores are those above there being no answer.
        """
        step, longest = self.options.stride, self.options.max_answer_length
        windows, rooms = self._windows(questions, contexts)

        def search(rows: tf.Tensor, starts: tf.Tensor, ends: tf.Tensor) -> tuple[tf.Tensor, ...]:
            batch = self._read(questions, contexts, rows, starts, ends)
            inputs = {"token_ids": batch.token_ids, "segment_ids": batch.segment_ids}
            scores = self.model(inputs, training=False)  # [rows, width] each
            first, last = (tf.cast(scores[name], tf.float32) for name in ("start", "end"))
            offset = starts - tf.gather(questions.row_lengths(), rows) - 2  # [rows]
            width = tf.shape(batch.token_ids, tf.int64)[1]
            places = tf.range(width)[None] + offset[:, None]  # [rows, width], in the context
            inside = (places >= starts[:, None]) & (places < ends[:, None])  # [rows, width]
            # Windows overlap: a span counts in the one where its middle has most context.
            own = best_window(
                places + longest // 2,
                tf.gather(rooms, rows)[:, None],
                step,
                tf.gather(windows.counts, rows)[:, None],
            )  # [rows, width]
            own = own == starts[:, None] // step
            spans = best_spans(first, last, inside & own, inside, longest, n_best)
            no_answer = first[:, 0] + last[:, 0]  # [rows], of [CLS]
            return (
                spans.starts + offset[:, None],
                spans.ends + offset[:, None],
                spans.scores,
                no_answer,
            )

        taken = 3 + questions.row_lengths()  # [batch], of each window
        sizes = windows.ends - windows.starts + tf.gather(taken, windows.rows)  # [windows]
        places = tf.TensorSpec([None, n_best], tf.int64)
        found = run_in_chunks(
            search,
            (windows.rows, windows.starts, windows.ends),
            tf.cast(sizes, tf.int32),
            (places, places, tf.TensorSpec([None, n_best]), tf.TensorSpec([None])),
        )
        spans = best_of_texts(Spans(*found[:3]), windows.rows, contexts.nrows())
        no_answer = tf.math.unsorted_segment_min(found[3], windows.rows, contexts.nrows())
        scores = tf.where(spans.scores > IMPOSSIBLE, spans.scores - no_answer[:, None], IMPOSSIBLE)
        return spans._replace(scores=scores)


def _at(offsets: tf.RaggedTensor, places: tf.Tensor) -> tf.Tensor:
    """Offsets `[batch, (tokens)]` at tokens `[batch, n_best]`; anything where there is none."""
    at = offsets.row_starts()[:, None] + places  # [batch, n_best]
    size = tf.size(offsets.values, tf.int64)
    return tf.gather(tf.pad(offsets.values, [[0, 1]]), tf.clip_by_value(at, 0, size))


def slices_of_texts(texts: tf.Tensor, starts: tf.Tensor, ends: tf.Tensor) -> tf.Tensor:
    """``texts[i][starts[i, j]:ends[i, j]]``: string `[batch, count]`.

    Args:
        texts: string `[batch]`.
        starts, ends: int32 `[batch, count]`, in characters.

    >>> starts, ends = tf.constant([[2, 0]]), tf.constant([[4, 1]])
    >>> slices_of_texts(tf.constant(["a bcd"]), starts, ends).numpy().tolist()
    [[b'bc', b'a']]
    """
    first, last = (
        character_to_byte_offsets(texts, tf.RaggedTensor.from_tensor(places)).to_tensor(
            shape=[None, places.shape[1]]
        )
        for places in (starts, ends)
    )  # [batch, count] each
    # In bytes, as TensorFlow counts the characters of damaged UTF-8 differently.
    return valid_unicode(tf.strings.substr(texts[:, None], first, last - first))
