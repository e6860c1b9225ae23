"""What the command that translates reads from standard input."""

import gzip
import io
import sys

import command_line
import pytest
import translate

from keras_transformer.tasks import Translation


def echoed(monkeypatch, capsys, data: bytes) -> list[str]:
    """The lines that come out where every translation is the text itself in brackets."""

    def answer(texts):
        return [Translation([f"<{text}>"], [0.0], False) for text in texts]

    monkeypatch.setattr(translate, "open_model", lambda options: answer)
    stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)))
    monkeypatch.setattr(sys, "stdin", stream)
    monkeypatch.setattr(sys, "argv", ["translate.py"])
    command_line.run(translate.main)
    return capsys.readouterr().out.split("\n")[:-1]


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input_is_read_like_a_file(monkeypatch, capsys, packed):
    data = "\ufeffone\r\n\ntwo\u2028three\nfour".encode()
    data = gzip.compress(data) if packed else data
    shown = echoed(monkeypatch, capsys, data)
    assert shown == ["<one>", "<>", "<two three>", "<four>"]


def test_every_line_comes_out_in_its_place_however_many_are_blank(monkeypatch, capsys):
    """More lines than are translated at a time, a quarter of them blank in some way."""
    blanks = ["", " ", "\t", "\u3000"]
    lines = [blanks[n % 16 // 4] if n % 4 == 3 else f"line {n}" for n in range(1300)]
    shown = echoed(monkeypatch, capsys, "".join(line + "\n" for line in lines).encode())
    assert shown == [f"<{line}>" for line in lines]


def test_bad_utf8_in_standard_input_is_refused_with_its_line(monkeypatch, capsys):
    with pytest.raises(SystemExit, match="standard input, line 2: byte 0xe9 at position 4"):
        echoed(monkeypatch, capsys, b"fine\ncaf\xe9\n")
