"""Asking again, within limits."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from keras_transformer.serving.client_errors import StatusError

Answer = TypeVar("Answer")

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0  # seconds
SHORTEST_TRY = 1e-3


@dataclass(frozen=True)
class Retries:
    """Asks a server again that could not be reached or had no room, after pauses that double.

    Nothing else is tried again: what failed on its way through a model would fail again, or has
    cost the server its time already. A pause is shortened by chance, so that the clients of a
    server that was away do not all come back at once.

    Args:
        limit: most tries after the first one.
        sleep, clock: as `time` has them.
    """

    limit: int = 3
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def call(self, ask: Callable[[float], Answer], timeout: float) -> Answer:
        """What `ask(seconds_left)` gives.

        Raises:
            StatusError: the last one.
        """
        end, pause = self.clock() + timeout, FIRST_PAUSE
        for tries in itertools.count(1):
            try:
                return ask(max(end - self.clock(), SHORTEST_TRY))
            except StatusError as error:
                error.tries = tries
                wait = pause * random.uniform(0.5, 1.0)
                spent = tries > self.limit or self.clock() + wait >= end
                if error.code != "UNAVAILABLE" or spent:
                    raise
            self.sleep(wait)
            pause = min(2 * pause, LONGEST_PAUSE)
        raise AssertionError  # `count` has no end
