"""Command lines made from dataclasses: a field is a flag, its docstring the help."""

import dataclasses
import logging
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import quiet_start
from command_parser import CommandParser
from jsonargparse import Namespace

OPTIONS_FILE = "options.yaml"

Options = TypeVar("Options")


def parse(
    options_class: type[Options],
    description: str | None,
    positional: str | None = None,
) -> Options:
    """The command line as an instance of a dataclass; `--config FILE.yaml` sets fields too.

    A field ``batch_tokens`` is the flag ``--batch-tokens``; ``--print_config`` prints a YAML file
    that gives the same run, and ``--debug`` shows tracebacks. The field named by ``positional``
    stands without a flag, last. A list of texts has in its metadata how the flag takes them:
    ``{"nargs": "+"}`` for several at a time, ``{"action": "append"}`` for one each time that it is
    given.
    """
    return options_class(**_values(options_class, description, positional))


def parse_resumable(options_class: type[Options], description: str | None) -> Options:
    """The same for a class with `output` and `resume`: what is not given is as in the old run.

    Raises:
        ValueError: when there is no run to resume.
    """
    values = _values(options_class, description)
    if values["resume"]:
        if values["output"] is None:
            raise ValueError("--resume needs --output, the folder of the run to go on with.")
        file = Path(values["output"], OPTIONS_FILE)
        if not file.is_file():
            raise ValueError(
                f"{file.parent} holds no run to resume: there is no {OPTIONS_FILE} in it."
            )
        if not file.read_text(encoding="utf-8").strip():
            raise ValueError(
                f"{file} is empty: write the options that the run began with there, or train "
                "anew into another --output."
            )
        values = _values(options_class, description, config=file)
    return options_class(**values)


def _values(
    options_class: type,
    description: str | None,
    positional: str | None = None,
    config: Path | None = None,
) -> dict[str, Any]:
    parser = CommandParser(options_class, description, positional)
    parser.add_general_options()
    arguments = [] if config is None else ["--config", str(config)]
    values = parser.parse_args(arguments + sys.argv[1:]).as_dict()
    return {field.name: values[field.name] for field in dataclasses.fields(options_class)}


def write_options(options: Any, run: Path) -> None:
    """The options as a YAML file in a run's folder, under a temporary name and then renamed."""
    values = dataclasses.asdict(options)
    if "resume" in values:
        values["resume"] = False  # the file gives the run itself, not its continuation
    text = CommandParser(type(options)).dump(Namespace(**values))
    temporary = run / f"{OPTIONS_FILE}.tmp"
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, run / OPTIONS_FILE)


def run(main: Callable[[], None]) -> None:
    """Runs a command; a user's mistake is one sentence on standard error, not a traceback.

    That is shown with ``--debug``, and so are the lines that a warning comes from.
    """
    logging.getLogger("absl").setLevel(logging.ERROR)
    usual = warnings.formatwarning
    if quiet_start.DEBUG not in sys.argv:
        warnings.formatwarning = _sentence
    try:
        main()
    except BrokenPipeError:
        # The reader of our output is gone, as with `| head`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, OSError, ImportError) as error:  # the last: an extra is not installed
        if quiet_start.DEBUG in sys.argv:
            raise
        sys.exit(f"{Path(sys.argv[0]).name}: {error}")
    except KeyboardInterrupt:
        sys.exit(f"{Path(sys.argv[0]).name}: interrupted.")
    finally:
        warnings.formatwarning = usual


def _sentence(message: Warning | str, *_: Any, **__: Any) -> str:
    """A warning as it is printed: what it says, without the line of code behind it."""
    return f"{Path(sys.argv[0]).name}: {message}\n"
