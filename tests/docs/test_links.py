"""Links on the pages lead to what they say."""

import re

import doc_pages as pages
import pytest
import source_links

EVERY = [pytest.param(page, id=pages.name_of(page)) for page in pages.PAGES]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def anchors(page):
    """What a forge calls the headings of a page."""
    titles = re.findall(r"^#+ (.+)$", pages.without_blocks(page.read_text("utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", EVERY)
def test_links_between_files_lead_somewhere(page):
    for target in LINK.findall(pages.without_code(page.read_text("utf-8"))):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{pages.name_of(page)}: {target}: there is no such file"
        assert pages.ROOT in (file, *file.parents), f"{target} leads out of the repository"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{pages.name_of(page)}: {target}: no such heading"


@pytest.mark.parametrize("page", EVERY)
def test_links_to_lines_lead_to_the_definition_that_they_name(page):
    text = page.read_text("utf-8")
    faults = list(source_links.faults(page, text))
    assert not faults, "\n".join([*faults, "`python tests/docs/source_links.py` corrects lines."])
    lines = len(re.findall(r"\]\([^)\s]+#L\d+\)", text))
    assert lines == len(source_links.LINK.findall(text)), "write [`name`](file.py#L1)"


def test_a_line_that_has_moved_is_found_and_corrected():
    page = pages.ROOT / "docs" / "page.md"
    link = "[`main`](../apps/export.py#L1), [`nothing`](../apps/export.py#L1)"
    moved, unknown = source_links.faults(page, link)
    line = int(re.search(r"main begins on line (\d+)\.", moved)[1])
    code = (pages.ROOT / "apps" / "export.py").read_text("utf-8").splitlines()
    assert code[line - 1].startswith("def main(") and "defines no nothing" in unknown
    corrected = source_links.corrected(page, link)
    assert corrected == link.replace("#L1", f"#L{line}", 1)


def test_the_index_names_every_page():
    index = pages.ROOT / "docs" / "README.md"
    linked = set(LINK.findall(index.read_text("utf-8")))
    names = {page.name for page in index.parent.glob("*.md")} - {index.name}
    assert names <= linked, f"docs/README.md does not name {', '.join(sorted(names - linked))}"
