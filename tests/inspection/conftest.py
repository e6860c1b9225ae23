"""Small tasks are those of `tests/tasks`; the scripts of `apps/` import each other by name."""

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
for folder in (TESTS / "tasks", TESTS.parent / "apps"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
