"""Questions -> batches for a model that marks the answer's first and last token in the context."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from keras_transformer.checks import check_at_least

from .example_batches import ExampleBatches
from .squad import Answer, Question, QuestionReport, Questions
from .text_segments import join_segments
from .token_arrays import check_special_ids, token_arrays, token_spans
from .windows import stride_windows

NO_ROW = -1  # label of rows that only fill a batch up
NO_ANSWER = 0  # an answer that starts and ends at [CLS]: this window has none


@dataclass
class SpanWindow:
    """A question and a part of its context, which the model reads at once.

    Attributes:
        example: `token_ids`, `segment_ids`, `answer_mask` `[length]` (where an answer may be: at
            [CLS] and in the context), `start` and `end` (positions of the answer's first and last
            token, or 0 and 0).
        question: number of the question.
        offset: position of the first token of the context.
        starts: int32 `[context_tokens]`, where each token of the context in this window begins in
            the whole context, in characters.
        ends: int32 `[context_tokens]`, where it ends.
        has_answer: whether the whole answer is in this window.
        question_is_cut: whether the question was too long.
    """

    example: dict[str, Any]
    question: int
    offset: int
    starts: np.ndarray
    ends: np.ndarray
    has_answer: bool
    question_is_cut: bool = False

    def answer(self, context: str, start: int, end: int) -> str:
        """The text of the context from the token at position `start` to the one at `end`.

        Args:
            context: the question's context.
            start: position in this window; 0 for no answer.
            end: position, not before `start`.

        Raises:
            ValueError: the positions are not in the context, or in the wrong order.
        """
        if start == end == NO_ANSWER:
            return ""
        first, last = start - self.offset, end - self.offset
        if not 0 <= first <= last < len(self.starts):
            raise ValueError(
                f"positions {start} to {end} are no span of the context, which stands at "
                f"{self.offset} to {self.offset + len(self.starts) - 1}."
            )
        return context[self.starts[first] : self.ends[last]]


def span_windows(
    questions: Iterable[Question],
    tokenizer: Any,
    max_length: int = 384,
    stride: int | None = None,
    max_question_length: int = 64,
) -> list[SpanWindow]:
    """Questions with their contexts as `Bert` reads them: [CLS] question [SEP] context [SEP].

    A context that is too long is read in windows, of which each begins `stride` tokens after the
    one before it (Devlin et al. 2019, 4.2 and the code that goes with it); a stride longer than
    the room for context becomes that room, so that no token is left out. A window is labelled
    with the first of the answers that is wholly in it, and else with position 0, [CLS], for no
    answer. A blank at an edge of an answer is no part of its tokens.

    Args:
        questions: the questions.
        tokenizer: has [CLS], [SEP] and offsets.
        max_length: most ids of a window, special ones included.
        stride: tokens from the beginning of a window to that of the next; a third of `max_length`
            by default.
        max_question_length: most ids of a question, whose end is cut, at most half of the room.

    Returns:
        The windows, those of a question one after the other.

    Raises:
        ValueError: lengths that are impossible.
    """
    check_at_least(8, max_length=max_length)
    stride = max_length // 3 if stride is None else stride
    if not 1 <= stride < max_length:
        raise ValueError(
            f"stride is {stride}; it must be at least 1 and less than max_length ({max_length})."
        )
    check_at_least(1, max_question_length=max_question_length)
    check_special_ids(tokenizer, "cls_id", "sep_id")
    questions = list(questions)
    contexts = list(dict.fromkeys(question.context for question in questions))
    spans = dict(zip(contexts, token_spans(contexts, tokenizer), strict=True))
    most = min(max_question_length, (max_length - 3) // 2)
    asked = list(token_arrays((question.question for question in questions), tokenizer))
    answers = [
        [_tokens_of(answer, *spans[question.context][1:]) for answer in question.answers]
        for question in questions
    ]
    # A context without tokens is read, too.
    lengths = [max(1, len(spans[question.context][0])) for question in questions]
    rooms = [max_length - 3 - min(len(ids), most) for ids in asked]
    cut = stride_windows(np.array(lengths, np.int64), np.array(rooms, np.int64), stride)
    windows = []
    columns = (part.numpy().tolist() for part in (cut.rows, cut.starts, cut.ends))
    for number, start, end in zip(*columns, strict=True):
        asked_ids = asked[number][:most]
        ids, starts, ends = spans[questions[number].context]
        offset = len(asked_ids) + 2
        example = join_segments(asked_ids, ids[start:end], tokenizer)
        mask = np.zeros(len(example["token_ids"]), bool)
        mask[0] = mask[offset:-1] = True
        inside = [
            (first - start + offset, last - start + offset)
            for first, last in filter(None, answers[number])
            if start <= first and last < end
        ]
        first, last = inside[0] if inside else (NO_ANSWER, NO_ANSWER)
        example |= {"answer_mask": mask, "start": first, "end": last}
        part, is_cut = slice(start, end), len(asked[number]) > most
        windows.append(
            SpanWindow(example, number, offset, starts[part], ends[part], bool(inside), is_cut)
        )
    return windows


def span_batches(
    questions: Questions,
    tokenizer: Any,
    *,
    max_length: int = 384,
    stride: int | None = None,
    max_question_length: int = 64,
    empty_windows: int | None = 1,
    training: bool = True,
    seed: int = 0,
    **options: Any,
) -> ExampleBatches:
    """Batches for `BertSpanQA`.

    A batch is `({"token_ids", "segment_ids": int32 [batch, length], "answer_mask": bool [batch,
    length]}, {"start", "end": int32 [batch]})`, the labels 0 for no answer and -1 in rows that
    only fill a batch up (`SparseCategoricalCrossentropy(ignore_class=-1)` leaves these out). To
    score answers, make batches of the examples of `span_windows` with `training=False`: their
    `rows` say which windows the batches hold.

    Windows without the answer are many where contexts are long, and would teach the model to find
    none. Of a question that has an answer only some of them are trained on, drawn with the seed,
    and answerable questions of which no window has the whole answer are left out; both are
    counted. Of a question without an answer all windows are trained on.

    Args:
        questions: the questions.
        tokenizer: has [CLS], [SEP] and offsets.
        max_length: most ids of a window, special ones included.
        stride: tokens from the beginning of a window to that of the next; a third of `max_length`
            by default.
        max_question_length: most ids of a question.
        empty_windows: most windows without the answer for each question that has one; None for
            all of them.
        training: False keeps all windows, in the order of their length.
        seed: seed of choice and order.
        **options: of `ExampleBatches`.

    Raises:
        ValueError: what the questions raise; lengths that are impossible.

    Example:
        >>> batches = span_batches(squad_file(path), tokenizer)  # doctest: +SKIP
        >>> model.fit(batches.dataset, epochs=3)  # doctest: +SKIP
    """
    if empty_windows is not None and empty_windows < 0:
        raise ValueError(f"empty_windows is {empty_windows}; it must be at least 0, or None.")
    report = questions.check()
    kept = list(questions)
    windows = span_windows(kept, tokenizer, max_length, stride, max_question_length)
    cut = Counter({"question cut": len({w.question for w in windows if w.question_is_cut})})
    report = replace(report, repaired=report.repaired + cut)
    if training:
        rng = np.random.default_rng([seed, 2])
        windows = _choose(windows, kept, empty_windows, rng, report)
    return ExampleBatches(
        [window.example for window in windows],
        ("start", "end"),
        fillers={"start": NO_ROW, "end": NO_ROW},
        training=training,
        seed=seed,
        texts=report,
        **options,
    )


def _choose(
    windows: Sequence[SpanWindow],
    questions: Sequence[Question],
    empty_windows: int | None,
    rng: np.random.Generator,
    report: QuestionReport,
) -> list[SpanWindow]:
    """The windows to train on; what is left out goes into the report."""
    of_question: list[list[SpanWindow]] = [[] for _ in questions]
    for window in windows:
        of_question[window.question].append(window)
    chosen: list[SpanWindow] = []
    lost = 0
    for question, its in zip(questions, of_question, strict=True):
        if not question.has_answer:
            chosen += its
        elif not any(window.has_answer for window in its):
            lost += 1
        else:
            empty = [i for i, window in enumerate(its) if not window.has_answer]
            most = len(empty) if empty_windows is None else empty_windows
            left_out = set(rng.permutation(empty)[most:].tolist())
            report.windows_dropped += len(left_out)
            chosen += [window for i, window in enumerate(its) if i not in left_out]
    report.kept -= lost
    report.dropped = report.dropped + Counter({"answer whole in no window": lost})
    return chosen


def _tokens_of(answer: Answer, starts: np.ndarray, ends: np.ndarray) -> tuple[int, int] | None:
    """The first and the last token that an answer covers, at least in part."""
    begin = answer.start + len(answer.text) - len(answer.text.lstrip())
    stop = answer.start + len(answer.text.rstrip())
    covered = np.flatnonzero((ends > begin) & (starts < stop))
    return (int(covered[0]), int(covered[-1])) if len(covered) else None
