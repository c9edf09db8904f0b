"""Data sets of several files: folders, patterns and folders named after values, as engines write.

A folder ``ward=north`` says that its files are of the ward north. That holds for public columns
alone, and only where the files have no such column themselves. A folder never stands for a column
of reports: ``smokes_report=1`` would make every report a 1.

Addresses such as ``s3://bucket/reports/*.parquet`` name files, folders and patterns alike.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from warner._core.errors import FileError
from warner._core.text import in_one_line
from warner.io.addresses import State, ending, listed, shown, state_of
from warner.io.formats import FORMATS
from warner.io.parquet_format import is_remote

_PATTERN = re.compile(r"[*?\[]")
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class DataFile:
    """A file of a data set.

    Attributes:
        path: the file, or its address.
        values: {public column: value}, by the names of the folders between the data set and the
            file.
        told: the state of a file at an address, as a listing told it; None where none did.
    """

    path: str
    values: Mapping[str, str] = field(default_factory=dict)
    told: State | None = None

    @property
    def name(self) -> str:
        """What messages and checkpoints call it: the path, or the address without secrets."""
        return in_one_line(shown(self.path))

    @property
    def place(self) -> str:
        """The real path, which two names of one file have in common; an address as it is shown."""
        return (
            self.name if self.path == "-" or is_remote(self.path) else os.path.realpath(self.path)
        )

    @property
    def is_gone(self) -> bool:
        """Whether there is no such file on this machine. Of an address nothing is asked."""
        return self.path != "-" and not is_remote(self.path) and not Path(self.path).exists()

    def state(self) -> State:
        """What tells whether the file is the same as before; zeros where nothing does."""
        if is_remote(self.path):
            # A listing and a question may tell the same in different words.
            return state_of(self.path) if self.told is None else self.told
        if not Path(self.path).exists():
            return 0, 0
        found = os.stat(self.path)
        return found.st_size, found.st_mtime_ns


def is_data_set(path: str) -> bool:
    """Whether a path is a folder, a pattern or an address, and not the name of one file.

    >>> is_data_set("reports.parquet"), is_data_set("lake/*.parquet"), is_data_set("s3://lake/a.csv")
    (False, True, True)
    """
    if is_remote(path):
        return True
    return Path(path).is_dir() or (bool(_PATTERN.search(path)) and not Path(path).exists())


def files_of(path: str, left_out: list[str] | None = None) -> list[DataFile]:
    """The files of a data set, in the order of their names.

    Names that begin with a dot or an underscore are left out, such as ``_SUCCESS``. So are files
    whose ending is of no format.

    Args:
        path: a folder, a pattern with ``*``, ``?``, ``[`` or ``**``, or an address.
        left_out: receives the files that are left out because of their ending.

    Raises:
        FileError: there are none, or an address that cannot be read.
    """
    if is_remote(path):
        every = _at(path)
    else:
        whole = Path(path).is_dir()
        starts = [path] if whole else _matching(path)
        names = dict.fromkeys(name for start in starts for name in _below(start))
        every = [DataFile(name, _values(name, path if whole else _fixed(path))) for name in names]
    known = [form.suffix for form in FORMATS]
    found = [file for file in every if ending(file.path) in known]
    if left_out is not None:
        left_out += [file.path for file in every if ending(file.path) not in known]
    if not found:
        rule = f"has no files that end in {', '.join(known)}"
        raise FileError(shown(path), rule, None, "Check the path")
    return found


def _at(address: str) -> list[DataFile]:
    """The files at an address."""
    path = PurePosixPath(shown(address))
    whole = not _PATTERN.search(str(path))
    fixed = len(path.parts if whole else PurePosixPath(_fixed(str(path))).parts)
    return [
        DataFile(name, _values(name, address), told)
        for name, told in listed(address).items()
        if not _is_hidden(PurePosixPath(name).parts[fixed:])
    ]


def _is_hidden(parts: Iterable[str]) -> bool:
    """Whether engines leave out what folders and files of such names hold."""
    return any(part.startswith((".", "_")) for part in parts)


def _matching(pattern: str) -> list[str]:
    """The files and folders that a pattern names, without those in hidden folders."""
    fixed = len(Path(_fixed(pattern)).parts)
    found = sorted(glob.glob(pattern, recursive=True))
    return [name for name in found if not _is_hidden(Path(name).parts[fixed:])]


def _below(start: str) -> list[str]:
    """The files of a folder and of the folders in it; of a file the file itself."""
    if not Path(start).is_dir():
        return [str(Path(start))]
    found = []
    for folder, folders, names in os.walk(start):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        for name in sorted(names):
            if not name.startswith((".", "_")):
                found.append(str(Path(folder) / name))
    return found


def _fixed(pattern: str) -> str:
    """The folders of a pattern before its first sign."""
    kept: list[str] = []
    for part in Path(pattern).parts[:-1]:
        if _PATTERN.search(part):
            break
        kept.append(part)
    return str(Path(*kept)) if kept else ""


def _values(name: str, root: str) -> dict[str, str]:
    """The values that the folders between a data set and a file state."""
    start = "" if is_remote(root) else root
    parts = PurePosixPath(Path(os.path.relpath(name, start)).as_posix() if start else name).parts
    found = {}
    for part in parts[:-1]:
        column, sign, value = part.partition("=")
        if sign and column and value != _NO_VALUE:
            found[unquote(column)] = unquote(value)
    return found
