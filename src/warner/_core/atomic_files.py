"""Files that are written completely or not at all, and what is known of them after a stop."""

from __future__ import annotations

import atexit
import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from warner._core.errors import ArgumentError, FileError
from warner._core.text import nearest, without_secrets

_unfinished: set[str] = set()
_LEAST = 0.8  # similarity of the names of two files, one of which may be meant by the other


@contextmanager
def temporary_file(folder: str | os.PathLike[str] | None = None, suffix: str = "") -> Iterator[str]:
    """Make an empty file that its owner alone can read, and remove it when the block ends."""
    # The name is known before the file exists, so that no moment is left at which it would stay.
    name = f".warner-{secrets.token_hex(16)}{suffix}"
    path = os.path.join(tempfile.gettempdir() if folder is None else os.fspath(folder), name)
    # If Ctrl-C comes twice, the file is removed at the end of the process.
    _unfinished.add(path)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        yield path
    finally:
        _remove(path)


def _remove(path: str) -> None:
    Path(path).unlink(missing_ok=True)
    _unfinished.discard(path)


@atexit.register
def remove_unfinished() -> None:
    """Remove the temporary files of this process that are left."""
    for path in list(_unfinished):
        try:
            _remove(path)
        except OSError:
            pass  # the folder is gone, or is no longer ours


if hasattr(os, "register_at_fork"):
    # A forked process must not remove the files that its parent is still writing.
    os.register_at_fork(after_in_child=_unfinished.clear)


@dataclass(frozen=True)
class Written:
    """The files that were written since the record began."""

    whole: list[str] = field(default_factory=list)  # those that stand at their names
    # those that an error or an interruption ended; earlier files of these names stay
    stopped: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)  # those in place of earlier files


_RECORD: ContextVar[Written | None] = ContextVar("written", default=None)


@contextmanager
def recorded() -> Iterator[Written]:
    """Keep a record of the files that are written in the block."""
    record = Written()
    token = _RECORD.set(record)
    try:
        yield record
    finally:
        _RECORD.reset(token)


def has_replaced(path: str | os.PathLike[str]) -> bool:
    """Whether the last file that was written to this name took the place of an earlier one."""
    record = _RECORD.get()
    return record is not None and str(path) in record.replaced


def require_new(path: str | os.PathLike[str]) -> None:
    """Refuse a file that is there: what can be made only once is never replaced."""
    target = Path(path)
    # A pipe or a device takes what is written to it, and replaces nothing.
    if target.is_file() or target.is_dir():
        raise _is_there(path)


def _is_there(path: str | os.PathLike[str]) -> FileError:
    rule = "already exists, and warner never overwrites a report file"
    remedy = (
        "If it has the reports of these answers, use it: to randomise the answers again would "
        "protect people less. For other answers, choose another name"
    )
    return FileError(without_secrets(str(path)), rule, None, remedy)


@contextmanager
def whole_file(path: str | os.PathLike[str], replace: bool = True) -> Iterator[str]:
    """Give a temporary file to write, which becomes ``path`` when the block ends without an error.

    A reader sees the old file or the whole new file, also after a power cut, because the content
    reaches the disk before the name. The temporary file is readable by its owner alone, and is
    removed after an error or Ctrl-C. Links are followed, and an existing file keeps its
    permissions. A pipe or a device is not replaced: the content is copied to it at the end. Without
    ``replace`` a file that is there is refused, before the block and at its end.
    """
    if not replace:
        require_new(path)
    regular = Path(path).is_file() or not Path(path).exists()
    # The link /dev/stdout leads to a pipe, which can be opened, but has no name in a folder.
    target = Path(path).resolve() if regular else Path(path)
    problem: FileError | None = None
    with ExitStack() as opened:
        try:
            if target.is_dir():
                raise IsADirectoryError(errno.EISDIR, "is a directory")
            folder = target.parent if regular else None
            temporary = opened.enter_context(temporary_file(folder, target.suffix))
        except OSError as error:
            reason = error.strerror or type(error).__name__
            remedy = "Check that the folder exists, and that you may write into it"
            problem = FileError(str(path), "cannot be written", reason, remedy)
        if problem is not None:
            raise problem
        copied = exists = False
        try:
            yield temporary
            if regular:
                # The temporary file is private; a new file gets the usual permissions.
                exists = target.exists()
                mode = target.stat().st_mode & 0o777 if exists else 0o666 & ~_umask()
                os.chmod(temporary, mode)
                to_disk(temporary)
                (os.replace if replace else _put_first)(temporary, target)
                to_disk(target.parent)
            else:
                with open(temporary, "rb") as source, open(target, "wb") as sink:
                    shutil.copyfileobj(source, sink)
                copied = True
        finally:
            if (record := _RECORD.get()) is not None:
                # The temporary file is gone once it has the name, or has both names.
                is_gone = copied or not os.path.exists(temporary)
                is_whole = is_gone or (target.exists() and os.path.samefile(temporary, target))
                (record.whole if is_whole else record.stopped).append(str(path))
                if is_whole and exists:
                    record.replaced.append(str(path))


def _put_first(temporary: str, target: Path) -> None:
    """Give a file its name, where no other process was faster."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        pass
    except OSError:
        # A file system without links: whoever makes the empty file may replace it.
        with suppress(FileExistsError):
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            os.replace(temporary, target)
            return
    else:
        os.unlink(temporary)
        return
    raise _is_there(target)


def to_disk(path: str | Path) -> None:
    """Wait until a file, or the list of files in a folder, is on the disk."""
    folder = os.path.isdir(path)
    try:
        handle = os.open(path, os.O_RDONLY if folder else os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError:
        # Some systems cannot do this for folders.
        if not folder:
            raise


@lru_cache(maxsize=1)
def _umask() -> int:
    """The mask of the process for new files. Reading it means setting it, so it is read once."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


# What people expect of a file by its name; other endings say nothing.
_EXPECTED = {
    **dict.fromkeys([".csv", ".tsv", ".tab", ".xlsx", ".xls", ".xlsm", ".ods"], "a spreadsheet"),
    **dict.fromkeys([".parquet", ".parq", ".pq", ".pqt"], "a Parquet or Arrow table"),
    **dict.fromkeys([".feather", ".arrow", ".ipc"], "a Parquet or Arrow table"),
    **dict.fromkeys([".orc", ".avro"], "a table for programs"),
    **dict.fromkeys([".dta", ".sav", ".rds", ".rdata"], "a data set of a statistics program"),
    **dict.fromkeys([".db", ".duckdb", ".sqlite"], "a database"),
    **dict.fromkeys([".json", ".jsonl", ".ndjson"], "JSON"),
    **dict.fromkeys([".yaml", ".yml", ".xml"], "data for programs"),
    **dict.fromkeys([".gz", ".zip", ".zst", ".bz2", ".xz"], "a compressed file"),
    **dict.fromkeys([".png", ".svg", ".html", ".htm", ".pdf"], "a page or a picture"),
    **dict.fromkeys([".jpg", ".jpeg", ".gif", ".webp", ".eps"], "a picture"),
    **dict.fromkeys([".pkl", ".pickle"], "a pickle"),
    **dict.fromkeys([".docx", ".doc", ".odt", ".rtf", ".pptx"], "an office document"),
    ".warner": "a file of reports",
    ".toml": "a study file",
}


def require_ending(path: str | os.PathLike[str], *endings: str, remedy: str) -> None:
    """Refuse a name whose ending says another format than the one that is written."""
    ending = Path(path).suffix.lower()
    if ending in _EXPECTED and ending not in endings:
        rule = f"must not end in {ending}, because the file will not be {_EXPECTED[ending]}"
        raise ArgumentError(os.fspath(path), rule, None, remedy)


def write_whole(path: str | os.PathLike[str], data: bytes, replace: bool = True) -> None:
    """Write ``data`` to a file completely or not at all: see :func:`whole_file`."""
    with whole_file(path, replace) as temporary:
        Path(temporary).write_bytes(data)


def remedy_of_no_file(path: str | os.PathLike[str]) -> str:
    """What to do where there is no file of this name: the nearest name in its folder, if any."""
    target, names = Path(path), list[str]()
    with suppress(OSError):
        names = sorted(each.name for each in target.parent.iterdir())
    by_stem = {Path(name).stem: name for name in reversed(names)}
    # Some systems do not show the endings of names.
    near = target.name if target.name in by_stem else nearest(target.stem, by_stem, _LEAST)
    if near is not None:
        return f"Is {str(target.with_name(by_stem[near]))!r} meant?"
    return "Check the name. If the file is in another folder, go to this folder first: cd FOLDER"


def read_whole(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file; FileError where it cannot be opened."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        problem = unopened(without_secrets(str(path)), error)
    raise problem


def unopened(shown: str, error: OSError) -> FileError:
    """Return the error for a file that the system does not open."""
    if isinstance(error, FileNotFoundError):
        return FileError(shown, "does not exist", None, remedy_of_no_file(shown))
    reason = error.strerror or type(error).__name__
    return FileError(shown, "cannot be opened", reason, "Check the path")
