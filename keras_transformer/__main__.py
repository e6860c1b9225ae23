"""Says what is installed, whether it fits together, what computes, and what the apps are."""

from __future__ import annotations

import argparse
import ast
import difflib
import os
import platform
import sys
from pathlib import Path

import keras_transformer
from keras_transformer.installation import OPTIONAL, SHOWN, Installation, examine

APPS = Path(__file__).parents[1] / "apps"


def main() -> None:
    """The command `python -m keras_transformer`."""
    parser = argparse.ArgumentParser("python -m keras_transformer", description=__doc__)
    parser.add_argument("--version", action="store_true", help="Say the version, and nothing else.")
    parser.add_argument(
        "--check",
        action="store_true",
        help="Say only what does not fit together; the exit status is 1 if anything does not.",
    )
    options, unknown = parser.parse_known_args()
    if unknown:
        close = difflib.get_close_matches(unknown[0], ("--version", "--check", "--help"), n=1)
        meant = f"; did you mean {close[0]}?" if close else "."
        parser.error(f"there is no option {unknown[0]}{meant}")
    if options.version:
        print(f"keras_transformer {keras_transformer.__version__}")
        return
    found = examine()
    if options.check:
        print_problems(found)
        sys.exit(bool(found.problems))
    print_overview(found)


def print_overview(found: Installation) -> None:
    """Prints everything there is to know at first."""
    where = Path(keras_transformer.__file__).parent
    print(f"keras_transformer {keras_transformer.__version__}  in {where}\n")
    print_rows(
        [
            ("Python", platform.python_version()),
            *((name, found.versions[name] or "not installed") for name in SHOWN),
            *((name, found.versions[name] or "not installed (optional)") for name in OPTIONAL),
        ]
    )
    print()
    print_rows([("devices", devices(found))])
    print()
    print_problems(found)
    print()
    print_apps(APPS)


def devices(found: Installation) -> str:
    """What TensorFlow computes on."""
    if found.gpus is None:
        return "not known: TensorFlow could not be tried"
    return ", ".join([*found.gpus, f"CPU, {os.cpu_count()} cores"])


def print_problems(found: Installation) -> None:
    """Prints what does not fit together, or that everything does."""
    if not found.problems:
        print("Everything fits together: it was imported, and it computes.")
    for problem in found.problems:
        print(f"PROBLEM: {problem}")


def print_apps(folder: Path) -> None:
    """Prints the commands of a folder, each with its first sentence."""
    scripts = {path.stem: _sentence(path) for path in sorted(folder.glob("*.py"))}
    if not any(scripts.values()):
        print("The commands that train, translate and export are in the repository's folder apps/.")
        return
    print("Commands, each with --help; those that train learn something small without arguments:\n")
    print_rows([(f"apps/{name}.py", text) for name, text in scripts.items() if text])


def print_rows(rows: list[tuple[str, str]]) -> None:
    """Prints names, and what is said of them, in two columns.

    >>> print_rows([("a", "1"), ("bcd", "2")])
      a    1
      bcd  2
    """
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        print(f"  {name:<{width}}  {text}")


def _sentence(path: Path) -> str | None:
    """The first sentence of a script; None for a module that is none."""
    source = path.read_text(encoding="utf-8")
    if 'if __name__ == "__main__"' not in source:
        return None
    text = ast.get_docstring(ast.parse(source)) or ""
    return " ".join(text.partition("\n\n")[0].split())


if __name__ == "__main__":
    main()
