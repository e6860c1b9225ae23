"""What the command that translates reads from standard input."""

import gzip
import io
import sys

import command_line
import pytest
import tensorflow as tf
import translate

from keras_transformer.tasks import Translation
from keras_transformer.tasks.answers import NOTHING


def in_brackets(texts: list[str]) -> list[Translation]:
    return [Translation([f"<{text}>"], [0.0], False) for text in texts]


def standard_input(data: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)))


def echoed(monkeypatch, capsys, data: bytes) -> list[str]:
    """The lines that come out where every translation is the text itself in brackets."""

    monkeypatch.setattr(translate, "open_model", lambda options: in_brackets)
    monkeypatch.setattr(sys, "stdin", standard_input(data))
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


def test_a_saved_model_that_does_not_translate_is_refused(monkeypatch, tmp_path):
    class Upper(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
        def upper(self, text):
            return {"text": tf.strings.upper(text)}

    module = Upper()
    tf.saved_model.save(module, str(tmp_path / "1"), signatures={"n_best": module.upper})
    monkeypatch.setattr(sys, "argv", ["translate.py", "--model", str(tmp_path)])
    with pytest.raises(SystemExit, match="has no signature n_best of a translator.* it has n_best"):
        command_line.run(translate.main)


@pytest.mark.parametrize(
    ("n_best", "shown"),
    [(1, "A\n"), (2, "1\t0.0000\tA\n"), (0, "n_best must be at least 1, not 0"), (3, "gives 2 tr")],
)
def test_a_saved_model_gives_as_many_translations_as_it_has(
    monkeypatch, capsys, tmp_path, n_best, shown
):
    class Upper(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
        def upper(self, text):
            found = tf.stack([tf.strings.upper(text), tf.fill(tf.shape(text), "")], 1)
            scores = tf.where(found == "", NOTHING, tf.zeros([1, 2]))
            scores = tf.ensure_shape(scores, [None, 2])
            return {"translations": found, "scores": scores, "truncated": text == ""}

    module = Upper()
    tf.saved_model.save(module, str(tmp_path / "1"), signatures={"n_best": module.upper})
    monkeypatch.setattr(sys, "stdin", standard_input(b"a\n"))
    arguments = ["--model", str(tmp_path), "--n-best", str(n_best)]
    monkeypatch.setattr(sys, "argv", ["translate.py", *arguments])
    if shown.endswith("\n"):
        command_line.run(translate.main)
        assert capsys.readouterr().out == shown
    else:
        with pytest.raises(SystemExit, match=shown):
            command_line.run(translate.main)


@pytest.mark.parametrize(("file", "sizes"), [(None, [1, 1, 1]), ("lines.txt", [3])])
def test_at_a_terminal_only_typed_lines_are_answered_one_by_one(
    monkeypatch, capsys, tmp_path, file, sizes
):
    found = []

    def answer(texts):
        found.append(len(texts))
        return in_brackets(texts)

    data = b"a\nb\nc\n"
    (tmp_path / "lines.txt").write_bytes(data)
    terminal = standard_input(data)
    terminal.isatty = lambda: True
    monkeypatch.setattr(translate, "open_model", lambda options: answer)
    monkeypatch.setattr(sys, "stdin", terminal)
    monkeypatch.setattr(sys, "argv", ["translate.py", *([str(tmp_path / file)] if file else [])])
    command_line.run(translate.main)
    assert found == sizes and capsys.readouterr().out == "<a>\n<b>\n<c>\n"


def test_folders_without_a_model_are_refused_by_what_they_lack(monkeypatch, tmp_path):
    (tmp_path / "stopped" / "checkpoints").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    for name, message in (
        ("none", r"There is no folder .*none: .*\(Nothing is downloaded\.\)"),
        ("stopped", "The run in .*stopped is not over: go on with it by --resume"),
        ("empty", "empty holds no model: there is no config.json in it"),
    ):
        monkeypatch.setattr(sys, "argv", ["translate.py", "--model", str(tmp_path / name)])
        with pytest.raises(SystemExit, match=message):
            command_line.run(translate.main)
