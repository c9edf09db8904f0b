"""Files that are written completely or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from warner._core.errors import FileError, message


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[str]:
    """Give a temporary file to write, which becomes ``path`` when the block ends without an error.

    A reader sees the old file or the whole new file, also after a power cut, because the content
    reaches the disk before the name. The temporary file is readable by its owner alone, and is
    removed after an error. Links are followed, and an existing file keeps its permissions. A pipe
    or a device is not replaced: the content is copied to it at the end.

    Raises:
        FileError: the file cannot be written.
    """
    target = Path(path).resolve()
    regular = target.is_file() or not target.exists()
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "is a directory")
        handle, temporary = tempfile.mkstemp(
            dir=target.parent if regular else None, prefix=".warner-", suffix=target.suffix
        )
    except OSError as error:
        problem: FileError | None = FileError(
            message(
                str(path),
                "cannot be written",
                error.strerror or type(error).__name__,
                "Check the path and its folder",
            )
        )
    else:
        problem = None
    if problem is not None:
        raise problem
    os.close(handle)
    try:
        yield temporary
        if regular:
            # mkstemp makes private files; a new file gets the usual permissions.
            os.chmod(
                temporary, target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
            )
            _to_disk(temporary)
            os.replace(temporary, target)
            _to_disk(target.parent)
        else:
            with open(temporary, "rb") as source, open(target, "wb") as sink:
                shutil.copyfileobj(source, sink)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _to_disk(path: str | Path) -> None:
    """Wait until a file, or the list of files in a folder, is on the disk.

    Some systems cannot do this for folders, so errors for folders are ignored.
    """
    folder = os.path.isdir(path)
    try:
        handle = os.open(path, os.O_RDONLY if folder else os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError:
        if not folder:
            raise


@lru_cache(maxsize=1)
def _umask() -> int:
    """The mask of the process for new files. Reading it means setting it, so it is read once."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write ``data`` to a file completely or not at all: see :func:`whole_file`."""
    with whole_file(path) as temporary:
        Path(temporary).write_bytes(data)


def read_whole(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file; FileError where it cannot be opened."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        problem = FileError(
            message(
                str(path),
                "cannot be opened",
                error.strerror or type(error).__name__,
                "Check the path",
            )
        )
    raise problem
