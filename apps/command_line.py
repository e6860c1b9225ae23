"""Command lines made from dataclasses: a field is a flag, its docstring the help."""

import dataclasses
import logging
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import docstring_parser
from jsonargparse import ActionConfigFile, ActionYesNo, ArgumentParser, Namespace

# TensorFlow greets with a screenful about the CPU; it reads this when it is imported.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

OPTIONS_FILE = "options.yaml"

Options = TypeVar("Options")


def parse(
    options_class: type[Options],
    description: str | None,
    positional: str | None = None,
) -> Options:
    """The command line as an instance of a dataclass; `--config FILE.yaml` sets fields too.

    A field ``batch_tokens`` is the flag ``--batch-tokens``; ``--print_config`` prints a YAML file
    that gives the same run. The field named by ``positional`` stands without a flag, last. A list
    of texts has in its metadata how the flag takes them: ``{"nargs": "+"}`` for several at a time,
    ``{"action": "append"}`` for one each time that it is given.
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
        values = _values(options_class, description, config=file)
    return options_class(**values)


def _values(
    options_class: type,
    description: str | None,
    positional: str | None = None,
    config: Path | None = None,
) -> dict[str, Any]:
    parser = _Parser(description=description)
    helps = {
        param.arg_name: param.description
        for part in reversed(options_class.__mro__)  # its own words come before its bases'
        if dataclasses.is_dataclass(part)
        for param in docstring_parser.parse_from_object(part).params
    }
    _add_flags(parser, options_class, helps, positional)
    parser.add_argument("--config", action=ActionConfigFile, help="YAML file of options.")
    arguments = [] if config is None else ["--config", str(config)]
    values = parser.parse_args(arguments + sys.argv[1:]).as_dict()
    values.pop("config")
    return values


class _Parser(ArgumentParser):
    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        message = re.sub(r'Parser key "(\w+)":\s*', _flag_of, message)
        print(f"{self.prog}: {message}\nSee {self.prog} --help.", file=sys.stderr)
        sys.exit(2)


def _flag_of(key: re.Match[str]) -> str:
    return f"--{key[1].replace('_', '-')}: "


def write_options(options: Any, run: Path) -> None:
    """The options as a YAML file in a run's folder, under a temporary name and then renamed."""
    parser = ArgumentParser()
    _add_flags(parser, type(options), {})
    text = parser.dump(Namespace(**dataclasses.asdict(options)))
    temporary = run / f"{OPTIONS_FILE}.tmp"
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, run / OPTIONS_FILE)


def _add_flags(
    parser: ArgumentParser,
    options_class: type,
    helps: dict[str, str | None],
    positional: str | None = None,
) -> None:
    for field in dataclasses.fields(options_class):
        flag, text = "--" + field.name.replace("_", "-"), helps.get(field.name)
        default = field.default
        if default is dataclasses.MISSING:
            default = field.default_factory()
        if several := dict(field.metadata):  # a list of texts
            name = field.name if field.name == positional else flag
            parser.add_argument(name, type=str, default=default, help=text, **several)
            continue
        if field.name == positional:
            parser.add_argument(field.name, type=field.type, nargs="?", default=default, help=text)
            continue
        if field.type in (bool, bool | None):
            action = ActionYesNo(no_prefix="no-")
            parser.add_argument(flag, action=action, default=default, help=text)
        else:
            parser.add_argument(flag, type=field.type, default=default, help=text)


def run(main: Callable[[], None]) -> None:
    """Runs a command; a user's mistake is one sentence on standard error, not a traceback."""
    logging.getLogger("absl").setLevel(logging.ERROR)
    try:
        main()
    except BrokenPipeError:
        # The reader of our output is gone, as with `| head`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, OSError) as error:
        if os.environ.get("KERAS_TRANSFORMER_TRACEBACK"):
            raise
        sys.exit(f"{Path(sys.argv[0]).name}: {error}")
    except KeyboardInterrupt:
        sys.exit(f"{Path(sys.argv[0]).name}: interrupted.")
