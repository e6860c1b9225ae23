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
        set_usual_mode(temporary)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def set_usual_mode(temporary: str) -> None:
    """Gives a file of `mkstemp`, which nobody else could read, the mode of any new file."""
    umask = os.umask(0)
    os.umask(umask)
    os.chmod(temporary, 0o666 & ~umask)


def check_can_be_made(directory: str | os.PathLike[str], otherwise: str) -> None:
    """Refuses a folder that cannot be made or written; writes nothing.

    Args:
        directory: the folder, which need not be there.
        otherwise: what then cannot be done; the message begins with it.

    Raises:
        ValueError: when it, or a folder that it would lie in, is a file.
        PermissionError: when it, or the folder that it would be made in, may not be written.

    >>> check_can_be_made(__file__, "No run can be kept")
    Traceback (most recent call last):
    ValueError: No run can be kept: ...files.py is not a folder.
    """
    existing = Path(os.path.abspath(directory))
    while not os.path.lexists(existing):
        existing = existing.parent
    if not existing.is_dir():
        raise ValueError(f"{otherwise}: {existing} is not a folder.")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise PermissionError(f"{otherwise}: {existing} may not be written.")


def check_can_be_written(file: str | os.PathLike[str], flag: str) -> None:
    """Refuses a path at which no file can be written, its folders made where they are missing.

    Args:
        file: the path of the file, which need not be there.
        flag: by what it was given; the message begins with it.

    Raises:
        ValueError: when a folder is there, or what it would lie in is a file.
        PermissionError: when the folder that it would lie in may not be written.

    >>> check_can_be_written(Path(__file__).parent, "--page")
    Traceback (most recent call last):
    ValueError: --page ...text is a folder: give the path of a file.
    """
    if Path(file).is_dir():
        raise ValueError(f"{flag} {file} is a folder: give the path of a file.")
    check_can_be_made(Path(file).parent, f"{flag} {file} cannot be written")


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
