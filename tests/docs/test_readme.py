"""The README's Python runs as it stands, and its commands are the two that it promises."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("block", re.findall(r"^```python\n(.*?)^```", README, re.S | re.M))
def test_python_blocks_run(block):
    names: dict = {}
    exec(compile(block, "README.md", "exec"), names)
    assert names["logits"].shape == (64, 13, 1000)


def test_there_are_exactly_two_commands():
    commands = re.findall(r"^```bash command\n(.*?)^```", README, re.S | re.M)
    assert len(commands) == 2
    assert "apps/translate_train.py" in commands[0]
    assert "-m pytest" in commands[1]
