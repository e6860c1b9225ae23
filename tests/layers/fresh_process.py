"""Runs a script of the tests in a new process and gets back what it reports."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

_TESTS = Path(__file__).resolve().parents[1]


def report_of(script: Path, *arguments: Any, **environment: str) -> dict[str, Any]:
    """The JSON object on the last line that the script prints; its errors fail the test."""
    paths = [str(_TESTS.parent), str(_TESTS), os.environ.get("PYTHONPATH", "")]
    result = subprocess.run(
        [sys.executable, str(script), *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return json.loads(result.stdout.splitlines()[-1])
