"""The README's commands are the two that it promises."""

import re
from pathlib import Path

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_there_are_exactly_two_commands():
    commands = re.findall(r"^```bash command\n(.*?)^```", README, re.S | re.M)
    assert len(commands) == 2
    assert "apps/translate_train.py" in commands[0]
    assert "-m pytest" in commands[1]
