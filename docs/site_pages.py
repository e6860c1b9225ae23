"""Hooks of mkdocs: pages of the docstrings, and of the files outside of docs/ that pages link to.

On a forge such links lead to the files themselves. The site has no such files, so it gets a page
for each: Markdown as a page, code with numbered lines.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
PACKAGE = "keras_transformer"
LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(#[\w-]+)?(?=\))")
MARKS = re.compile(r"^( *```\w+) [^\n`]*$", re.M)  # what tests are to do with a block of code
LANGUAGES = {".py": "python", ".yml": "yaml"}


def on_files(files, config):
    """Adds the pages that are made here."""
    for name in packages():
        title = f"# {PACKAGE}.{name}\n\n::: {PACKAGE}.{name}\n"
        files.append(File.generated(config, f"api/{name}.md", content=title))
    for path in sorted(files_linked_to()):
        files.append(File.generated(config, page_of(path), content=shown(path)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Has all links lead to pages of the site, and leaves out what is meant for tests."""
    here = page.file.src_uri
    if here.startswith("api/"):
        return markdown
    origin = here.removeprefix("files/").removesuffix(".md") if is_made(here) else f"docs/{here}"
    if not origin.endswith(".md"):
        return markdown

    def lead(link):
        path = target(origin, link[1])
        if path is None:
            return link[0]
        line = re.fullmatch(r"#L(\d+)", link[2] or "")
        anchor = f"#__codelineno-0-{line[1]}" if line else link[2] or ""
        return posixpath.relpath(page_of(path), posixpath.dirname(here) or ".") + anchor

    return LINK.sub(lead, MARKS.sub(r"\1", markdown))


def is_made(page):
    """Whether a page of the site is made from a file outside of docs/."""
    return page.startswith("files/")


def packages():
    """The packages that have docstrings to show."""
    folders = sorted((ROOT / PACKAGE).glob("*/__init__.py"))
    return [folder.parent.name for folder in folders]


def files_linked_to():
    """Files that pages link to, or pages that these link to, and that stand outside of docs/."""
    found, new = set(), {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")}
    while new:
        texts = {path: (ROOT / path).read_text("utf-8") for path in new if path.endswith(".md")}
        links = ((path, link[1]) for path, text in texts.items() for link in LINK.finditer(text))
        new = {target(path, link) for path, link in links} - found - {None}
        new = {path for path in new if not is_page(path)}
        found |= new
    return found


def is_page(path):
    """Whether a file is a page of the site as it stands."""
    return path.startswith("docs/") and path.endswith(".md")


def target(origin, link):
    """The path in the repository of the file that a link of another file leads to, or None."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(origin), link))
    return path if (ROOT / path).is_file() else None


def page_of(path):
    """Where the page of a file is."""
    return path.removeprefix("docs/") if is_page(path) else f"files/{path}.md"


def shown(path):
    """The text of that page."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".md"):
        return text
    language = LANGUAGES.get(Path(path).suffix, "text")
    return f'# {path}\n\n`````{language} linenums="1"\n{text}\n`````\n'
