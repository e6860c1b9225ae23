"""Stop strings as an automaton over tokens: they are found across the borders of tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class StopStrings:
    """Finds the first of several strings to be complete in a text, token by token.

    The state of a text is what of its end may be the beginning of a stop string: Aho and Corasick
    1975, "Efficient String Matching", over whole tokens instead of characters. The string that is
    complete first counts, and of those complete at the same byte the longest.

    Args:
        stops: the strings, in the bytes that tokens spell.
        tokens: the bytes of each token of the vocabulary.

    Attributes:
        transitions: int32 `[states, vocab]`, as `generation.Stops` takes them. State 0 is that of
            the empty text. A final state, `states` or more, also says what is found: that the
            last `state - states` bytes are to be cut off.
        held: for each state, how many bytes at the end may be the beginning of a stop string.

    >>> stops = StopStrings([b"b\\n"], [b"a", b"b", b"\\n", b"\\na"])
    >>> stops.transitions.tolist(), stops.held
    ([[0, 1, 0, 0], [0, 1, 4, 5]], (0, 1))
    >>> stops.cut(5)  # "b", then "\\na"
    3
    """

    def __init__(self, stops: Sequence[bytes], tokens: Sequence[bytes]):
        prefixes = {string[:size] for string in stops for size in range(len(string))}
        states = sorted(prefixes | {b""}, key=lambda prefix: (len(prefix), prefix))
        self.held = tuple(map(len, states))
        self.transitions = self._table(states, stops, tokens)  # [states, vocab]

    def cut(self, state: int) -> int | None:
        """How many bytes a text in this state is to lose at its end; None while it goes on."""
        return state - len(self.held) if state >= len(self.held) else None

    def _table(
        self, states: list[bytes], stops: Sequence[bytes], tokens: Sequence[bytes]
    ) -> np.ndarray:
        count = len(states)
        table = np.repeat(np.arange(count, dtype=np.int32)[:, None], len(tokens), axis=1)
        if not stops:
            return table
        # What one more byte makes of a state; where a string is complete, count + its length.
        by_byte = np.array(
            [[_next(state, byte, states, stops) for byte in range(256)] for state in states]
        )  # [states, 256]
        sizes = np.array([len(token) for token in tokens])
        for place in range(sizes.max()):
            longer = np.flatnonzero(sizes > place)
            byte = np.array([tokens[index][place] for index in longer])  # [longer]
            now = table[:, longer]  # [states, longer]
            # A string that is complete has so many bytes behind its beginning, one more each byte.
            table[:, longer] = np.where(
                now < count, by_byte[np.minimum(now, count - 1), byte], now + 1
            )
        return table


def _next(state: bytes, byte: int, states: list[bytes], stops: Sequence[bytes]) -> int:
    text = state + bytes([byte])
    found = max((len(stop) for stop in stops if text.endswith(stop)), default=0)
    if found:
        return len(states) + found
    return max(index for index, prefix in enumerate(states) if text.endswith(prefix))
