"""The scripts of `apps/` import each other by name: so do their tests. Trainings take time."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "apps"))

TRAININGS = {"trained", "pretrained"}
"""Fixtures that run a command to its end."""


@pytest.hookimpl(tryfirst=True)  # before the slow ones are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that look at such a run are slow, because of what it takes to make it."""
    for item in items:
        here = item.path.parent == Path(__file__).parent
        if here and TRAININGS & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)
