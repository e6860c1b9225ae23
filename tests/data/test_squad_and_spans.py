"""Questions and their answers: files in the format of SQuAD, windows, batches."""

import gzip
import json

import numpy as np
import pytest
from data.bert_tokenizers import CLS, SEP, letters_tokenizer, words_tokenizer
from realdata import real_data

from keras_transformer.data import (
    Answer,
    Question,
    Questions,
    load_questions,
    span_batches,
    span_windows,
    squad_file,
)


def squad(tmp_path, context, *qas, name="a.json", pack=bytes):
    """A file with one context; a question is (question, [(text, start)]) or with more fields."""
    found = [
        {
            "id": f"q{number}",
            "question": question,
            "answers": [{"text": text, "answer_start": start} for text, start in answers],
        }
        | (more[0] if more else {})
        for number, (question, answers, *more) in enumerate(qas)
    ]
    data = {"data": [{"title": "t", "paragraphs": [{"context": context, "qas": found}]}]}
    path = tmp_path / name
    path.write_bytes(pack(json.dumps(data, ensure_ascii=False).encode()))
    return path


def ask(context, *answers, question="w1"):
    found = tuple(Answer(text, context.index(text)) for text in answers)
    return Question("q", question, context, found, tuple(answers))


def questions_of(*questions):
    return Questions("questions", lambda: iter(questions))


def words(count, start=0):
    return " ".join(f"w{n}" for n in range(start, start + count))


# Files.


def test_leading_blanks_stay_and_answers_are_slices_of_the_context(tmp_path):
    path = squad(tmp_path, "  Rome is old.", ("What?", [("Rome", 2)]), ("Who?", [("Rome", 0)]))
    questions = squad_file(path)
    (question,) = questions
    assert question.context[2:6] == "Rome" and question.answers == (Answer("Rome", 2),)
    assert questions.report.answers_dropped == {"not at its offset": 1}
    assert questions.report.dropped == {"no answer at its offset": 1}
    assert (questions.report.read, questions.report.kept) == (2, 1)


def test_offsets_count_characters_not_bytes_or_half_characters(tmp_path):
    path = squad(tmp_path, "𝄞 罗马 café", ("Where?", [("罗马", 2), ("café", 5)]))
    assert [answer.start for answer in next(iter(squad_file(path))).answers] == [2, 5]


def test_a_byte_order_mark_and_gzip_are_read(tmp_path):
    for pack in (lambda b: b"\xef\xbb\xbf" + b, gzip.compress):
        path = squad(tmp_path, "a b", ("?", [("b", 2)]), pack=pack)
        assert squad_file(path).check().kept == 1


def test_questions_without_an_answer_are_kept_by_either_sign(tmp_path):
    path = squad(
        tmp_path,
        "a b",
        ("one?", [("a", 0)], {"is_impossible": False}),
        ("two?", [], {"is_impossible": True, "plausible_answers": []}),
        ("three?", []),
        ("four?", [("b", 2)], {"is_impossible": True}),
    )
    questions = list(squad_file(path))
    assert [question.has_answer for question in questions] == [True, False, False, False]
    assert squad_file(path).report.unanswerable == 3


def test_misplaced_answers_can_be_kept_for_scoring(tmp_path):
    path = squad(tmp_path, "a b b", ("?", [("b", 1), ("b", 2), ("b", 2)]), ("!", [("b", 0)]))
    first, second = squad_file(path, keep_misplaced=True)
    assert first.answers == (Answer("b", 2),) and first.texts == ("b",)
    assert not second.answers and second.texts == ("b",) and second.has_answer
    assert len(list(squad_file(path))) == 1


def test_blank_questions_contexts_and_answers_are_counted(tmp_path):
    path = squad(tmp_path, "a b", (" ", [("a", 0)]), ("?", [(" ", 1), ("b", 2)]), ("!", [("", 0)]))
    report = squad_file(path).check()
    assert report.dropped == {"blank question": 1, "answers all blank": 1}
    assert report.answers_dropped == {"blank": 2}
    with pytest.raises(ValueError, match=r"read 1, kept 0, dropped 1 \(blank context: 1\)"):
        squad_file(squad(tmp_path, " ", ("?", []))).check()


def test_nul_moves_no_offset(tmp_path):
    questions = squad_file(squad(tmp_path, "a\0b c", ("?", [("c", 4)])))
    (question,) = questions
    assert question.context == "a b c" and question.answers == (Answer("c", 4),)
    assert questions.report.repaired == {"NUL replaced by a space": 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[]", "there is no 'data'"),
        (b'{"data": [{}]}', r"data\[0\]: there is no 'paragraphs'"),
        (
            b'{"data": [{"paragraphs": [{"context": 3, "qas": []}]}]}',
            r"data\[0\]\.paragraphs\[0\]: 'context' is not a text",
        ),
        (
            b'{"data": [{"paragraphs": [{"context": "c", "qas": [{"id": 1, "question": "q"}]}]}]}',
            r"paragraphs\[0\]\.qas\[0\]: there is no 'answers'",
        ),
        (
            b'{"data": [{"paragraphs": [{"context": "\\ud800", "qas": []}]}]}',
            "'context' holds half of a surrogate pair",
        ),
        (b'{"data": [\n1,]}', r"a\.json, line 2: not JSON"),
        (b'{"data": "\xe9"}', "byte 11 is not valid UTF-8"),
        (b"\x1f\x8b\x08junk", "the gzip data is damaged"),
    ],
)
def test_faults_of_a_file_are_named(tmp_path, content, message):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        squad_file(path).check()


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        squad_file(tmp_path / "a.json").check()


# Windows.


def test_a_window_and_its_answer():
    question = ask("w3 w4 w5 w6", "w4 w5", question="w1 w2")
    (window,) = span_windows([question], words_tokenizer())
    example = window.example
    assert example["token_ids"].tolist() == [CLS, 6, 7, SEP, 8, 9, 10, 11, SEP]
    assert example["segment_ids"].tolist() == [0] * 4 + [1] * 5
    assert example["answer_mask"].tolist() == [True] + [False] * 3 + [True] * 4 + [False]
    assert (example["start"], example["end"]) == (5, 6)
    assert window.answer(question.context, 5, 6) == "w4 w5"
    assert window.answer(question.context, 0, 0) == ""
    for wrong in ((6, 5), (3, 5), (5, 8), (0, 5)):
        with pytest.raises(ValueError, match="are no span of the context"):
            window.answer(question.context, *wrong)


@pytest.mark.parametrize(("max_length", "stride"), [(16, 1), (16, 5), (16, 15), (128, 127)])
def test_every_word_of_the_context_is_in_a_window(max_length, stride):
    question = ask(words(180), "w100", question="w1 w2")
    windows = span_windows([question], words_tokenizer(), max_length, stride)
    seen = np.zeros(len(question.context), bool)
    for window in windows:
        assert len(window.example["token_ids"]) <= max_length
        for start, end in zip(window.starts, window.ends, strict=True):
            seen[start:end] = True
    assert all(seen[i] for i, char in enumerate(question.context) if char != " ")
    assert sum(window.has_answer for window in windows) >= 1


@pytest.mark.parametrize("stride", [0, -1, 128, 200])
def test_strides_that_are_impossible_are_refused(stride):
    with pytest.raises(ValueError, match=f"stride is {stride}; .* less than max_length"):
        span_windows([ask("w1", "w1")], words_tokenizer(), 128, stride)


def test_a_question_longer_than_the_window_is_cut_and_counted():
    question = ask(words(40), "w30", question=words(300))
    windows = span_windows([question], words_tokenizer(300), max_length=32, stride=8)
    assert all(window.offset == 16 and window.question_is_cut for window in windows)
    assert any(window.has_answer for window in windows)
    batches = span_batches(questions_of(question), words_tokenizer(300), max_length=32, stride=8)
    assert "question cut: 1" in str(batches.report)


def test_a_span_is_labelled_only_where_it_is_whole():
    question = ask(words(60), "w25 w26 w27")
    windows = span_windows([question], words_tokenizer(), max_length=24, stride=10)
    for window in windows:
        start, end = window.example["start"], window.example["end"]
        if window.has_answer:
            assert window.answer(question.context, start, end) == "w25 w26 w27"
        else:
            assert (start, end) == (0, 0)
    assert 1 <= sum(window.has_answer for window in windows) < len(windows)


def test_the_first_answer_that_is_whole_is_taken():
    question = ask(words(60), "w50", "w3")
    windows = span_windows([question], words_tokenizer(), max_length=24, stride=20)
    answers = [w.answer(question.context, w.example["start"], w.example["end"]) for w in windows]
    assert answers == ["w3", "", "w50"]
    (window,) = span_windows([question], words_tokenizer(), max_length=100)
    assert window.example["start"] == 53


def test_answers_that_begin_inside_a_word_or_a_blank_are_covered_by_whole_tokens():
    tokenizer = letters_tokenizer()
    question = Question("q", "when", "in 1870-71, so", (Answer(" 1870", 2),), (" 1870",))
    (window,) = span_windows([question], tokenizer)
    found = window.answer(question.context, window.example["start"], window.example["end"])
    assert found == "1870"
    question = Question("q", "w1", "w10 w11", (Answer("1", 1),), ("1",))
    (window,) = span_windows([question], words_tokenizer())
    assert window.answer(question.context, window.example["start"], window.example["end"]) == "w10"


# Batches.


def test_windows_without_the_answer_do_not_drown_the_others():
    questions = questions_of(ask(words(180), "w100"), ask(words(180), question="w2"))
    options = {"max_length": 24, "stride": 10, "training": True}
    windows = span_windows(list(questions), words_tokenizer(), 24, 10)
    with_answer = sum(window.has_answer for window in windows)
    unanswerable = sum(window.question == 1 for window in windows)
    for empty, count in ((0, 0), (1, 1), (None, unanswerable - with_answer)):
        batches = span_batches(questions, words_tokenizer(), empty_windows=empty, **options)
        starts = np.concatenate([labels["start"] for _, labels in batches.batches()])
        assert (starts > 0).sum() == with_answer
        assert (starts == 0).sum() == count + unanswerable
    batches = span_batches(questions, words_tokenizer(), empty_windows=0, **options)
    left_out = unanswerable - with_answer
    assert f"windows without the answer left out: {left_out}" in str(batches.report)
    everything = span_batches(
        questions, words_tokenizer(), max_length=24, stride=10, training=False
    )
    assert everything.count_examples == len(windows)


def test_questions_whose_answer_is_whole_in_no_window_are_counted():
    questions = questions_of(ask(words(60), words(20, 5)), ask("w1 w2", "w1"))
    batches = span_batches(questions, words_tokenizer(), max_length=16, stride=4)
    assert batches.count_examples == 1
    assert batches.report.texts.dropped == {"answer whole in no window": 1}
    assert batches.report.texts.kept == 1


def test_a_batch_for_span_qa():
    questions = questions_of(ask("w3 w4", "w4"), ask("w5 w6 w7", question="w2"))
    batches = span_batches(
        questions, words_tokenizer(), batch_size=4, replicas=4, training=False, length_multiple=1
    )
    ((features, labels),) = batches.dataset.as_numpy_iterator()
    assert features["token_ids"].tolist()[0] == [CLS, 6, SEP, 8, 9, SEP, 0]
    assert features["answer_mask"].tolist()[0] == [True, False, False, True, True, False, False]
    assert features["answer_mask"].dtype == bool and not features["answer_mask"][2:].any()
    assert labels["start"].tolist() == [4, 0, -1, -1] and labels["end"].tolist() == [4, 0, -1, -1]


def test_the_same_choice_of_windows_every_time():
    def starts():
        questions = questions_of(*(ask(words(150), f"w{n}") for n in range(20, 30)))
        batches = span_batches(questions, words_tokenizer(), max_length=24, stride=10, seed=3)
        return [x["token_ids"].tolist() for x, _ in batches.batches()]

    assert starts() == starts()


# Real files.


@pytest.mark.parametrize(
    ("name", "questions", "misplaced", "unusable"),
    [
        ("squad_en/squad_subset_val.json", 396, 0, 0),
        ("xquad/xquad.zh.json", 1190, 0, 0),
        ("drcd/DRCD_test.json.gz", 3493, 0, 0),
        ("cmrc2018/cmrc2018_dev.json.gz", 3219, 200, 3),
    ],
)
def test_real_files(name, questions, misplaced, unusable):
    source = load_questions(str(real_data(name)))
    found = list(source)
    assert source.report.read == questions
    assert source.report.dropped["no answer at its offset"] == unusable
    # Equal answers count once, so there can be fewer misplaced ones than the file has.
    assert (source.report.answers_dropped["not at its offset"] > 0) == (misplaced > 0)
    for question in found:
        for text, start in question.answers:
            assert question.context[start : start + len(text)] == text


def test_real_answers_are_found_again_in_the_windows():
    from keras_transformer.text import WordPieceTokenizer

    questions = list(load_questions(str(real_data("squad_en/squad_subset_val.json"))))
    contexts = {question.context for question in questions}
    tokenizer = WordPieceTokenizer.train(sorted(contexts), 2000)
    windows = span_windows(questions, tokenizer, max_length=128, stride=48)
    exact = 0
    for window in windows:
        if window.has_answer:
            question, example = questions[window.question], window.example
            found = window.answer(question.context, example["start"], example["end"])
            exact += found in {answer.text.strip() for answer in question.answers}
    assert len({w.question for w in windows if w.has_answer}) > 390
    assert exact > 0.97 * sum(window.has_answer for window in windows)
