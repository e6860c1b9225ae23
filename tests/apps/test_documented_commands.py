"""The commands of `apps/` that the documentation shows are understood, every flag of them."""

import importlib
import re
import shlex
import sys
from pathlib import Path

import command_line
import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```bash[^\n]*\n(.*?)^```", re.S | re.M)
COMMAND = re.compile(r"python apps/(\w+)\.py((?:\\\n|[^\n|<>&])*)")
COMMANDS = [
    pytest.param(script, arguments.replace("\\\n", " "), id=f"{path.stem}-{script}-{number}")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    for block in BLOCK.findall(path.read_text(encoding="utf-8"))
    for number, (script, arguments) in enumerate(COMMAND.findall(block))
]


class Understood(Exception):
    """Raised where a command would begin to work."""


@pytest.mark.parametrize(("script", "arguments"), COMMANDS)
def test_it_is_understood(script, arguments, monkeypatch, tmp_path):
    for name in ("parse", "parse_resumable"):
        parse = getattr(command_line, name)

        def stop(*given, parse=parse, **options):
            raise Understood(parse(*given, **options))

        monkeypatch.setattr(command_line, name, stop)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [f"{script}.py", *shlex.split(arguments, comments=True)])
    with pytest.raises(Understood):
        importlib.import_module(script).main()


def test_every_script_is_among_them():
    shown = {command.values[0] for command in COMMANDS}
    scripts = {
        path.stem for path in (ROOT / "apps").glob("*.py") if "__main__" in path.read_text("utf-8")
    }
    assert shown == scripts
