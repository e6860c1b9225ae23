"""Extension of mkdocstrings: examples in docstrings are shown as code."""

import griffe


class Examples(griffe.Extension):
    """Puts a fence around what stands behind `>>>`, which Markdown takes for a quotation."""

    def on_object(self, *, obj, **kwargs):
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text):
    """The text with fences; an example ends at a blank line.

    >>> print(fenced("One:\\n\\n>>> 1\\n1").replace("`", "'"))
    One:
    <BLANKLINE>
    '''pycon
    >>> 1
    1
    '''
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
