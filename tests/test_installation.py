"""`python -m keras_transformer`: what is installed, what does not fit, what the commands are."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import keras_transformer
from keras_transformer import __main__ as command
from keras_transformer import installation
from keras_transformer.installation import examine

ROOT = Path(keras_transformer.__file__).parents[1]
NEEDS = ["tensorflow<2.22,>=2.20", "rich>=13", 'torch==2.13.0; extra == "parity"']


@pytest.fixture
def installed(monkeypatch):
    """Packages as a dictionary has them, which the package needs some of."""
    packages = {"tensorflow": "2.21.0", "tensorflow-text": "2.21.1", "rich": "15.0.0"}
    monkeypatch.setattr(installation, "version", packages.get)
    monkeypatch.setattr(installation.importlib.metadata, "requires", lambda name: NEEDS)
    for name in ("TF_USE_LEGACY_KERAS", "KERAS_BACKEND"):
        monkeypatch.delenv(name, raising=False)
    return packages


def test_what_fits_together_is_no_problem(installed):
    found = examine(try_it=False)
    assert found.problems == [] and found.gpus is None
    assert found.versions["tensorflow"] == "2.21.0" and found.versions["torch"] is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tensorflow-cpu": "2.21.0"}, "tensorflow and tensorflow-cpu are both installed"),
        ({"tensorflow-text": "2.20.0"}, 'tensorflow-text is 2.20.0 .*"tensorflow-text==2.21.*"'),
        ({"tensorflow-serving-api": "2.19.1"}, "tensorflow-serving-api is 2.19.1 and tensorflow"),
        ({"tensorflow": "2.22.0"}, "tensorflow is 2.22.0, but <2.22,>=2.20 is needed"),
        ({"tensorflow": None}, "tensorflow is not installed: `pip install"),
        ({"rich": "12.1"}, "rich is 12.1, but >=13 is needed"),
    ],
)
def test_what_does_not_fit_is_said_with_what_would(installed, changes, words):
    installed.update(changes)
    problems = examine(try_it=False).problems
    assert len([p for p in problems if re.search(words, p)]) == 1, problems


def test_another_build_of_tensorflow_in_its_place_will_do(installed):
    installed["tensorflow-cpu"] = installed.pop("tensorflow")
    assert examine(try_it=False).problems == []
    installed["tensorflow-cpu"] = "2.19.0"
    problems = examine(try_it=False).problems
    assert any("tensorflow is 2.19.0, but" in problem for problem in problems)


@pytest.mark.parametrize(
    ("name", "value"), [("TF_USE_LEGACY_KERAS", "1"), ("KERAS_BACKEND", "torch")]
)
def test_settings_that_give_another_keras_are_named(installed, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    (problem,) = examine(try_it=False).problems
    assert problem.startswith(name)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise ImportError('undefined symbol: abc')", "ImportError: undefined symbol: abc"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", "ended with SIGILL"),
    ],
)
def test_a_tensorflow_that_does_not_work_is_a_problem(installed, monkeypatch, capsys, code, words):
    monkeypatch.setattr(installation, "TRIAL", code)
    found = examine()
    (problem,) = found.problems
    assert words in problem and found.gpus is None
    command.print_overview(found)
    shown = capsys.readouterr().out
    assert f"PROBLEM: {problem}" in shown and "devices  not known" in shown


def test_a_gpu_that_is_not_used_is_a_problem(installed, monkeypatch):
    monkeypatch.setattr(installation, "TRIAL", "print([])")
    monkeypatch.setattr(installation.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(installation.os.path, "exists", lambda path: True)
    (problem,) = examine().problems
    assert "TensorFlow sees no GPU" in problem


def test_this_installation_says_its_version_and_its_commands():
    def run(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "keras_transformer", *arguments],
            check=False, cwd=ROOT, capture_output=True, encoding="utf-8",
        )  # fmt: skip
        assert done.stderr == ""
        return done

    assert run("--version").stdout == f"keras_transformer {keras_transformer.__version__}\n"
    shown = run().stdout
    for path in (ROOT / "apps").glob("*.py"):
        is_command = "__main__" in path.read_text(encoding="utf-8")
        assert (f"  apps/{path.name} " in shown) == is_command
    assert "CPU, " in shown


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("--chek", "there is no option --chek; did you mean --check?"),
        ("--all", "no option --all.\n"),
    ],
)
def test_a_wrong_option_is_named_with_the_right_one(monkeypatch, capsys, given, words):
    monkeypatch.setattr(sys, "argv", ["keras_transformer", given])
    with pytest.raises(SystemExit, match="2"):
        command.main()
    assert words in capsys.readouterr().err


def test_asking_does_without_what_may_be_broken(tmp_path):
    """Even where TensorFlow and Keras cannot be imported."""
    for name in ("tensorflow", "keras"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('broken')")
    done = subprocess.run(
        [sys.executable, "-m", "keras_transformer", "--check"],
        check=False, cwd=ROOT, capture_output=True, encoding="utf-8",
        env={"PYTHONPATH": str(tmp_path), "PATH": ""},
    )  # fmt: skip
    assert done.returncode == 1 and done.stderr == ""
    assert "PROBLEM: It does not work when tried: ImportError: broken" in done.stdout
