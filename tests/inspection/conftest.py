"""A browser for pages. Small tasks are those of `tests/tasks`; the scripts of `apps/` import each
other by name."""

import sys
from pathlib import Path

import pytest
from browser import browser  # noqa: F401  (a fixture)

TESTS = Path(__file__).parents[1]
for folder in (TESTS / "tasks", TESTS.parent / "apps"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


class Visit:
    """A page that is open, with everything that it asked for and complained of."""

    def __init__(self, page, address: str):
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(address)
        self.address = address

    def assert_quiet(self) -> None:
        """Nothing but the page itself was asked for, and nothing went wrong."""
        assert self.requests == [self.address]
        assert self.complaints == []


@pytest.fixture
def visit(browser):  # noqa: F811
    """A function that opens a file in a new window of the browser."""
    contexts = []

    def open_page(path: Path, **options) -> Visit:
        options = {"viewport": {"width": 1300, "height": 850}} | options
        contexts.append(browser.new_context(**options))
        return Visit(contexts[-1].new_page(), path.as_uri())

    yield open_page
    for context in contexts:
        context.close()
