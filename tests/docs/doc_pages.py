"""The pages of the documentation, and the blocks of code in them.

What stands behind the language of a block says what becomes of it:

    ```python                     runs, after the blocks before it on the page
    ```pycon                      runs, and gives what it says
    ```python examples/name.py    is a part of that script, which a test runs
    ```bash                       its commands are understood, every flag of them
    ```python no-run gpu          does not run, and why: see `NEEDS`
"""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *(ROOT / folder / "README.md" for folder in ("benchmarks", "saved_models", "serving/c")),
]
NEEDS = {
    "network": "fetches something",
    "gpu": "needs a GPU",
    "machines": "needs several machines, or a cluster",
    "time": "takes longer than tests may",
    "data": "reads files that the reader has",
    "model": "loads a folder that another command made",
    "server": "asks a server",
    "context": "goes on from code of the reader's",
}

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[\w-]*)(?P<marks>[^\n`]*)\n(?P<code>.*?)^(?P=indent)```$",
    re.S | re.M,
)


class Block(NamedTuple):
    """A fenced block of code."""

    language: str
    marks: tuple[str, ...]
    code: str
    line: int
    """Line of the page on which the code begins, from 1."""

    @property
    def runs(self) -> bool:
        """Whether it is Python that a test is to run as it stands."""
        is_python = self.language in ("python", "pycon")
        return is_python and not self.is_exempt and self.script is None

    @property
    def is_exempt(self) -> bool:
        """Whether it is marked as one that cannot run."""
        return "no-run" in self.marks

    @property
    def script(self) -> str | None:
        """The script that it is a part of."""
        return next((mark for mark in self.marks if mark.endswith(".py")), None)


def blocks(text: str) -> list[Block]:
    """The blocks of a page, in order."""
    return [
        Block(
            found["language"],
            tuple(found["marks"].split()),
            found["code"],
            text.count("\n", 0, found.start("code")) + 1,
        )
        for found in _FENCE.finditer(text)
    ]


def without_blocks(text: str) -> str:
    """A page without its blocks of code."""
    return _FENCE.sub("", text)


def without_code(text: str) -> str:
    """A page without any code, that between words included."""
    return re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", without_blocks(text))


def name_of(page: Path) -> str:
    """A page's path in the repository."""
    return page.relative_to(ROOT).as_posix()
