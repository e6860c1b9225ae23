"""A long array of numbers: in memory while it is small, then in a temporary file."""

from __future__ import annotations

import os
import tempfile
import weakref
from typing import BinaryIO, Protocol

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

HOLD_BYTES = 2**26


class Tokens(Protocol):
    """An array of ids, or a `StoredArray` of them: what can be read by slices."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice) -> np.ndarray: ...


class StoredArray:
    """Numbers that come chunk after chunk and are read by slices, however many they are.

    Up to `hold` bytes stay in memory; what is longer goes into a file, and memory holds only what
    is read of it. The file has no name: it vanishes with the process, however that ends. It lies in
    the folder for temporary files, which the environment variable TMPDIR names.

    Args:
        dtype: type of the numbers.
        hold: most bytes to keep in memory.

    Example:
        >>> array = StoredArray(np.uint16, hold=4)
        >>> for chunk in ([1, 2], [3, 4, 5]):
        ...     array.append(chunk)
        >>> len(array), array[1:4].tolist(), array.is_held
        (5, [2, 3, 4], False)
    """

    def __init__(self, dtype: DTypeLike, hold: int = HOLD_BYTES):
        self.dtype = np.dtype(dtype)
        self._hold = hold
        self._length = 0
        self._parts: list[np.ndarray] = []  # while it is in memory
        self._file: BinaryIO | None = None
        self._is_written = True

    @property
    def is_held(self) -> bool:
        """Whether the numbers are in memory."""
        return self._file is None

    def append(self, values: ArrayLike) -> None:
        """Adds numbers `[count]` at the end.

        Raises:
            OSError: there is no room for them in the folder for temporary files.
        """
        values = np.ascontiguousarray(values, self.dtype)
        self._length += len(values)
        if self._file is not None:
            self._write(values)
            return
        self._parts.append(values)
        if self._length * self.dtype.itemsize > self._hold:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115, it is closed with the array
            weakref.finalize(self, self._file.close)
            for part in self._parts:
                self._write(part)
            self._parts = []

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, part: slice) -> np.ndarray:
        """The numbers of a slice without a step; not to be written to."""
        start, stop, step = part.indices(self._length)
        if step != 1:
            raise ValueError(f"a slice must have no step, but its step is {step}.")
        if self._file is None:
            if len(self._parts) != 1:
                self._parts = [np.concatenate([np.empty(0, self.dtype), *self._parts])]
            return self._parts[0][start:stop]
        return self._read(start, max(0, stop - start))

    def _write(self, values: np.ndarray) -> None:
        try:
            self._file.write(values.data)
        except OSError as error:
            raise _without_room(error, self._length * self.dtype.itemsize) from None
        self._is_written = False

    def _read(self, start: int, count: int) -> np.ndarray:
        if not self._is_written:
            try:
                self._file.flush()
            except OSError as error:
                raise _without_room(error, self._length * self.dtype.itemsize) from None
            self._is_written = True
        size, place = count * self.dtype.itemsize, start * self.dtype.itemsize
        # By place: threads that read at the same time would move each other's position.
        content = os.pread(self._file.fileno(), size, place)
        while len(content) < size:  # a call reads 2 GB at most
            more = os.pread(self._file.fileno(), size - len(content), place + len(content))
            if not more:
                raise OSError(f"a temporary file in {tempfile.gettempdir()} was cut short.")
            content += more
        return np.frombuffer(content, self.dtype)


def _without_room(error: OSError, size: int) -> OSError:
    return OSError(
        error.errno,
        f"{error.strerror}: {size:,} bytes of token ids are to be kept for this run; let TMPDIR "
        "name a folder with more room",
        tempfile.gettempdir(),
    )
