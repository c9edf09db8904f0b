"""Data sets of several files: folders, patterns and folders named after values, as engines write.

A folder ``ward=north`` says that its files are of the ward north. That holds for public columns
alone, and only where the files have no such column themselves. A folder never stands for a column
of reports: ``smokes_report=1`` would make every report a 1.

Addresses such as ``s3://bucket/reports/*.parquet`` name files, folders and patterns alike.
"""

from __future__ import annotations

import csv
import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from warner._core.atomic_files import temporary_file
from warner._core.errors import FileError, WarnerError
from warner._core.text import in_one_line, visible
from warner.io.answer_tables import on_several_sheets
from warner.io.csv_format import CsvFormat
from warner.io.formats import FORMATS, answers_in
from warner.io.parquet_format import (
    ParquetFormat,
    ending,
    file_name_in_sql,
    is_remote,
    read_by,
    redacted_address,
    rows_of,
)

_PATTERN = re.compile(r"[*?\[]")
_EXCEL = ".xlsx"
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class DataFile:
    """A file of a data set."""

    path: str  # the file, or its address
    # {public column: value}, by the names of the folders in the path
    values: Mapping[str, str] = field(default_factory=dict)
    told: FileState | None = None  # the state of a file at an address, as a listing told it

    @property
    def name(self) -> str:
        """What messages and checkpoints call it: the path, or the address without secrets."""
        return in_one_line(redacted_address(self.path))

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

    def state(self) -> FileState:
        """What tells whether the file is the same as before; zeros where nothing does."""
        if is_remote(self.path):
            # A listing and a question may tell the same in different words.
            return state_of(self.path) if self.told is None else self.told
        if not Path(self.path).exists():
            return 0, 0
        stat = os.stat(self.path)
        return stat.st_size, stat.st_mtime_ns


def is_data_set(path: str) -> bool:
    """Whether a path is a folder, a pattern or an address, and not the name of one file.

    >>> is_data_set("reports.parquet"), is_data_set("lake/*.parquet"), is_data_set("s3://lake/a.csv")
    (False, True, True)
    """
    if is_remote(path):
        return True
    return Path(path).is_dir() or (bool(_PATTERN.search(path)) and not Path(path).exists())


def files_of(path: str, left_out: list[str] | None = None) -> list[DataFile]:
    """The files of a data set by name, without those of no format, ``_SUCCESS`` or ``.a``."""
    if is_remote(path):
        every = _at(path)
    else:
        starts = [path] if Path(path).is_dir() else matching(path)
        names = dict.fromkeys(name for start in starts for name in _below(start))
        every = [DataFile(name, folder_values(name)) for name in names]
    files = [file for file in every if _may_have_reports(file.path)]
    if left_out is not None:
        left_out += [file.path for file in every if not _may_have_reports(file.path)]
    if not files:
        rule = f"has no files whose names end in {', '.join(form.suffix for form in FORMATS)}"
        packed = [file.name for file in every if ending(file.path) in PACKED]
        remedy = f"Unpack the compressed files, such as {packed[0]}" if packed else "Check the path"
        raise FileError(redacted_address(path), rule, None, _of_folders(path) or remedy)
    return files


def _may_have_reports(name: str) -> bool:
    return ending(name) in [form.suffix for form in FORMATS]


def _of_folders(pattern: str) -> str | None:
    """Where files are that a pattern missed, because they lie in folders of its folder."""
    deeper = str(Path(pattern).parent / "**" / Path(pattern).name)
    if Path(pattern).is_dir() or is_remote(pattern) or "**" in pattern:
        return None
    if not any(_may_have_reports(n) for start in matching(deeper) for n in _below(start)):
        return None
    return f"The files lie in folders below. Name the folder, or write '{deeper}'"


def matching(pattern: str) -> list[str]:
    """The files and folders here that a pattern matches, by name, without those that are hidden."""
    fixed = len(Path(_fixed(pattern)).parts)
    names = sorted(glob.glob(pattern, recursive=True))
    return [name for name in names if not _is_hidden(Path(name).parts[fixed:])]


def _at(address: str) -> list[DataFile]:
    """The files at an address."""
    path = PurePosixPath(redacted_address(address))
    whole = not _PATTERN.search(str(path))
    fixed = len(path.parts if whole else PurePosixPath(_fixed(str(path))).parts)
    return [
        DataFile(name, folder_values(name), state)
        for name, state in listed(address).items()
        if not _is_hidden(PurePosixPath(name).parts[fixed:])
    ]


def _is_hidden(parts: Iterable[str]) -> bool:
    """Whether engines leave out what folders and files of such names hold."""
    return any(name.startswith((".", "_")) for name in parts)


def _below(start: str) -> list[str]:
    """The files of a folder and of the folders in it; of a file the file itself."""
    if not Path(start).is_dir():
        return [str(Path(start))]
    files = []
    for folder, folders, names in os.walk(start):
        folders[:] = sorted(name for name in folders if not _is_hidden([name]))
        files += [str(Path(folder) / name) for name in sorted(names) if not _is_hidden([name])]
    return files


def _fixed(pattern: str) -> str:
    """The folders of a pattern before its first sign."""
    folders: list[str] = []
    for name in Path(pattern).parts[:-1]:
        if _PATTERN.search(name):
            break
        folders.append(name)
    return str(Path(*folders)) if folders else ""


def folder_values(name: str) -> dict[str, str]:
    """The values that the folders of a path state, also those that the command names."""
    path = PurePosixPath(name if is_remote(name) else Path(name).as_posix())
    stated = {}
    for folder in path.parts[:-1]:
        column, sign, value = folder.partition("=")
        if sign and column and value != _NO_VALUE:
            stated[unquote(column)] = unquote(value)
    return stated


# -----------------------------------------------------------------------------------------------
# Files at addresses, such as ``s3://bucket/reports/part-0.parquet``.
#
# Where fsspec and the package for the address are installed, such as s3fs, these list and read.
# Otherwise DuckDB does, by its own extension and its stored secrets.
#
# Of a Parquet file that another program wrote, only the columns of reports are fetched. Any other
# file is fetched whole: a seal is of all bytes, and CSV has no columns that could be fetched alone.
#
# An address may hold a password, a key or a signature. Messages and files name it without these.


_WEB = ("http", "https")  # one file at each address
_STATES = (
    "ETag",
    "etag",
    "md5Hash",
    "mtime",
    "LastModified",
    "last_modified",
    "updated",
    "modified",
    "created",
)
"""What tells a changed file, by the names in fsspec's file systems; the best first."""
PACKED = (".gz", ".zst", ".bz2", ".xz", ".zip")  # endings of compressed files
_FSSPEC = "Install a package of fsspec for such addresses, for s3:// with: pip install s3fs"
_BY_DUCKDB = (
    f"Check the address. {_FSSPEC}. To read the address with DuckDB alone, run INSTALL httpfs and "
    "CREATE SECRET in DuckDB"
)


@cache
def _system(root: str) -> Any:
    """The file system of fsspec for addresses that begin so; None where it is not installed."""
    try:
        from fsspec.core import url_to_fs

        # An instance of our own, because its way to open files is changed.
        system, _ = url_to_fs(root, skip_instance_cache=True)
    except (ImportError, ValueError):  # ValueError: a protocol that fsspec does not know
        return None
    opened = system.open
    # DuckDB asks for the ranges that it needs. A cache would fetch megabytes around each.
    system.open = lambda path, mode="rb", **options: opened(
        path, mode, **{"cache_type": "none", **options}
    )
    return system


def _system_of(address: str) -> Any:
    """The file system of fsspec for an address; None where it is not installed."""
    scheme, _, rest = address.partition("://")
    with _reached(address, "cannot be reached"):
        return _system(f"{scheme}://{rest.partition('/')[0].partition('?')[0]}")


def _is_web(address: str) -> bool:
    return address.partition("://")[0].lower() in _WEB


@contextmanager
def _reached(address: str, rule: str, ours: bool = False) -> Iterator[None]:
    """Replace the errors of a file system, which may quote an address."""
    try:
        yield
        return
    except WarnerError:
        raise
    except Exception as error:  # each file system has errors of its own
        if ours and type(error).__module__ == "builtins" and not isinstance(error, OSError):
            raise
        kind = type(error).__name__
    remedy = "Check the address, and the credentials stored for it"
    raise FileError(redacted_address(address), rule, kind, remedy)


FileState = tuple[int, int | str]
"""The size of a file in bytes, and what changes with its content: a time in ns, or a tag."""


def listed(address: str) -> dict[str, FileState | None]:
    """The files at an address: one file, those below a folder, or those of a pattern."""
    if _is_web(address):
        return {address: None}
    system = _system_of(address)
    if system is None:
        return dict.fromkeys(_listed_by_duckdb(address))
    with _reached(address, "cannot be listed"):
        system.invalidate_cache()
        path = system._strip_protocol(address)
        files: dict[str, Any] = {}
        if _PATTERN.search(path):
            files = system.glob(path, detail=True)
        folders = [name for name, state in files.items() if state["type"] == "directory"]
        for folder in folders if files else [path]:
            files |= system.find(folder, detail=True)
        return {
            str(system.unstrip_protocol(name)): _state(state)
            for name, state in sorted(files.items())
            if state["type"] == "file"
        }


def _state(value: Mapping[str, Any]) -> FileState:
    """The state of a file by what a file system of fsspec tells of it."""
    tag = next((value[name] for name in _STATES if value.get(name)), "")
    return int(value.get("size") or 0), str(tag).removeprefix("W/").strip('"')


def _listed_by_duckdb(address: str) -> list[str]:
    """The files at an address, by DuckDB's own extension."""
    is_file = _PATTERN.search(address) or ending(address)
    pattern = address if is_file else f"{address.rstrip('/')}/**"
    if files := rows_of("SELECT file FROM glob(?) ORDER BY file", pattern):
        return [str(name) for (name,) in files]
    # Of an address that it does not know, DuckDB says that there are no files.
    rule = "has no files, or cannot be listed by DuckDB"
    raise FileError(redacted_address(address), rule, None, _BY_DUCKDB)


def state_of(address: str) -> FileState:
    """The state of a file at an address, asked anew; zeros where it is not known."""
    system = _system_of(address)
    if system is None:
        return _state_by_duckdb(address)
    with _reached(address, "cannot be read"):
        system.invalidate_cache()
        return _state(system.info(address))


def _state_by_duckdb(address: str) -> FileState:
    """The size and the time of the last change, by DuckDB's own extension."""

    # A time itself would need pytz.
    sql = f"SELECT size, epoch_us(last_modified) FROM read_blob({file_name_in_sql(address)})"
    rows = rows_of(sql)
    if rows is None:
        raise FileError(redacted_address(address), "cannot be read", None, _BY_DUCKDB)
    return (int(rows[0][0]), int(rows[0][1] or 0) * 1000) if rows else (0, "")


@contextmanager
def local_name(path: str, for_sql: bool = False) -> Iterator[str]:
    """The path of a file in the block, or of its copy where it cannot be counted directly.

    A workbook is one that SQL cannot read: its first table is.
    """
    from warner.io.read_answers import table_cells

    if not is_remote(path):
        if not for_sql or ending(path) != _EXCEL or not Path(path).is_file():
            yield path
            return
        with temporary_file(suffix=CsvFormat.suffix) as copy, named(copy, path):
            names, lines = table_cells(path)
            sheets = answers_in(path, []).sheets
            shared = [title for title in sheets if {*names} & {*sheets[title].names} - {""}]
            if len(shared) > 1:
                raise on_several_sheets(path, "columns with the same name", shared)
            with open(copy, "w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([names, *(cells for _, cells in lines)])
            yield copy
        return
    # Errors of the block name the address.
    system = _system_of(path)
    with named(path, path):
        if system is None:
            # The seal of a report file of warner is of all bytes.
            if ending(path) == ParquetFormat.suffix and all(ParquetFormat().read_ends(path)):
                rule = "is a report file of warner, which DuckDB cannot download as a whole"
                raise FileError(path, rule, None, _FSSPEC)
            yield path
        elif _is_whole(system, path):
            with _copied(system, path) as copy:
                yield copy
        else:
            before = state_of(path)
            with read_by(system), _reached(path, "cannot be read", ours=True):
                yield path
            if state_of(path) != before:
                rule, remedy = "was changed while it was counted", "Run the command again"
                raise FileError(path, rule, None, remedy)


def _is_whole(system: Any, address: str) -> bool:
    """Whether a file is fetched whole: any but a Parquet file of another program."""
    if _is_web(address) or ending(address) != ParquetFormat.suffix:
        return True
    with read_by(system), _reached(address, "cannot be read"):
        return all(ParquetFormat().read_ends(address))


@contextmanager
def _copied(system: Any, address: str) -> Iterator[str]:
    """A copy of a file at an address."""
    with temporary_file(suffix=ending(address)) as copy, named(copy, address):
        with _reached(address, "cannot be read"):
            size, _ = state_of(address)
            system.get_file(system._strip_protocol(address), copy)
        if size and os.path.getsize(copy) != size:
            rule = "the downloaded copy has another size than the file at its address"
            remedy = "Run the command again"
            raise FileError(copy, rule, None, remedy)
        yield copy


@contextmanager
def named(path: str, address: str) -> Iterator[None]:
    """Let errors of the block name an address where they name a path."""
    try:
        yield
    except WarnerError as error:
        said = redacted_address(address)
        error.args = tuple(
            text.replace(visible(path), said) if isinstance(text, str) else text
            for text in error.args
        )
        raise
