"""Answers found in contexts of any length."""

import dataclasses
import math
import random

import numpy as np
import pytest
import small_berts
import tensorflow as tf
from small_berts import strings

from keras_transformer.models import BertSpanQA
from keras_transformer.tasks import AnswerOptions, QuestionAnswerer
from keras_transformer.tasks.answer_search import slices_of_texts
from keras_transformer.tasks.answers import NOTHING
from keras_transformer.tasks.span_search import best_spans

CLS, SEP = 2, 3
OPTIONS = AnswerOptions(
    max_length=32, stride=5, max_question_length=8, max_answer_length=4, n_best=6
)


def make(options=OPTIONS, tokenizer=None):
    tokenizer = tokenizer or small_berts.wordpieces()
    return QuestionAnswerer(small_berts.make_model(BertSpanQA, tokenizer), tokenizer, options)


@pytest.fixture(scope="module")
def answerer():
    return make()


@pytest.fixture(scope="module")
def without_context():
    task = make(dataclasses.replace(OPTIONS, n_best=20))
    small_berts.ignore_context(task.model)
    return task


@pytest.fixture
def eager():
    with small_berts.eagerly():
        yield


def words(count, seed=0):
    return " ".join(random.Random(seed).choices([*small_berts.WORDS, "abc", "我"], k=count))


def expected_spans(task, question, context):
    """Every span's start, end and score, best first: all windows, all spans, one by one."""
    options = task.options
    asked = task.tokenizer.tokenize(question).numpy().tolist()[: options.max_question_length]
    ids, starts, ends = (p.numpy() for p in task.tokenizer.tokenize_with_offsets(context))
    room = options.max_length - 3 - len(asked)
    step, longest = options.stride, options.max_answer_length
    first = [0]
    while first[-1] + room < len(ids):
        first.append(first[-1] + step)
    logits, nulls = [], []
    for s in first:
        part = ids[s : s + room].tolist()
        token_ids = [CLS, *asked, SEP, *part, SEP]
        segments = [0] * (len(asked) + 2) + [1] * (len(part) + 1)
        out = task.model({"token_ids": np.array([token_ids]), "segment_ids": np.array([segments])})
        start, end = (out[name][0].numpy() for name in ("start", "end"))
        nulls.append(start[0] + end[0])
        logits.append((start[len(asked) + 2 : -1], end[len(asked) + 2 : -1]))
    found = []
    for a in range(len(ids)):
        # The window whose middle lies nearest to the middle of the longest span from here.
        own = min(
            range(len(first)),
            key=lambda k: (abs(2 * first[k] + room - 2 * (a + longest // 2)), -k),
        )
        s = first[own]
        assert s <= a and min(a + longest, len(ids)) <= s + room  # no span is lost
        for b in range(a, min(a + longest, len(ids))):
            score = logits[own][0][a - s] + logits[own][1][b - s] - min(nulls)
            found.append((int(starts[a]), int(ends[b]), float(score)))
    return sorted(found, key=lambda span: -span[2])


def check(answers, context, expected):
    assert [(a.start, a.end) for a in answers] == [span[:2] for span in expected]
    assert [a.score for a in answers] == pytest.approx([span[2] for span in expected], abs=1e-4)
    assert [a.text for a in answers] == [context[a.start : a.end] for a in answers]


@pytest.mark.parametrize("length", [1, 2, 20, 25, 120])
def test_the_answers_are_the_best_of_all_spans_of_all_windows(answerer, length):
    question, context = "where's ada?", words(length, seed=length)
    (found,) = answerer.answer([question], [context])
    expected = expected_spans(answerer, question, context)
    check(found.answers, context, expected[:6])
    assert len(found.answers) == min(6, len(expected))
    assert found.has_answer and not found.truncated
    assert answerer([question], [context]) == [found.answers[0].text]


def test_an_answer_is_found_wherever_in_a_very_long_context_it_stands(without_context, eager):
    candidates = [*small_berts.WORDS, *small_berts.LETTERS]
    found = without_context.answer(["who?"] * len(candidates), candidates)
    scores = {word: f.answers[0].score for word, f in zip(candidates, found, strict=True)}
    best, worst = max(scores, key=scores.get), min(scores, key=scores.get)
    before = [0, 1, 7, 33, 500, 999]
    contexts = [" ".join([worst] * n + [best] + [worst] * (999 - n)) for n in before]
    found = without_context.answer(["who?"] * len(contexts), contexts)
    for n, context, answers in zip(before, contexts, found, strict=True):
        place, top = n * (len(worst) + 1), answers.answers[0]
        assert context[place:].startswith(best)
        assert top.start <= place < top.end
        assert top.score > scores[best] - 1e-4


def test_a_long_context_is_read_a_bounded_number_of_windows_at_a_time(answerer):
    shapes = []

    def model(inputs, training):
        shapes.append(tuple(inputs["token_ids"].shape))
        return answerer.model(inputs, training=training)

    search = dataclasses.replace(answerer._search, model=model)
    found = search(strings(["who?", "a"]), strings([words(1500), "dog"]), 1)  # eager: no graph
    assert sum(rows for rows, _ in shapes) > 290
    assert all(rows <= 64 and width <= 32 for rows, width in shapes)
    assert found.answers.shape == (2, 1)


def test_an_answer_never_lies_in_the_question(without_context, eager):
    """Also where the question's own words score best."""
    everything = " ".join(small_berts.WORDS[:7])
    ids = without_context.tokenizer.tokenize(everything).numpy()
    out = without_context.model({"token_ids": ids[None]})
    best = small_berts.WORDS[int(np.argmax(out["start"][0]))]
    worst = small_berts.WORDS[int(np.argmin(out["start"][0]))]
    assert without_context([best], [worst]) == [worst]


def test_a_best_end_before_the_best_start_makes_no_answer():
    start = tf.constant([[1.0, 0, 9, 2, 0]])
    end = tf.constant([[9.0, 3, 0, 0, 1]])
    anywhere = tf.ones([1, 5], tf.bool)
    spans = best_spans(start, end, anywhere, anywhere, longest=2, count=3)
    assert list(zip(*(part[0].numpy().tolist() for part in spans), strict=True)) == [
        (0, 0, 10.0),
        (2, 2, 9.0),
        (2, 3, 9.0),
    ]


def test_spans_are_those_of_a_search_through_all():
    random_numbers = np.random.default_rng(5)
    start, end = random_numbers.normal(size=(2, 40, 9)).astype("float32")
    may_start, may_end = random_numbers.random((2, 40, 9)) < 0.6
    found = best_spans(start, end, may_start, may_end, longest=3, count=50)
    for row in range(40):
        expected = sorted(
            (-float(start[row, a] + end[row, b]), a, b)
            for a in range(9)
            for b in range(a, min(a + 3, 9))
            if may_start[row, a] and may_end[row, b]
        )
        scores = found.scores[row].numpy()
        count = int(np.isfinite(scores).sum())
        assert count == len(expected)
        spans = zip(scores[:count], found.starts[row, :count], found.ends[row, :count], strict=True)
        spans = [(-float(score), int(a), int(b)) for score, a, b in spans]
        np.testing.assert_allclose(sorted(spans), expected, atol=1e-6)
        assert np.all(np.diff(scores[:count]) <= 0)
        assert np.all(found.starts[row, count:] == 0) and np.all(scores[count:] == -math.inf)


@pytest.mark.parametrize(
    ("question", "context"),
    [("who?", ""), ("who?", "  \n"), ("", "the dog"), (" ", ""), ("who?", "\u200b\x01")],
)
def test_blank_texts_have_no_answer(answerer, question, context):
    columns = {"question": [question, "who?"], "context": [context, "the dog"]}
    row, other = small_berts.ask(answerer.serving_default, **columns)
    assert row == {
        "answer": "", "score": 0.0, "start": 0, "end": 0, "has_answer": False, "truncated": False
    }  # fmt: skip
    assert other["has_answer"]
    row, _ = small_berts.ask(answerer.n_best, **columns)
    assert row["answers"] == [""] * 6 and set(row["scores"]) == {NOTHING}
    assert answerer.answer([question], [context])[0] == ([], False, False)


def test_fewer_spans_than_asked_for_are_filled_up(answerer):
    (row,) = small_berts.ask(answerer.n_best, question=["who?"], context=["a dog"])
    assert row["answers"][3:] == [""] * 3 and row["scores"][3:] == [NOTHING] * 3
    assert sorted(row["answers"][:3]) == ["a", "a dog", "dog"]


def test_a_threshold_turns_weak_answers_into_none(answerer, eager):
    best = answerer.answer(["who?"], [words(30)])[0].answers[0]
    for threshold, given in ((best.score - 0.01, True), (best.score + 0.01, False)):
        task = QuestionAnswerer(
            answerer.model,
            answerer.tokenizer,
            dataclasses.replace(OPTIONS, no_answer_threshold=threshold),
        )
        (row,) = small_berts.ask(task.serving_default, question=["who?"], context=[words(30)])
        assert row["score"] == pytest.approx(best.score, abs=1e-4)
        found = (row["answer"], row["start"], row["end"], row["has_answer"])
        assert found == ((best.text, best.start, best.end, True) if given else ("", 0, 0, False))


def test_a_question_over_its_limit_is_cut_and_reported(answerer):
    context = words(40)
    (exact, cut) = answerer.answer(["dog " * 8, "dog " * 30], [context] * 2)
    assert (exact.truncated, cut.truncated) == (False, True)
    small_berts.assert_same([list(a) for a in cut.answers], [list(a) for a in exact.answers])


def test_a_context_over_its_limit_is_cut_and_reported(answerer, eager):
    short = dataclasses.replace(OPTIONS, max_context_length=20)
    task = QuestionAnswerer(answerer.model, answerer.tokenizer, short)
    exact, cut = "dog " * 20, "dog " * 21
    whole, part = task.answer(["who?"] * 2, [exact, cut])
    assert (whole.truncated, part.truncated) == (False, True)
    small_berts.assert_same([list(a) for a in part.answers], [list(a) for a in whole.answers])
    with pytest.raises(ValueError, match="max_context_length must be at least 1, not 0"):
        dataclasses.replace(OPTIONS, max_context_length=0)


def test_answers_are_exact_slices_of_what_was_given(answerer):
    context = "\u3000The  DOG 🙂 sées\tthe “Réd” house…"
    for found in answerer.answer(["who?"], [context])[0].answers:
        assert found.text == context[found.start : found.end]
    damaged = b"\xff\xfe dog \xc3 runs"
    text = damaged.decode("utf-8", "replace")
    for found in answerer.answer(["who?"], [damaged])[0].answers:
        assert found.text == text[found.start : found.end]


def test_slices_count_characters_and_keep_bytes():
    texts = strings(["a北🙂!", b"\xffb\xc3c", ""])
    starts, ends = tf.constant([[0, 1], [0, 1], [0, 0]]), tf.constant([[4, 3], [2, 4], [0, 0]])
    found = slices_of_texts(texts, starts, ends).numpy()
    assert [[s.decode() for s in row] for row in found] == [
        ["a北🙂!", "北🙂"],
        ["\ufffdb", "b\ufffdc"],
        ["", ""],
    ]


def test_chinese_by_characters_is_answered(eager):
    task = make(tokenizer=small_berts.characters())
    context = "我住在北京。" * 20
    (found,) = task.answer(["我住在北京"], [context])
    assert all(a.text == context[a.start : a.end] for a in found.answers)
    assert len(found.answers) == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_length": 11}, "max_length must be at least 12, not 11"),
        ({"stride": 0}, "stride must be at least 1, not 0"),
        ({"n_best": 0}, "n_best must be at least 1, not 0"),
        ({"max_question_length": 0}, "max_question_length must be at least 1, not 0"),
        ({"max_answer_length": 2.5}, "max_answer_length must be a whole number, not 2.5"),
        (
            {"max_length": 40, "max_question_length": 30, "max_answer_length": 10},
            "max_length=40 is too short .* it must be at least 44",
        ),
        ({"no_answer_threshold": math.nan}, "no_answer_threshold must be a number or None"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        AnswerOptions(**options)


def test_options_of_any_length_fit_together():
    for length in range(12, 600):
        options = AnswerOptions(max_length=length)
        shortest = length - 3 - options.max_question_length
        assert 1 <= options.stride <= shortest - options.max_answer_length
    assert AnswerOptions() == AnswerOptions(384, 128, 64, 30)


def test_windows_longer_than_the_model_takes_are_refused():
    with pytest.raises(ValueError, match="max_position_embeddings=40, not 41"):
        make(AnswerOptions(max_length=41))


def test_contexts_of_another_number_are_refused(answerer):
    with pytest.raises(ValueError, match="questions and contexts must be of one length, not 2 and"):
        answerer(["a", "b"], ["c"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="question has 2, context has 1"):
        answerer.serving_default(strings(["a", "b"]), strings(["c"]))
