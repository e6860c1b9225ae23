"""Files that are either whole or not there."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from pathlib import Path


def write_atomically(path: Path, content: bytes) -> None:
    """Writes a temporary neighbour and renames it, so that no reader ever sees half a file."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp gives 0600: nobody else could read it
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def check_room(directory: Path, size: int) -> None:
    """Reserves `size` bytes for a moment, for what a library is to write that dies of a full disk.

    Raises:
        OSError: there is no room for them, or no permission.
    """
    with tempfile.TemporaryFile(dir=directory) as file:
        try:
            if hasattr(os, "posix_fallocate"):  # knows of quotas and limits, too
                os.posix_fallocate(file.fileno(), 0, size)
            elif shutil.disk_usage(directory).free < size:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise OSError(
                error.errno, f"{error.strerror} ({size:,} bytes are needed)", str(directory)
            ) from None
