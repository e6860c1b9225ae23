"""Runs a function of `fresh_process.py` in a new Python process."""

import os
import subprocess
import sys
from pathlib import Path


def run(name: str, *arguments, expect: int = 0) -> str:
    """Standard output of the process; its standard error is in the failure."""
    script = Path(__file__).with_name("fresh_process.py")
    done = subprocess.run(
        [sys.executable, script, name, *map(str, arguments)],
        check=False,  # the caller says which return code is right
        capture_output=True,
        text=True,
        timeout=900,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    assert done.returncode == expect, done.stderr[-3000:]
    return done.stdout
