"""Questions whose answers are parts of a text, from files in the format of SQuAD."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from .pairs import ReadReport
from .source import CountedSource
from .text_files import text_files

SQUAD_ENDINGS = (".json",)


class Answer(NamedTuple):
    """A part of the context: `context[start : start + len(text)] == text`."""

    text: str
    start: int


@dataclass(frozen=True)
class Question:
    """A question about a text.

    Attributes:
        id: its id, for predictions.
        question: the question.
        context: the text, character for character as it was given.
        answers: where the answer stands; several if people answered differently. Empty if there
            is no answer, or none that stands where it is said to be.
        texts: the answers' texts, for scoring; empty if there is no answer.
    """

    id: str
    question: str
    context: str
    answers: tuple[Answer, ...] = ()
    texts: tuple[str, ...] = ()

    @property
    def has_answer(self) -> bool:
        """Whether the context answers the question."""
        return bool(self.texts)


@dataclass
class QuestionReport(ReadReport):
    """What one pass over questions met; `read` and `kept` count questions.

    Attributes:
        contexts: number of different contexts of the kept questions.
        unanswerable: kept questions without an answer.
        answers_dropped: reason -> answers left out for it.
        windows_dropped: windows without the answer that are not trained on.
    """

    contexts: int = 0
    unanswerable: int = 0
    answers_dropped: Counter[str] = field(default_factory=Counter)
    windows_dropped: int = 0

    def __str__(self) -> str:
        text = f"{super().__str__()} questions, {self.unanswerable:,} without an answer"
        if self.answers_dropped:
            reasons = sorted(self.answers_dropped.items())
            text += f"; answers dropped: {'; '.join(f'{reason}: {n:,}' for reason, n in reasons)}"
        if self.windows_dropped:
            text += f"; windows without the answer left out: {self.windows_dropped:,}"
        return text


class Questions(CountedSource[Question, QuestionReport]):
    """A source of questions that can be read again and again.

    Faults are counted, and what has them is left out: answers that do not stand in the context
    where they are said to, blank questions, blank contexts, and answerable questions of which no
    answer is left. A NUL character becomes a space, which moves no offset.

    Args:
        name: what messages and reports call this source.
        read: opens the source and yields every question with all answers that it came with.
        keep_misplaced: keep a question whose answers all stand elsewhere than they are said to,
            with `texts` and without `answers`: it can be scored, if not trained on.

    Example:
        >>> good, bad = Answer("Rome", 8), Answer("Rome", 7)
        >>> question = Question("q1", "Where?", "She saw Rome.", (good, bad))
        >>> questions = Questions("one", lambda: iter([question]))
        >>> next(iter(questions)).answers
        (Answer(text='Rome', start=8),)
        >>> print(questions.report)
        one: read 1, kept 1 questions, 0 without an answer; answers dropped: not at its offset: 1
    """

    def __init__(
        self, name: str, read: Callable[[], Iterator[Question]], keep_misplaced: bool = False
    ):
        super().__init__(name, read)
        self._keep_misplaced = keep_misplaced

    def __iter__(self) -> Iterator[Question]:
        report = QuestionReport(self.name)
        contexts: set[int] = set()  # hashes: the texts would fill the memory
        for raw in self._read():
            report.read += 1
            clean = _without_nul(raw)
            report.repaired["NUL replaced by a space"] += clean != raw
            question = _checked(clean, report)
            if fault := self._fault(clean, question):
                report.dropped[fault] += 1
                continue
            report.kept += 1
            report.unanswerable += not question.has_answer
            contexts.add(hash(question.context))
            yield question
        report.repaired += {}  # forgets the kinds that never occurred
        report.contexts = len(contexts)
        self._report = report  # only a finished pass knows the counts

    def _fault(self, raw: Question, question: Question) -> str | None:
        if not question.question.strip():
            return "blank question"
        if not question.context.strip():
            return "blank context"
        if raw.answers and not question.texts:
            return "answers all blank"
        if question.texts and not question.answers and not self._keep_misplaced:
            return "no answer at its offset"
        return None

    def texts(self) -> Iterator[str]:
        """Contexts, each once where they stand together, and questions; to train a tokenizer."""
        last = None
        for question in self:
            if question.context != last:
                yield question.context
            last = question.context
            yield question.question


def squad_file(path: str | os.PathLike[str], *, keep_misplaced: bool = False) -> Questions:
    """Questions of JSON files in the format of SQuAD 1.1 or 2.0, plain or gzip.

    (Rajpurkar et al. 2016 and 2018; XQuAD, CMRC 2018 and DRCD come in it, too.) A question is
    without an answer if `is_impossible` says so or its list of answers is empty. Offsets count
    Unicode characters. Answers that are given twice are taken once. Ids stay as they are given.

    Args:
        path: the file, or a folder, whose files `*.json` and `*.json.gz` at any depth are taken in
            the order of their names; one of them is in memory at a time.
        keep_misplaced: as in `Questions`.

    Returns:
        `Questions`. Reading them raises a ValueError naming file and place if it is not such a
        file.

    Raises:
        ValueError: a folder has no such file.
        FileNotFoundError: there is no such file.

    Example:
        >>> squad_file("train-v2.0.json")
        Traceback (most recent call last):
        FileNotFoundError: train-v2.0.json: there is no such file or folder.
    """
    name, files = text_files(path, endings=SQUAD_ENDINGS)
    return Questions(
        f"squad:{name}", lambda: (q for file in files for q in _questions(file)), keep_misplaced
    )


def _questions(file: Path) -> Iterator[Question]:
    data = _load(file)
    for i, article in enumerate(_get(data, "data", list, f"{file}")):
        where = f"{file}, data[{i}]"
        for j, paragraph in enumerate(_get(article, "paragraphs", list, where)):
            inside = f"{where}.paragraphs[{j}]"
            context = _get(paragraph, "context", str, inside)
            for k, qa in enumerate(_get(paragraph, "qas", list, inside)):
                yield _question(qa, context, f"{inside}.qas[{k}]")


def _question(qa: Any, context: str, where: str) -> Question:
    answers = []
    if not (isinstance(qa, dict) and qa.get("is_impossible")):
        for n, answer in enumerate(_get(qa, "answers", list, where)):
            text = _get(answer, "text", str, f"{where}.answers[{n}]")
            start = _get(answer, "answer_start", int, f"{where}.answers[{n}]")
            answers.append(Answer(text, start))
    return Question(
        str(_get(qa, "id", str | int, where)),
        _get(qa, "question", str, where),
        context,
        tuple(dict.fromkeys(answers)),
    )


def _load(path: Path) -> Any:
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file.")
    if not path.is_file():
        raise ValueError(
            f"{path} can be read only once, but questions are read again and again: write them "
            "into a file first."
        )
    content = path.read_bytes()
    try:
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        return json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}: byte {error.start + 1} is not valid UTF-8; convert the file to UTF-8."
        ) from None
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{path}, line {error.lineno}: not JSON, as SQuAD's files are ({error.msg} at column "
            f"{error.colno})."
        ) from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: JSON that cannot be read ({error}).") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(
            f"{path}: the gzip data is damaged ({error}); compress it again."
        ) from error


def _get(record: Any, name: str, kind: Any, where: str) -> Any:
    if not isinstance(record, dict) or name not in record:
        raise ValueError(f"{where}: there is no {name!r}; is it a file in the format of SQuAD?")
    value = record[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        wanted = {list: "a list", str: "a text", int: "a number"}.get(kind, "a text or a number")
        raise ValueError(f"{where}: {name!r} is not {wanted}.")
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError(
                f"{where}: {name!r} holds half of a surrogate pair, which is no Unicode character."
            ) from None
    return value


def _without_nul(raw: Question) -> Question:
    if "\0" not in raw.context + raw.question:
        return raw
    return Question(
        raw.id,
        raw.question.replace("\0", " "),
        raw.context.replace("\0", " "),
        tuple(Answer(text.replace("\0", " "), start) for text, start in raw.answers),
    )


def _checked(raw: Question, report: QuestionReport) -> Question:
    """The question with the answers that are right, and the texts of all that are not blank."""
    answers, texts = [], []
    for answer in raw.answers:
        if not answer.text.strip():
            report.answers_dropped["blank"] += 1
            continue
        texts.append(answer.text)
        if answer.start >= 0 and raw.context.startswith(answer.text, answer.start):
            answers.append(answer)
        else:
            report.answers_dropped["not at its offset"] += 1
    return Question(raw.id, raw.question, raw.context, tuple(answers), tuple(dict.fromkeys(texts)))
