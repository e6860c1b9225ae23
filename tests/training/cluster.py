"""Starts the workers of a training as processes of this machine."""

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.scaling import cluster

LONGEST = 900  # seconds that a process may take on a machine with other work


def start(script: str, *arguments: object, **environment: str) -> subprocess.Popen:
    """A Python process of a script of this folder."""
    return subprocess.Popen(
        [sys.executable, Path(__file__).with_name(script), *map(str, arguments)],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def start_workers(count: int, script: str, *arguments: object) -> list[subprocess.Popen]:
    """Workers that know of each other."""
    return [start(script, *arguments, **environment) for environment in cluster(count)]


def finish(processes: list[subprocess.Popen]) -> list[str]:
    """Waits for processes that end well; gives what they printed."""
    outputs = []
    for process in processes:
        output, errors = process.communicate(timeout=LONGEST)
        assert process.returncode == 0, errors[-3000:]
        outputs.append(output)
    return outputs
