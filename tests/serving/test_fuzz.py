"""Whatever is asked, every signature gives an answer, or an error that says what is wrong."""

from __future__ import annotations

import contextlib
import random

import pytest
import small_exports
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_exports import KINDS

from benchmarks import fuzz_exports

INT32 = st.integers(-(2**31), 2**31 - 1)
NUMBERS = {
    "int32": INT32,
    "float32": st.floats(width=32),  # infinities and NaN, too
    "string": st.binary(max_size=80) | st.text(max_size=40).map(lambda text: text.encode()),
}


def columns(signature: fuzz_exports.Signature, least: int = 0) -> st.SearchStrategy:
    """Requests of up to five rows."""

    def of(rows: int) -> st.SearchStrategy:
        return st.fixed_dictionaries(
            {
                name: st.lists(
                    # A random text does not end, so that few tokens must do.
                    st.integers(-(2**31), 20) if name == "max_new_tokens" else NUMBERS[kind],
                    min_size=rows,
                    max_size=rows,
                )
                for name, kind in signature.inputs.items()
            }
        )

    return st.integers(least, 5).flatmap(of)


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def signatures(kind):
    return fuzz_exports.signatures(small_exports.export_of_all(kind))


@pytest.fixture(scope="module")
def served(kind):
    with small_exports.runner().load(small_exports.export_of_all(kind)) as process:
        yield process


def assert_answers(signature, served, examples: int) -> None:
    """Every request to a signature gets an answer with its rows, all of which JSON can write."""

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(columns(signature))
    def every_request_is_answered(asked):
        rows = len(next(iter(asked.values())))
        assert fuzz_exports.faults(served.ask(signature.name, asked), rows) == []

    every_request_is_answered()


def test_every_request_is_answered(signatures, served):
    for signature in signatures:
        assert_answers(signature, served, examples=15)


@pytest.mark.slow
def test_many_requests_are_answered(signatures, served):
    for signature in signatures:
        assert_answers(signature, served, examples=500)


def test_columns_of_different_lengths_are_refused_in_a_sentence_that_names_them(signatures, served):
    for signature in signatures:
        sound = fuzz_exports.random_columns(signature.inputs, 2, random.Random(0))
        for name in signature.inputs if len(signature.inputs) > 1 else ():
            for rows in (0, 1, 3):
                wrong = sound | {name: (2 * sound[name])[:rows]}
                error = served.ask(signature.name, wrong)["error"]
                names = ", ".join(sorted(signature.inputs))
                for part in (f"{name} has {rows}", "must have as many values"):
                    assert part in error, (error, names)
        # It does not concern what is asked afterwards.
        assert fuzz_exports.faults(served.ask(signature.name, sound), 2) == []


def test_values_of_a_wrong_type_are_refused(signatures, served):
    for signature in signatures:
        for name, kind in signature.inputs.items():
            sound = fuzz_exports.random_columns(signature.inputs, 1, random.Random(0))
            wrong = {"int32": [1.5], "float32": ["a"], "string": [1]}[kind]
            assert f'input "{name}"' in served.ask(signature.name, sound | {name: wrong})["error"]


@pytest.mark.slow
def test_the_command_finds_nothing(kind, capsys):
    export = str(small_exports.export_of_all(kind))
    small_exports.runner()  # skips without a compiler
    fuzz_exports.main([export, "--texts", "500", "--requests", "200"])
    shown = capsys.readouterr().out
    assert "500 texts in" in shown and "MiB resident" in shown


class Answering:
    """Stands for a process that answers as it is told, and has the memory it is told."""

    def __init__(self, score: float, growing: int):
        self.score, self.size, self.growing = score, 2**28, growing

    def ask(self, name, columns, seconds):
        self.size += self.growing
        return {"outputs": {"score": [self.score] * len(columns["text"])}}

    def resident_bytes(self):
        return self.size


@pytest.mark.parametrize(
    ("score", "growing", "fault"),
    [(0.5, 0, None), (float("nan"), 0, "score: nan"), (0.5, 2**17, "the memory grew")],
)
def test_the_command_sees_a_fault_where_there_is_one(score, growing, fault):
    signature, process = fuzz_exports.Signature("f", {"text": "string"}), Answering(score, growing)
    with contextlib.redirect_stdout(None):
        found = fuzz_exports.fuzz(process, signature, 30, 1, 0)
        found = found or fuzz_exports.watch_memory(process, signature, 100, 1, 0)
    assert fault is None and found == [] or fault in found[0]
