"""A headless Chromium for tests of pages; where this machine has one."""

from __future__ import annotations

import atexit
import os
import shutil
from functools import cache
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Any:
    """Playwright's browser; what needs it is skipped where it, or Chromium, is not installed.

    `$KERAS_TRANSFORMER_CHROMIUM` says where that is, if not on the path.

    Example (a `conftest.py` or a test file imports the fixture first):
        def test_shows(browser): browser.new_page().goto("http://127.0.0.1:7860")
    """
    pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install '.[browser]'"
    )
    found = os.environ.get("KERAS_TRANSFORMER_CHROMIUM") or next(
        filter(None, map(shutil.which, NAMES)), None
    )
    if found is None:
        pytest.skip(f"there is no {NAMES[0]}: apt-get install chromium")
    return _started(found)


@cache
def _started(path: str) -> Any:
    """Once in a process: a second one could not be, as both would run the same event loop."""
    from playwright.sync_api import sync_playwright

    running = sync_playwright().start()
    atexit.register(running.stop)
    return running.chromium.launch(executable_path=path, args=["--no-sandbox"])
