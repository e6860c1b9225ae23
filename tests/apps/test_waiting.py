"""What is shown while something takes long."""

import io
import sys

import keras
import numpy as np
import pytest
import text_lines
import waiting
from rich.console import Console
from rich.progress import Progress

from keras_transformer.data import TextPairs
from keras_transformer.training import StepLimit, TrainingProgress, adamw
from keras_transformer.training.terminal import Terminal


@pytest.fixture
def terminal(monkeypatch):
    """A terminal; what it was sent."""
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=100, color_system=None)
    monkeypatch.setattr(waiting, "CONSOLE", console)
    return shown


def slow(items):
    for item in items:
        yield item
        waiting.time.now += 1.0


@pytest.fixture
def clock(monkeypatch):
    """A time that goes on when told."""

    class Clock:
        now = 0.0

        def monotonic(self):
            return self.now

    monkeypatch.setattr(waiting, "time", Clock())


def test_nothing_is_shown_where_the_output_is_no_terminal(capsys):
    with waiting.waiting("Reading", total=3) as bar:
        assert list(bar.count(range(3))) == [0, 1, 2]
        bar.advance(2)
    waiting.check(TextPairs("two", lambda: iter([("a", "b")])))
    assert capsys.readouterr() == ("", "")


def test_a_file_is_no_terminal_even_if_colours_are_wanted(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with waiting.waiting("Reading", console=Terminal()) as bar:
        bar.advance()
    assert capsys.readouterr() == ("", "")


def test_what_goes_to_a_file_meanwhile_is_not_shown_above_a_bar(terminal, capsys):
    with waiting.waiting("Scoring"):
        print("here")
        print("a warning", file=sys.stderr)  # of which the output is no terminal: `2> errors.log`
    assert "here" in terminal.getvalue() and "a warning" not in terminal.getvalue()
    assert capsys.readouterr().err == "a warning\n"


def test_a_terminal_shows_what_is_done_and_is_left_clean(terminal, clock):
    with waiting.waiting("Scoring [x]", total=1000) as bar:
        assert list(slow(bar.count(range(500)))) == list(range(500))
    shown = terminal.getvalue()
    assert "Scoring [x]" in shown and "50%" in shown
    assert shown.endswith("\x1b[2K")  # the line is erased


def test_without_a_total_it_shows_how_many(terminal, clock):
    pairs = TextPairs("texts.tsv", lambda: slow((f"a{n}", "b") for n in range(1234)))
    assert waiting.check(pairs).kept == 1234
    shown = terminal.getvalue()
    assert "Reading texts.tsv" in shown and "1,234" in shown and "%" not in shown


def test_an_empty_source_is_refused_as_without_a_bar(terminal):
    with pytest.raises(ValueError, match="there is nothing to work with"):
        waiting.check(TextPairs("none", lambda: iter([])))


def test_scores_within_a_training_are_shown_below_its_bar(terminal):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(adamw(1e-3), loss="mse")
    data = np.ones((4, 2), "float32"), np.ones((4, 1), "float32")

    class Score(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            with waiting.waiting("Scoring", total=4) as bar:
                self.model.evaluate(*data, batch_size=1, verbose=0, callbacks=[bar.callback()])
                bars.append(bar)

    bars = []
    progress = TrainingProgress(limits=(StepLimit(2),), console=waiting.CONSOLE)
    model.fit(*data, epochs=2, verbose=0, callbacks=[Score(), progress])
    assert [bar._done for bar in bars] == [4, 4]
    assert isinstance(bars[0]._bar, Progress) and "Scoring" in terminal.getvalue()


def test_lines_are_counted_where_their_answers_are_not_seen(monkeypatch, clock, capsys):
    shown = io.StringIO()
    console = Console(file=shown, stderr=True, force_terminal=True, width=100, color_system=None)
    monkeypatch.setattr(waiting, "ERRORS", console)
    for chunk in text_lines.in_chunks(slow(map(str, range(20))), "a.txt", 8):
        print(*chunk)
    assert "Lines 20" in " ".join(shown.getvalue().split())
    first, second, third = capsys.readouterr().out.splitlines()
    assert (first, third) == ("0 1 2 3 4 5 6 7", "16 17 18 19")


def test_lines_are_not_counted_among_their_answers(monkeypatch, terminal, capsys):
    assert list(text_lines.in_chunks("abc", "a.txt", 2)) == [["a", "b"], ["c"]]
    assert terminal.getvalue() == "" and capsys.readouterr() == ("", "")
