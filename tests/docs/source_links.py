"""Links of the documentation to definitions: [`Name.method`](../package/file.py#L12).

python tests/docs/source_links.py      puts the numbers of the lines right, on all pages
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import doc_pages as pages  # noqa: E402

LINK = re.compile(r"\[`(?P<name>[\w.]+)`\]\((?P<file>[^)#\s]+\.py)#L(?P<line>\d+)\)")


@cache
def definitions(file: Path) -> dict[str, int]:
    """The line of each class, function, method, constant and field of a module, by its name."""
    return dict(_definitions(ast.parse(file.read_text(encoding="utf-8")).body))


def _definitions(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, int]]:
    for statement in body:
        if isinstance(statement, ast.ClassDef | ast.FunctionDef):
            yield prefix + statement.name, statement.lineno
            if isinstance(statement, ast.ClassDef):
                yield from _definitions(statement.body, f"{prefix}{statement.name}.")
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    yield prefix + target.id, statement.lineno


def faults(page: Path, text: str) -> Iterator[str]:
    """What is wrong with a page's links, a sentence each."""
    for link in LINK.finditer(text):
        where, name = f"{pages.name_of(page)}: {link[0]}", link["name"]
        file = (page.parent / link["file"]).resolve()
        if not file.is_file():
            yield f"{where}: there is no such file."
        elif name not in definitions(file):
            yield f"{where}: the file defines no {name}."
        elif definitions(file)[name] != int(link["line"]):
            yield f"{where}: {name} begins on line {definitions(file)[name]}."


def corrected(page: Path, text: str) -> str:
    """The page with the lines at which definitions begin now."""

    def correct(link: re.Match) -> str:
        known = definitions((page.parent / link["file"]).resolve())
        line = known.get(link["name"], int(link["line"]))
        return f"[`{link['name']}`]({link['file']}#L{line})"

    return LINK.sub(correct, text)


if __name__ == "__main__":
    for page in pages.PAGES:
        before = page.read_text(encoding="utf-8")
        after = corrected(page, before)
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(f"{pages.name_of(page)}: corrected")
        for fault in faults(page, after):
            print(fault)
