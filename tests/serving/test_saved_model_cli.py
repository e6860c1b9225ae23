"""TensorFlow's own command shows and runs every signature, by the commands of the page."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import small_exports
from small_exports import DOCUMENTED, signatures_of

PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
(BLOCK,) = re.findall(r"```sh no-run[^\n]*\n([^`]*cli\(\)[^`]*)```", PAGE)
FUNCTION = re.search(r"cli\(\) \{.*?\n\}\n", BLOCK, re.S)[0]
LINES = BLOCK.replace(FUNCTION, "").replace("\\\n", " ").splitlines()
RUNS = [shlex.split(line)[1:] for line in LINES if line.startswith("cli ")]
FOLDER = re.compile(r"saved_models/(\w+)/1")

# What the page's function does, for one command after the other.
PROGRAM = """
import json, sys, tensorflow_text
from tensorflow.python.tools.saved_model_cli import main
for arguments in json.load(sys.stdin):
    sys.argv = ["saved_model_cli", *arguments]
    print("=====")
    try:
        main()
    except SystemExit as end:
        assert not end.code, (arguments, end.code)
"""


def environment() -> dict[str, str]:
    """The commands of this environment are found first."""
    return os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def argument(arguments: list[str], flag: str) -> str:
    return arguments[arguments.index(flag) + 1]


def model_of(arguments: list[str]) -> str:
    return FOLDER.fullmatch(argument(arguments, "--dir"))[1]


def signature_of(arguments: list[str]) -> str:
    return argument(arguments, "--signature_def")


def on_a_small_export(arguments: list[str]) -> list[str]:
    return [FOLDER.sub(lambda found: exported(found[1]), argument) for argument in arguments]


def exported(model: str) -> str:
    return str(small_exports.export_of_all(DOCUMENTED[model]))


def outputs_of(model: str, signature: str) -> set[str]:
    function = signatures_of(DOCUMENTED[model])[signature]
    return set(function.get_concrete_function().structured_outputs)


def shown_outputs(text: str) -> set[str]:
    return set(re.findall(r"^Result for output key (\w+):$", text, re.M))


def test_every_signature_is_run_with_all_of_its_inputs():
    shown = {
        (model_of(run), signature_of(run)): run[run.index("--input_exprs") + 1] for run in RUNS
    }
    assert len(shown) == len(RUNS)
    for model, kind in DOCUMENTED.items():
        for name, function in signatures_of(kind).items():
            pairs = (part.split("=", 1) for part in shown.pop((model, name)).split(";"))
            found = {key: ast.literal_eval(value) for key, value in pairs}
            assert found.keys() == {spec.name for spec in function.input_signature}
            assert all(isinstance(values, list) for values in found.values())
    assert not shown


@pytest.mark.slow
@pytest.mark.parametrize("model", DOCUMENTED)
def test_the_commands_of_the_page_run(model):
    runs = [arguments for arguments in RUNS if model_of(arguments) == model]
    commands = [["show", "--dir", exported(model), "--all"], *map(on_a_small_export, runs)]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    _, all_of_it, *answers = done.stdout.split("=====\n")
    assert len(answers) == len(runs) > 0
    for arguments, answer in zip(runs, answers, strict=True):
        signature = signature_of(arguments)
        assert f"signature_def['{signature}']" in all_of_it
        assert shown_outputs(answer) == outputs_of(model, signature), answer


@pytest.mark.slow
def test_the_page_itself_can_be_pasted_into_a_shell():
    first = next(line for line in LINES if line.startswith("cli run"))
    show = next(line for line in LINES if line.startswith("saved_model_cli show"))
    script = "\n".join(["set -e", show, FUNCTION, first])
    done = subprocess.run(
        ["bash", "-c", FOLDER.sub(lambda found: shlex.quote(exported(found[1])), script)],
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    arguments = shlex.split(first)
    assert shown_outputs(done.stdout) == outputs_of(model_of(arguments), signature_of(arguments))
    for signature in signatures_of(DOCUMENTED[FOLDER.search(show)[1]]):
        assert f"signature_def['{signature}']" in done.stdout
