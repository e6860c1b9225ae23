"""The modules of this directory, and the small tasks of another, import each other by name."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tasks")]
