"""The parser of a command line: groups of options, errors that help, and a short --help."""

import argparse
import dataclasses
import difflib
import re
import sys
from types import UnionType
from typing import Any, Literal, NoReturn, Union, get_args, get_origin

import docstring_parser
from jsonargparse import ActionConfigFile, ActionYesNo, ArgumentParser, DefaultHelpFormatter
from quiet_start import DEBUG

# What an option of a type takes: in the --help, and in words.
KINDS = {int: ("N", "a whole number"), float: ("X", "a number"), str: ("TEXT", "a text")}


class CommandParser(ArgumentParser):
    """Reads the options of a dataclass, a flag for each field.

    The options stand in groups: one for each dataclass that the options are made of and that has no
    other dataclass below it, with its first sentence as a title.

    Args:
        options_class: the dataclass.
        description: what the command does; None for a parser that only writes options down.
        positional: the field that stands without a flag, last.
    """

    def __init__(
        self, options_class: type, description: str | None = None, positional: str | None = None
    ):
        words = "" if positional is None else f" [{positional.upper()}]"
        super().__init__(
            description=description,
            usage=f"%(prog)s [OPTIONS]{words}",
            formatter_class=_HelpFormatter,
        )
        self._types = {field.name: field.type for field in dataclasses.fields(options_class)}
        helps = {
            param.arg_name: param.description
            for part in reversed(options_class.__mro__)  # its own words come before its bases'
            if dataclasses.is_dataclass(part)
            for param in docstring_parser.parse_from_object(part).params
        }
        groups: dict[type, Any] = {}
        for field in dataclasses.fields(options_class):
            root = _root(options_class, field.name)
            if root not in groups:
                groups[root] = self.add_argument_group(_title(root))
            _add(groups[root], field, helps.get(field.name), positional)

    def add_general_options(self) -> None:
        """Adds what every command has."""
        self.add_argument("--config", action=ActionConfigFile, help="YAML file of options.")
        text = "Show the traceback of an error, and all that TensorFlow says."
        self.add_argument(DEBUG, action="store_true", default=argparse.SUPPRESS, help=text)

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Ends the command with a sentence, and the flag that may have been meant."""
        no_file = re.match(r'Parser key "config": File does not exist: (.*)\Z', message, re.S)
        fault = re.match(r'Parser key "(\w+)":.*(?:Got|Given) value: (.*)\Z', message, re.S)
        unknown = re.match(r"[Uu]nrecognized arguments: (.*)\Z", message, re.S)
        in_file = re.match(r"Option '([\w.]+)' is not accepted", message)
        missing = re.match(r"argument (--[\w-]+): expected (?:at least )?(\w+) argument", message)
        if fault and fault[1] in self._types:
            expected = in_words(self._types[fault[1]])
            message = f"{flag(fault[1])} takes {expected}, not {fault[2]!r}."
        elif unknown:
            message = self._of_unknown(unknown[1].split())
        elif in_file:
            message = f"there is no option {in_file[1]}{self._meant(in_file[1], file=True)}"
        elif missing and missing[2] != "one":
            message = f"{missing[1]} needs {missing[2]} values."
        elif missing:
            kind = self._types.get(missing[1][2:].replace("-", "_"))
            message = f"{missing[1]} needs a value: {in_words(kind) if kind else 'a file'}."
        elif no_file:
            message = f"--config: there is no file {no_file[1]}."
        print(f"{self.prog}: {message}\nSee {self.prog} --help.", file=sys.stderr)
        sys.exit(2)

    def _of_unknown(self, arguments: list[str]) -> str:
        flags = [argument for argument in arguments if re.match(r"--?[^\W\d]", argument)]
        if not flags:
            return f"nothing is known to do with {' '.join(arguments)}: values follow a flag."
        return " ".join(
            f"there is no option {found}{self._meant(found)}"
            for found in (argument.partition("=")[0] for argument in flags)
        )

    def _meant(self, given: str, file: bool = False) -> str:
        """What may have been meant by the name of an option."""
        strings = [name for action in self._actions for name in action.option_strings]
        # Without hyphens, which all have; "--names+" adds to a list.
        known = {name.strip("-"): name for name in strings if name[-1] != "+"}
        if file:
            known = {name: name for name in self._types}
        name = given if file else given.strip("-").replace("_", "-")
        close = difflib.get_close_matches(name, known, n=2, cutoff=0.7)
        return f"; did you mean {' or '.join(known[name] for name in close)}?" if close else "."


class _HelpFormatter(DefaultHelpFormatter):
    """Says an option's default, unless it has none or says itself what it depends on."""

    def _get_help_string(self, action: argparse.Action) -> str:
        text = action.help or ""
        if action.default in (None, argparse.SUPPRESS, [], {}, False) or not action.option_strings:
            return text
        return f"{text} (default: %(default)s)"


def flag(name: str) -> str:
    """What an option is called on the command line.

    >>> flag("max_steps")
    '--max-steps'
    """
    return f"--{name.replace('_', '-')}"


def in_words(kind: Any) -> str:
    """What an option of this type takes.

    >>> in_words(int | None)
    'a whole number'
    """
    kinds = [part for part in get_args(kind) if part is not type(None)]
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(str, kinds))}"
    if get_origin(kind) is dict:
        return """a JSON object, as '{"name": 0.5}' is one"""
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(map(in_words, kinds))
    if get_origin(kind) is list:
        return "one text or more"
    return "true or false" if kind is bool else KINDS.get(kind, ("", "another value"))[1]


def _add(group: Any, field: dataclasses.Field, text: str | None, positional: str | None) -> None:
    """Adds the flag of a field."""
    default = field.default
    if default is dataclasses.MISSING:
        default = field.default_factory()
    common = {"default": default, "help": text}
    is_positional = field.name == positional
    if several := dict(field.metadata):  # a list of texts
        name = field.name if is_positional else flag(field.name)
        group.add_argument(name, type=str, metavar=_placeholder(str, field), **common, **several)
    elif is_positional:
        name = field.name.upper()
        group.add_argument(field.name, type=field.type, nargs="?", metavar=name, **common)
    elif field.type in (bool, bool | None):
        group.add_argument(flag(field.name), action=ActionYesNo(no_prefix="no-"), **common)
    else:
        name = _placeholder(field.type, field)
        group.add_argument(flag(field.name), type=field.type, metavar=name, **common)


def _placeholder(kind: Any, field: dataclasses.Field) -> str:
    """What stands for an option's value in the --help."""
    kinds = [part for part in get_args(kind) if part is not type(None)]
    if get_origin(kind) is Literal:
        return f"{{{','.join(map(str, kinds))}}}"
    if get_origin(kind) in (Union, UnionType):
        return _placeholder(kinds[0], field)
    if get_origin(kind) is dict:
        return "JSON"
    if kind is str:
        return field.name.upper()
    return KINDS.get(kind, ("VALUE", ""))[0]


def _root(options_class: type, name: str) -> type:
    """The dataclass at the bottom of the one that first had a field."""
    having = [
        part
        for part in options_class.__mro__
        if dataclasses.is_dataclass(part) and name in getattr(part, "__annotations__", {})
    ]
    below = [part for part in having[-1].__mro__ if dataclasses.is_dataclass(part)]
    return below[-1]


def _title(part: type) -> str:
    """The first sentence about a group of options."""
    sentence = docstring_parser.parse_from_object(part).short_description or "Options"
    return sentence.partition(". ")[0].rstrip(".").replace("%", "%%")
