"""Reports: what leaves the device, as typed columns and the header that says what made them.

A layout states which columns a mechanism's report has and which values they may take; from it follow the dtypes, the
checks of foreign input, the serialised form and the way reports are counted.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from warner._check import ArgumentTypeError, EmptyError, FileError, ReportError, kind, message
from warner.domain import canonical

SCHEMA = 1
_MAGIC = b"warner-reports 1\n"


def smallest_dtype(size: int) -> np.dtype[Any]:
    """The smallest unsigned dtype that holds 0..size-1."""
    return np.min_scalar_type(size - 1)


@dataclass(frozen=True)
class Fields:
    """A report is a tuple of integers: column ``names[i]`` takes values 0..sizes[i]-1."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    def empty(self, n: int) -> dict[str, np.ndarray]:
        return {name: np.empty(n, smallest_dtype(size)) for name, size in zip(self.names, self.sizes, strict=True)}

    def check(self, columns: Mapping[str, np.ndarray]) -> None:
        """Refuse values that the mechanism cannot have sent."""
        for name, size in zip(self.names, self.sizes, strict=True):
            if size <= np.iinfo(columns[name].dtype).max:
                refuse_reports(columns[name] >= size, f"{name} must lie in 0..{size - 1}")


@dataclass(frozen=True)
class Bits:
    """A report is ``width`` bits, packed 8 to a byte with the most significant bit first; the padding bits are 0.

    ``ones``: how many bits are set in every report, or None where that varies. ``lone``: a mask of packed bytes, of whose bits at
    most one is set.
    """

    width: int
    ones: int | None = None
    lone: bytes = b""

    @property
    def bytes(self) -> int:
        return -(-self.width // 8)

    @property
    def padding(self) -> int:
        """Bits of the last byte that carry nothing."""
        return -self.width % 8

    def empty(self, n: int) -> dict[str, np.ndarray]:
        return {"bits": np.empty((n, self.bytes), np.uint8)}

    def check(self, columns: Mapping[str, np.ndarray]) -> None:
        """Refuse padding bits that are set, and reports with the wrong number of ones."""
        packed = columns["bits"]
        if self.padding:
            refuse_reports(packed[:, -1] & (2**self.padding - 1) != 0, "padding bits must be 0")
        if self.ones is not None:
            set_bits = np.bitwise_count(packed).sum(axis=1, dtype=np.int64)
            refuse_reports(set_bits != self.ones, f"every report must have {self.ones} bits set")
        if self.lone:
            named = np.bitwise_count(packed & np.frombuffer(self.lone, np.uint8)).sum(axis=1, dtype=np.int64)
            refuse_reports(named > 1, "at most one bit of a non-sensitive value may be set")


Layout = Fields | Bits


def refuse_reports(bad: np.ndarray, rule: str) -> None:
    """Raise ReportError for the rows at which ``bad`` (n,) is true."""
    where = np.flatnonzero(bad)
    if where.size:
        raise ReportError(message("reports", f"row {where[0]}: {rule}", f"{where.size} such rows", "Were they made by this mechanism?"))


class Reports:
    """n reports of one mechanism, as read-only columns, with the header that names it.

    Made by ``mechanism.randomize`` and ``mechanism.reports``; the constructor checks shapes, not membership.

    >>> from warner import Categorical, RandomizedResponse
    >>> reports = RandomizedResponse(Categorical(["no", "yes"]), 1.0).randomize(["yes", "no", "yes"])
    >>> len(reports), list(reports.columns), reports.header["mechanism"]
    (3, ['report'], 'RandomizedResponse')
    """

    def __init__(self, header: Mapping[str, Any], columns: Mapping[str, np.ndarray]) -> None:
        if not isinstance(header, Mapping) or not isinstance(columns, Mapping):
            raise ArgumentTypeError(message("reports", "need a header and columns", kind(header), "Use mechanism.reports(outputs)"))
        self.header = dict(header)
        self.columns = {name: _frozen(column) for name, column in columns.items()}
        if not self.columns or len({len(c) for c in self.columns.values()}) != 1:
            raise ReportError(message("reports", "must have at least one column, all of one length"))

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __repr__(self) -> str:
        return f"Reports({self.header.get('mechanism')}, n={len(self)})"

    def __getitem__(self, rows: slice) -> Reports:
        if not isinstance(rows, slice):
            raise ArgumentTypeError(message("reports", "are taken by slices", kind(rows)))
        return Reports(self.header, {name: column[rows] for name, column in self.columns.items()})

    def record_array(self) -> np.ndarray:
        """Each report as it is serialised, (n, bytes) uint8: its columns' bytes, fixed length, little endian, nothing else."""
        parts = [np.ascontiguousarray(_little(c)).view(np.uint8).reshape(len(self), -1) for c in self.columns.values()]
        return np.concatenate(parts, axis=1)

    def records(self) -> list[bytes]:
        """The rows of :meth:`record_array` as byte strings."""
        return [row.tobytes() for row in self.record_array()]

    def to_bytes(self) -> bytes:
        """The reports as one self-describing byte string: magic, header, columns, SHA-256."""
        layout = [[name, _little(c).dtype.str, list(c.shape[1:])] for name, c in self.columns.items()]
        head = canonical({"schema": SCHEMA, "header": self.header, "n": len(self), "columns": layout}).encode()
        body = b"".join(_little(c).tobytes() for c in self.columns.values())
        text = _MAGIC + len(head).to_bytes(4, "little") + head + body
        return text + hashlib.sha256(text).digest()

    @classmethod
    def from_bytes(cls, data: bytes) -> Reports:
        """Reports from :meth:`to_bytes`; raises FileError unless every byte is as it was written."""
        if not data.startswith(_MAGIC):
            raise FileError(message("reports", "are not in warner's wire format", None, "Was the file written by Reports.save?"))
        if len(data) < len(_MAGIC) + 36 or hashlib.sha256(data[:-32]).digest() != data[-32:]:
            raise FileError(message("reports", "are truncated or altered: the checksum does not match", None, "Fetch the file again"))
        start = len(_MAGIC) + 4
        end = start + int.from_bytes(data[len(_MAGIC) : start], "little")
        try:
            head = json.loads(data[start:end])
            if head["schema"] != SCHEMA or type(head["n"]) is not int or head["n"] < 0:
                raise ValueError
            columns = {}
            for name, dtype, shape in head["columns"]:
                column = np.frombuffer(data[:-32], dtype, head["n"] * int(np.prod(shape, dtype=int)), end)
                columns[str(name)] = column.reshape(head["n"], *shape).astype(np.dtype(dtype).newbyteorder("="), copy=False)
                end += column.nbytes
            if end != len(data) - 32:
                raise ValueError
            return cls(head["header"], columns)
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
            pass
        raise FileError(message("reports", "do not have the form that their checksum vouches for", None, "Use the version of warner that wrote them"))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the wire format to ``path``, whole or not at all."""
        write_whole(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Reports:
        """Read what :meth:`save` wrote. Parquet and CSV reports are read by ``warner.files``."""
        return cls.from_bytes(read_whole(path))


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[str]:
    """A temporary file to write, which becomes ``path`` when the block ends and vanishes when it fails.

    A reader sees the old file or all of the new one. Links are followed and an existing file keeps its permissions; what is
    no regular file (a pipe, a device) is written to at the end and not replaced.
    """
    target = Path(path).resolve()
    regular = target.is_file() or not target.exists()
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "is a directory")
        handle, temporary = tempfile.mkstemp(dir=target.parent if regular else None, prefix=".warner-", suffix=target.suffix)
    except OSError as error:
        problem: FileError | None = FileError(
            message(str(path), "cannot be written", error.strerror or type(error).__name__, "Check the path and its folder")
        )
    else:
        problem = None
    if problem is not None:
        raise problem
    os.close(handle)
    try:
        yield temporary
        if regular:
            # mkstemp makes private files; a new result gets what any new file gets.
            os.chmod(temporary, target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
            os.replace(temporary, target)
        else:
            with open(temporary, "rb") as source, open(target, "wb") as sink:
                shutil.copyfileobj(source, sink)
    finally:
        Path(temporary).unlink(missing_ok=True)


@lru_cache(maxsize=1)
def _umask() -> int:
    """The process's mask for new files; it can only be read by setting it, so it is read once."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file whole or not at all: see :func:`whole_file`."""
    with whole_file(path) as temporary:
        Path(temporary).write_bytes(data)


def read_whole(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file; FileError where it cannot be opened."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        problem = FileError(message(str(path), "cannot be opened", error.strerror or type(error).__name__, "Check the path"))
    raise problem


def columns_from(layout: Layout, outputs: Any) -> dict[str, np.ndarray]:
    """Foreign outputs as the layout's columns, checked: a dict of integer columns, one column, or (n, K) zeros and ones."""
    if isinstance(layout, Bits):
        array = _integers("outputs", outputs["bits"] if isinstance(outputs, Mapping) else outputs)
        if array.ndim != 2 or array.shape[1] not in (layout.width, layout.bytes) or (isinstance(outputs, Mapping) and array.shape[1] != layout.bytes):
            raise ReportError(
                message("outputs", f"must have shape (n, {layout.width}), or (n, {layout.bytes}) packed as {{'bits': ...}}", str(array.shape))
            )
        if isinstance(outputs, Mapping):
            refuse_reports(np.any((array < 0) | (array > 255), axis=1), "packed bytes must lie in 0..255")
            columns = {"bits": array.astype(np.uint8)}
        else:
            refuse_reports(np.any((array != 0) & (array != 1), axis=1), "bits must be 0 or 1")
            columns = {"bits": np.packbits(array.astype(np.uint8), axis=1)}
    else:
        if not isinstance(outputs, Mapping):
            if len(layout.names) > 1:
                raise ArgumentTypeError(message("outputs", f"must be a dict with the columns {', '.join(layout.names)}", kind(outputs)))
            outputs = {layout.names[0]: outputs}
        columns = {}
        for name, size in zip(layout.names, layout.sizes, strict=True):
            if name not in outputs:
                raise ReportError(message("outputs", f"has no column {name!r}"))
            array = _integers(name, outputs[name])
            if array.ndim != 1:
                raise ReportError(message(name, "must be one-dimensional", str(array.shape)))
            refuse_reports((array < 0) | (array >= size), f"{name} must lie in 0..{size - 1}")
            columns[name] = array.astype(smallest_dtype(size))
    if len(next(iter(columns.values()))) == 0:
        raise EmptyError(message("outputs", "must not be empty", None, "Pass at least one report"))
    layout.check(columns)
    return columns


def _integers(name: str, values: Any) -> np.ndarray:
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind == "b":
        array = array.astype(np.uint8)
    if array.dtype.kind not in "iu" and array.size:
        raise ReportError(message(name, "must be an array of integers", str(array.dtype), "Reports are encoded as in the mechanism's layout"))
    return array.astype(np.int64, copy=False) if array.size else array.reshape(array.shape).astype(np.int64)


def _little(column: np.ndarray) -> np.ndarray:
    return column.astype(column.dtype.newbyteorder("<"), copy=False)


def _frozen(column: np.ndarray) -> np.ndarray:
    view = np.asarray(column).view()
    view.setflags(write=False)
    return view
