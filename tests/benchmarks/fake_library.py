"""Contestants for the tests of the timing, which need no library at all."""

import os
import sys
import time


class Sleeper:
    """Sleeps for the wanted seconds; returns the number of threads it was allowed."""

    def __init__(self, job):
        print("what a library prints")
        self.parameters = job.parameters

    def run(self, seconds):
        time.sleep(seconds)
        return int(os.environ["OMP_NUM_THREADS"])


class Failing(Sleeper):
    """Builds, and raises when it has to work."""

    def run(self, seconds):
        raise ValueError("out of words")


class Dying:
    """Ends its process without a word to Python."""

    def __init__(self, job):
        print("out of memory", file=sys.stderr, flush=True)
        os._exit(7)
