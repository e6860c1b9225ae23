"""What the pages about models say was measured stands on the page of results."""

import re

import doc_pages as pages
import pytest

RESULTS = (pages.ROOT / "docs" / "results.md").read_text(encoding="utf-8")
MEASURED = re.compile(r"\d+ min \d+ s|\d+ min(?! \d)|\d+ minutes|\d+\.\d+")


@pytest.mark.parametrize("name", ["translation", "bert", "gpt"])
def test_numbers_are_those_of_the_results(name):
    page = (pages.ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    learned = re.search(r"^## What it learns\n(.*?)^## ", page, re.S | re.M)[1]
    others = re.findall(r"\(([\d.]+) and ([\d.]+)\)", page)  # two scores beside each other
    quoted = [*MEASURED.findall(learned), *(number for pair in others for number in pair)]
    assert len(quoted) > 5
    for number in quoted:
        number = number.replace("minutes", "min")
        known = RESULTS.replace("minutes", "min")
        assert re.search(rf"(?<![\d.]){re.escape(number)}(?!\d)", known), f"{name}.md: {number}"
