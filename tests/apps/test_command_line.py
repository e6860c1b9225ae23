"""Command lines made from dataclasses."""

import ast
import importlib
import os
import re
import subprocess
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import command_line
import pytest
import run_folder
from translate_options import TranslateTrainOptions

LOG_LEVEL = "TF_CPP_MIN_LOG_LEVEL"


@dataclass
class Options:
    """Do something."""

    batch_tokens: int = 4096
    """Most tokens of a batch."""
    learning_rate: float | None = None
    """Peak rate."""
    kind: Literal["small", "large"] = "small"
    """Size."""
    reverse: bool = False
    """Whether to go the other way."""
    names: list[str] = field(default_factory=list)
    """Some names."""
    model: dict[str, Any] = field(default_factory=dict)
    """Fields that differ."""


@dataclass
class FileOptions:
    """Read a file."""

    file: str | None = None
    """The file."""
    beam_size: int = 4
    """Beams."""


@pytest.fixture
def parse(monkeypatch):
    def parse(*arguments, options_class=Options, **keywords):
        monkeypatch.setattr(sys, "argv", ["program.py", *map(str, arguments)])
        return command_line.parse(options_class, "What it does.", **keywords)

    return parse


def test_no_arguments_give_the_defaults(parse):
    assert parse() == Options()
    assert parse(options_class=TranslateTrainOptions) == TranslateTrainOptions()


def test_a_field_is_a_flag_with_hyphens(parse):
    model = '{"hidden_size": 16, "norm": "rms_norm"}'
    found = parse(
        "--batch-tokens", 12, "--learning-rate=1e-3", "--kind", "large", "--reverse",
        "--names", '["a", "b"]', "--model", model,
    )  # fmt: skip
    assert found == Options(
        12, 1e-3, "large", True, ["a", "b"], {"hidden_size": 16, "norm": "rms_norm"}
    )
    assert parse("--reverse", "--no-reverse").reverse is False


def test_one_field_may_stand_without_a_flag(parse):
    read = {"options_class": FileOptions, "positional": "file"}
    assert parse(**read) == FileOptions()
    assert parse("--beam-size", 2, "lines.txt", **read) == FileOptions("lines.txt", 2)


def test_the_printed_config_gives_the_same_run(parse, capsys, tmp_path):
    flags = ["--batch-tokens", 12, "--model", '{"hidden_size": 16}', "--reverse"]
    with pytest.raises(SystemExit) as end:
        parse(*flags, "--print_config")
    assert end.value.code in (0, None)
    config = tmp_path / "config.yaml"
    config.write_text(capsys.readouterr().out)
    assert parse("--config", config) == parse(*flags)
    assert parse("--config", config, "--batch-tokens", 7).batch_tokens == 7


def test_the_written_options_give_the_same_run(parse, tmp_path):
    options = TranslateTrainOptions(
        source="a b.txt", target="ü: #1.txt", model={"hidden_dropout": 0.3}, max_steps=9,
        schedule="cosine", ema=0.0, reverse=True, learning_rate=1e-4, bleu_tokenize="zh",
    )  # fmt: skip
    command_line.write_options(options, tmp_path)
    again = parse("--config", tmp_path / "options.yaml", options_class=TranslateTrainOptions)
    assert again == options
    assert [path.name for path in tmp_path.iterdir()] == ["options.yaml"]


def test_help_says_what_each_flag_is_for(parse, capsys):
    with pytest.raises(SystemExit):
        parse("--help")
    shown = capsys.readouterr().out
    assert "What it does." in shown and "--batch-tokens" in shown
    assert "Most tokens of a batch." in shown and "(default: 4096)" in shown
    assert "--kind {small,large}" in shown and "usage: program.py [OPTIONS]\n" in shown


@dataclass
class Reading:
    """What to read. And more about it."""

    file: str = "a"
    """The file."""


@dataclass
class FastReading(Reading):
    """How to read fast."""

    file: str = "b"
    lines: int = 3
    """Lines at once."""


@dataclass
class Writing:
    """Where to write."""

    output: str = "c"
    """The folder."""


@dataclass
class GroupedOptions(Writing, FastReading):
    """Copies texts."""


def test_the_help_has_groups_in_the_order_of_the_dataclasses(parse, capsys):
    with pytest.raises(SystemExit):
        parse("--help", options_class=GroupedOptions)
    shown = capsys.readouterr().out
    places = [
        shown.index(part)
        for part in ("\nWhat to read:\n", "--file", "--lines", "\nWhere to write:\n", "--output")
    ]
    assert places == sorted(places) and "How to read fast" not in shown


SCRIPTS = sorted(
    path
    for path in Path(command_line.__file__).parent.glob("*.py")
    if "__main__" in path.read_text()
)


def first_that_brings_tensorflow(script: Path) -> str:
    """Of the modules that a script imports, and those that they import."""
    for node in ast.parse(script.read_text()).body:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        names = [node.module] if isinstance(node, ast.ImportFrom) else [n.name for n in node.names]
        for name in names:
            if name.partition(".")[0] in ("command_line", "tensorflow", "keras_transformer"):
                return name
            if (own := script.with_name(f"{name}.py")).is_file():
                if found := first_that_brings_tensorflow(own):
                    return found
    return ""


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_command_has_a_complete_help_and_begins_quietly(script, monkeypatch, capsys):
    assert first_that_brings_tensorflow(script) == "command_line"
    monkeypatch.setattr(sys, "argv", [script.name, "--help"])
    with pytest.raises(SystemExit):
        importlib.import_module(script.stem).main()
    shown = capsys.readouterr().out
    flags = re.findall(r"^  ((?:-h, )?--\S.*)\n((?: {10,}.*\n)*)", shown, re.M)
    assert len(flags) > 4
    for first_line, rest in flags:
        assert rest or re.search(r"\S {2,}\S", first_line), f"{first_line} is not explained"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--batch-toknes", 3], "there is no option --batch-toknes; did you mean --batch-tokens?"),
        (["--batch_tokens=3"], "there is no option --batch_tokens; did you mean --batch-tokens?"),
        (["--nmaes", "a"], "there is no option --nmaes; did you mean --names?"),
        (["-nmaes", "a"], "there is no option -nmaes; did you mean --names?"),
        (["--colour", "red"], "there is no option --colour.\n"),
        (["--batch-tokens"], "--batch-tokens needs a value: a whole number."),
        (["--batch-tokens", "many"], "--batch-tokens takes a whole number, not 'many'."),
        (["--kind", "huge"], "--kind takes one of small, large, not 'huge'."),
        (["--learning-rate", "fast"], "--learning-rate takes a number, not 'fast'."),
        (["--model", "dropout=0.3"], "--model takes a JSON object, "),
        (["--config", "none.yaml"], "--config: there is no file '"),
        (["--config"], "--config needs a value: a file."),
        (["stray"], "nothing is known to do with stray: values follow a flag."),
    ],
)
def test_a_wrong_command_line_is_refused_and_named(parse, capsys, arguments, words):
    with pytest.raises(SystemExit) as end:
        parse(*arguments)
    shown = capsys.readouterr().err
    assert end.value.code == 2
    assert words in shown and "Traceback" not in shown


def test_an_unknown_field_in_a_config_is_refused(parse, capsys, tmp_path):
    (tmp_path / "config.yaml").write_text("batch_toknes: 3\n")
    with pytest.raises(SystemExit) as end:
        parse("--config", tmp_path / "config.yaml")
    assert end.value.code == 2
    said = "there is no option batch_toknes; did you mean batch_tokens?"
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("error", [ValueError, FileNotFoundError, ImportError])
def test_what_the_user_did_wrong_is_one_sentence(error, monkeypatch):
    def main():
        raise error("lines.txt: there is no such file.")

    monkeypatch.setattr(sys, "argv", ["/somewhere/program.py"])
    with pytest.raises(SystemExit) as end:
        command_line.run(main)
    assert end.value.code == "program.py: lines.txt: there is no such file."
    monkeypatch.setattr(sys, "argv", ["/somewhere/program.py", "--debug"])
    with pytest.raises(error):
        command_line.run(main)


def test_what_we_did_wrong_keeps_its_traceback():
    def main():
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        command_line.run(main)


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error():
    code = (
        "import sys, command_line\n"
        "def main():\n"
        "    for number in range(100_000): print(number)\n"
        "    sys.stdout.flush()\n"
        "command_line.run(main)\n"
    )
    folder = Path(command_line.__file__).parent
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout.readline() == b"0\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"source": "a.txt"}, "Give both --source and --target, or neither"),
        ({"valid_target": "a.txt"}, "Give both --valid-source and --valid-target, or neither"),
        ({"dataset": "tsv:a.tsv", "schedule": "linear"}, "give --max-steps"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        TranslateTrainOptions(**options)


def test_a_resumed_run_is_checked_with_its_own_options(monkeypatch, tmp_path):
    first = TranslateTrainOptions(schedule="cosine", max_steps=9, output=str(tmp_path))
    command_line.write_options(first, tmp_path)
    arguments = ["--resume", "--schedule", "linear", "--output", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["program.py", *arguments])
    found = command_line.parse_resumable(TranslateTrainOptions, None)
    assert (found.schedule, found.max_steps, found.resume) == ("linear", 9, True)
    (tmp_path / command_line.OPTIONS_FILE).write_text("\n")
    with pytest.raises(ValueError, match="options.yaml is empty: write the options"):
        command_line.parse_resumable(TranslateTrainOptions, None)


def test_a_folder_that_cannot_be_written_is_one_sentence(monkeypatch):
    def main():
        raise PermissionError(13, "Permission denied", "runs")

    monkeypatch.setattr(sys, "argv", ["program.py"])
    with pytest.raises(SystemExit, match=r"^program.py: .*Permission denied: 'runs'$"):
        command_line.run(main)


def test_every_training_refuses_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    options = SimpleNamespace(output=tmp_path / "file" / "run", export=tmp_path, resume=False)
    with pytest.raises(ValueError, match="--output .*run cannot be made: .*file is not a folder"):
        run_folder.check_folders(options)


def test_a_model_without_checkpoints_is_not_written_over_by_a_run_that_is_resumed(tmp_path):
    options = SimpleNamespace(output=tmp_path, export=tmp_path, resume=True)
    run_folder.check_folders(options)  # killed before its first checkpoint
    (tmp_path / "model.weights.h5").touch()
    with pytest.raises(ValueError, match="holds a model but no checkpoint to go on from"):
        run_folder.check_folders(options)
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "epoch-0001-batch-00000000.npz").touch()
    run_folder.check_folders(options)


def run_quietly(code: str, *arguments: str) -> subprocess.CompletedProcess:
    """A process in the folder of the commands, with the usual settings."""
    environment = {name: value for name, value in os.environ.items() if name != LOG_LEVEL}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        check=False,
        cwd=Path(command_line.__file__).parent,
        env=environment | {"PYTHONPATH": str(Path(command_line.__file__).parents[1])},
        capture_output=True,
        encoding="utf-8",
    )


def test_tensorflow_does_not_greet_and_what_others_say_is_heard():
    code = (
        "import command_line, os, sys\n"
        "import tensorflow as tf, quiet_start\n"
        "with quiet_start.without_greeting():\n"
        "    os.write(2, b'WARNING: All log messages before absl::InitializeLog() is called\\n')\n"
        "    os.write(2, b'I0000 00:00:1796055494.234118 1 port.cc:153] oneDNN operations\\n')\n"
        "    print('a warning of others', file=sys.stderr)\n"
        "print(float(tf.reduce_sum(tf.ones([2, 2]))))\n"
    )
    done = run_quietly(code)
    assert done.stdout == "4.0\n" and done.stderr == "a warning of others\n"


def test_a_tensorflow_that_cannot_be_imported_is_a_sentence(tmp_path):
    (tmp_path / "tensorflow.py").write_text("raise ImportError('undefined symbol: abc\\nmore')")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import command_line"
    done = run_quietly(code)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "TensorFlow cannot be imported (ImportError: undefined symbol: abc)" in done.stderr
    assert "python -m keras_transformer --check" in done.stderr


@pytest.mark.parametrize("debug", [False, True])
def test_a_warning_is_a_sentence_without_the_line_of_code(monkeypatch, debug):
    monkeypatch.setattr(sys, "argv", ["apps/program.py", *["--debug"] * debug])
    usual, shown = warnings.formatwarning, []
    command_line.run(
        lambda: shown.append(warnings.formatwarning("Left out.", UserWarning, "a.py", 3, "x = 1"))
    )
    assert ("a.py" in shown[0]) == debug
    assert debug or shown == ["program.py: Left out.\n"]
    assert warnings.formatwarning is usual
