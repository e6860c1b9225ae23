"""Extension of mkdocstrings: what our docstrings have beyond Google's style."""

import re

import griffe


class Docstrings(griffe.Extension):
    """Shows examples as code, and the arguments of a call as a list."""

    def on_object(self, *, obj, **kwargs):
        if obj.docstring is not None:
            obj.docstring.value = listed(fenced(obj.docstring.value))


def fenced(text):
    """The text with a fence around what stands behind `>>>`, up to a blank line.

    Markdown takes it for a quotation otherwise.
    """
    lines, indent = [], None
    for line in [*text.splitlines(), ""]:
        if indent is None and line.lstrip().startswith(">>>"):
            indent = line[: len(line) - len(line.lstrip())]
            lines.append(f"{indent}```pycon")
        elif indent is not None and not line.strip():
            lines.append(f"{indent}```")
            indent = None
        lines.append(line)
    return "\n".join(lines[:-1])


def listed(text):
    """The text with a list in place of the lines below "Call args:"."""

    def as_list(section):
        return section[1] + re.sub(r"^    (\w+): ", r"    - `\1`: ", section[2], flags=re.M)

    return re.sub(r"^(Call args:\n)((?:    .*\n?|\n(?=    ))*)", as_list, text, flags=re.M)
