"""Command lines made from dataclasses: a field is a flag, its docstring the help."""

import argparse
import dataclasses
import logging
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import UnionType
from typing import Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin

import docstring_parser
from jsonargparse import (
    ActionConfigFile,
    ActionYesNo,
    ArgumentParser,
    DefaultHelpFormatter,
    Namespace,
)

# TensorFlow greets with a screenful about the CPU; it reads this when it is imported, and keeps
# silent but for six lines.
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
    types = {field.name: field.type for field in dataclasses.fields(options_class)}
    parser = _Parser(types, description=description)
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


class _HelpFormatter(DefaultHelpFormatter):
    def _get_help_string(self, action: argparse.Action) -> str:
        text = super()._get_help_string(action)
        # An option without a value has no default, or says itself what it depends on.
        return text if action.default is not None else text.replace(", default: %(default)s", "")


class _Parser(ArgumentParser):
    def __init__(self, types: dict[str, Any], **options: Any):
        super().__init__(formatter_class=_HelpFormatter, **options)
        self._types = types

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        fault = re.match(r'Parser key "(\w+)":.*(?:Got|Given) value: (.*)\Z', message, re.S)
        if fault and fault[1] in self._types:
            expected = _in_words(self._types[fault[1]])
            message = f"--{fault[1].replace('_', '-')} takes {expected}, not {fault[2]!r}."
        print(f"{self.prog}: {message}\nSee {self.prog} --help.", file=sys.stderr)
        sys.exit(2)


def _in_words(kind: Any) -> str:
    """What an option of this type takes."""
    kinds = [part for part in get_args(kind) if part is not type(None)]
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(str, kinds))}"
    if get_origin(kind) is dict:
        return """a JSON object, as '{"name": 0.5}' is one"""
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(map(_in_words, kinds))
    words = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
    return words.get(kind, "another value")


def write_options(options: Any, run: Path) -> None:
    """The options as a YAML file in a run's folder, under a temporary name and then renamed."""
    parser = ArgumentParser()
    _add_flags(parser, type(options), {})
    values = dataclasses.asdict(options)
    if "resume" in values:
        values["resume"] = False  # the file gives the run itself, not its continuation
    text = parser.dump(Namespace(**values))
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
