"""Names that the page about other libraries gives as ours exist, and KerasHub's in KerasHub."""

import importlib
import importlib.util
import inspect
import re
import sys
from pathlib import Path

import doc_pages as pages
import pytest

PAGE = (pages.ROOT / "docs" / "migration.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## From ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.S | re.M))
ROWS = [
    pytest.param(*(cell.strip() for cell in row.strip("|").split("|")[:2]), id=f"{title[:8]}-{n}")
    for title, section in SECTIONS.items()
    for n, row in enumerate(re.findall(r"^\|.*\|$", section, re.M)[2:], start=1)
]
OURS = re.compile(
    r"^(?:checkpoints|data|generation|inspection|layers|models|serving|tasks|text|training)\."
)
NAME = re.compile(r"(?P<name>[\w.]+)(?:\((?P<arguments>.*)\))?")


def look_up(name):
    """What a dotted name of the package stands for."""
    first, *rest = name.split(".")
    found = importlib.import_module(f"keras_transformer.{first}")
    for part in rest:
        found = getattr(found, part, None) or importlib.import_module(f"{found.__name__}.{part}")
    return found


def arguments_of(function):
    """Names of all arguments, those that a stack hands to its layers too."""
    names = set(inspect.signature(function).parameters)
    for base in getattr(function, "__mro__", ())[1:]:
        names |= set(inspect.signature(base.__init__).parameters) if base is not object else set()
    if layer := getattr(function, "layer_class", None):
        names |= arguments_of(layer)
    return names


@pytest.mark.parametrize(("theirs", "ours"), ROWS)
def test_our_names_exist(theirs, ours):
    spans = re.findall(r"`([^`]+)`", ours)
    assert spans or not ours, f"{theirs}: {ours!r} names nothing of ours"
    for span in spans:
        if span.startswith("apps/"):
            script, *flags = span.split()
            assert set(flags) <= flags_of(Path(script).stem), span
        elif OURS.match(span):
            check_name(span)


def check_name(span):
    """A name such as `layers.EncoderLayer(norm_first, hidden_act)`, with arguments that it has."""
    match = NAME.fullmatch(span)
    found = look_up(match["name"])
    for argument in filter(None, (match["arguments"] or "").split(",")):
        argument = argument.strip().partition("=")[0]
        if OURS.match(argument):
            look_up(argument)
        else:
            assert argument in arguments_of(found), f"{span}: there is no {argument}"


def flags_of(script):
    """The flags of a command."""
    sys.path.insert(0, str(pages.ROOT / "apps"))
    try:
        module = importlib.import_module(script)
    finally:
        sys.path.remove(str(pages.ROOT / "apps"))
    options = [value for name, value in vars(module).items() if name.endswith("Options")]
    fields = {name for option in options for name in getattr(option, "__dataclass_fields__", {})}
    return {f"--{name.replace('_', '-')}" for name in fields}


def test_a_name_that_is_not_there_is_found():
    with pytest.raises(AssertionError, match="no width"):
        check_name("layers.EncoderLayer(width)")
    with pytest.raises(ModuleNotFoundError):
        check_name("layers.EncoderLair")


def test_names_of_keras_hub_exist_there():
    """Read from its files: importing it takes seconds."""
    root = Path(importlib.util.find_spec("keras_hub").origin).parent
    (section,) = (text for title, text in SECTIONS.items() if title.startswith("KerasHub"))
    names = re.findall(
        r"`(layers|models|samplers|tokenizers|metrics)\.(\w+)`",
        "".join(row.split("|")[1] for row in re.findall(r"^\|.*\|$", section, re.M)),
    )
    assert len(names) > 30
    for folder, name in names:
        exported = (root / folder / "__init__.py").read_text("utf-8")
        assert re.search(rf"\bas {name}\b|^\s+{name} as ", exported, re.M), f"{folder}.{name}"
