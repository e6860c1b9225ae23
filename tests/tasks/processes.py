"""Runs the scripts of this directory in new processes."""

import json
import os
import subprocess
import sys
from pathlib import Path


def run(script: str, *arguments, given=None, python: str = sys.executable):
    """What the script prints, for what it is given, both as JSON."""
    done = subprocess.run(
        [python, str(Path(__file__).with_name(script)), *map(str, arguments)],
        check=False,  # the assertion shows what it said
        capture_output=True,
        input=json.dumps(given),
        encoding="utf-8",
        timeout=600,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": ""},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().split("\n")[-1])
