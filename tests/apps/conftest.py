"""The scripts of `apps/` import each other by name: so do their tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "apps"))
