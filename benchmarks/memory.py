"""How much memory work takes: what a process held before, and the most it held meanwhile."""

import contextlib
import ctypes
from pathlib import Path
from typing import NamedTuple

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_CLEAR_PEAK = "5"  # proc(5), since Linux 4.0


class Memory(NamedTuple):
    """Resident memory of a process, in bytes."""

    before: int
    peak: int


class Watch:
    """Watches this process from now on.

    What earlier work freed is first given back to the system: it would hide what the coming work
    takes. Where the system does not tell the peak of a time (other than Linux), `memory` is None.
    """

    def __init__(self) -> None:
        self._before = None
        if not _CLEAR.exists():
            return
        with contextlib.suppress(AttributeError):  # C libraries other than GNU's have no such call
            ctypes.CDLL(None).malloc_trim(0)
        with contextlib.suppress(PermissionError):
            _CLEAR.write_text(_CLEAR_PEAK, encoding="ascii")
            self._before = _read("VmRSS")

    def memory(self) -> Memory | None:
        """What was held at the start, and the most since then."""
        return None if self._before is None else Memory(self._before, _read("VmHWM"))


def _read(field: str) -> int:
    """Bytes of a field of `/proc/self/status`, which counts in units of 1,024."""
    lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    (line,) = (line for line in lines if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024
