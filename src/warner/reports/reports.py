"""Reports: what leaves the device, as typed columns and the header that says what made them."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from warner._core.checks import ArgumentTypeError, FileError, ReportError, kind, message
from warner._core.sampling import Source
from warner._core.shuffle import permutation
from warner.domains import canonical
from warner.reports.schema import Bits as Bits
from warner.reports.schema import Fields as Fields
from warner.reports.schema import Layout as Layout
from warner.reports.schema import Together as Together
from warner.reports.schema import columns_from as columns_from
from warner.reports.schema import smallest_dtype as smallest_dtype

SCHEMA = 1
_MAGIC = b"warner-reports 1\n"


class Reports:
    """n reports of one mechanism, as read-only columns, with the header that names it.

    Made by ``mechanism.randomize`` and ``mechanism.reports``; the constructor checks shapes, not membership.

    Attributes:
        header: the mechanism's header.
        columns: {name: column}, in the order of the answers.
        simulated: whether they were made with a generator that can be repeated, so that privacy does not hold for them.

    >>> from warner import Categorical, RandomizedResponse
    >>> reports = RandomizedResponse(Categorical(["no", "yes"]), 1.0).randomize(["yes", "no", "yes"])
    >>> len(reports), list(reports.columns), reports.header["mechanism"]
    (3, ['report'], 'RandomizedResponse')
    """

    def __init__(self, header: Mapping[str, Any], columns: Mapping[str, np.ndarray], simulated: bool = False) -> None:
        if not isinstance(header, Mapping) or not isinstance(columns, Mapping):
            raise ArgumentTypeError(message("reports", "need a header and columns", kind(header), "Use mechanism.reports(outputs)"))
        if type(simulated) is not bool:
            raise ArgumentTypeError(message("simulated", "must be True or False", kind(simulated)))
        self.simulated = simulated
        self.header = dict(header)
        self.columns = {name: _frozen(column) for name, column in columns.items()}
        if not self.columns or len({len(c) for c in self.columns.values()}) != 1:
            raise ReportError(message("reports", "must have at least one column, all of one length"))

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __repr__(self) -> str:
        return f"Reports({self.header.get('mechanism')}, n={len(self)}{', simulated' if self.simulated else ''})"

    def __getitem__(self, rows: slice) -> Reports:
        if not isinstance(rows, slice):
            raise ArgumentTypeError(message("reports", "are taken by slices", kind(rows)))
        return Reports(self.header, {name: column[rows] for name, column in self.columns.items()}, self.simulated)

    def record_array(self) -> np.ndarray:
        """Each report as it is serialised, (n, bytes) uint8: its columns' bytes, fixed length, little endian, nothing else."""
        parts = [np.ascontiguousarray(_little(c)).view(np.uint8).reshape(len(self), -1) for c in self.columns.values()]
        return np.concatenate(parts, axis=1)

    def records(self) -> list[bytes]:
        """The rows of :meth:`record_array` as byte strings."""
        return [row.tobytes() for row in self.record_array()]

    def to_bytes(self, keep_order: bool = False) -> bytes:
        """The reports as one self-describing byte string: magic, header, columns, SHA-256.

        Args:
            keep_order: write the reports in the order of the answers. The order can say whose report is whose, for example
                where the answers were sorted. Without it the order is drawn by the operating system's randomness.
        """
        columns = self.columns
        if not keep_order and len(self) > 1:
            order = permutation(Source(None), len(self))
            columns = {name: c[order] for name, c in columns.items()}
        layout = [[name, _little(c).dtype.str, list(c.shape[1:])] for name, c in columns.items()]
        mark = {"simulated": True} if self.simulated else {}
        head = canonical({"schema": SCHEMA, "header": self.header, "n": len(self), "columns": layout, **mark}).encode()
        body = b"".join(_little(c).tobytes() for c in columns.values())
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
                if not re.fullmatch("[<|][biuf][1248]", dtype) or any(type(size) is not int or size < 0 for size in shape):
                    raise ValueError
                column = np.frombuffer(data[:-32], dtype, head["n"] * int(np.prod(shape, dtype=int)), end)
                columns[str(name)] = column.reshape(head["n"], *shape).astype(np.dtype(dtype).newbyteorder("="), copy=False)
                end += column.nbytes
            if end != len(data) - 32:
                raise ValueError
            return cls(head["header"], columns, head.get("simulated", False))
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
            pass
        raise FileError(message("reports", "do not have the form that their checksum vouches for", None, "Use the version of warner that wrote them"))

    def save(self, path: str | os.PathLike[str], keep_order: bool = False) -> None:
        """Write the wire format to ``path``, whole or not at all; ``keep_order`` as in :meth:`to_bytes`."""
        write_whole(path, self.to_bytes(keep_order))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Reports:
        """Read what :meth:`save` wrote. Parquet and CSV reports are read by ``warner.io``."""
        return cls.from_bytes(read_whole(path))


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[str]:
    """A temporary file to write, which becomes ``path`` when the block ends and vanishes when it fails.

    A reader sees the old file or all of the new one, also after a power cut: the content reaches the disk before the name does.
    The temporary file is readable by its owner alone. Links are followed and an existing file keeps its permissions; what is
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
            _to_disk(temporary)
            os.replace(temporary, target)
            _to_disk(target.parent)
        else:
            with open(temporary, "rb") as source, open(target, "wb") as sink:
                shutil.copyfileobj(source, sink)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _to_disk(path: str | Path) -> None:
    """Wait until a file, or the list of the files in a folder, is on the disk; of folders, where the system can."""
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


def _little(column: np.ndarray) -> np.ndarray:
    return column.astype(column.dtype.newbyteorder("<"), copy=False)


def _frozen(column: np.ndarray) -> np.ndarray:
    view = np.asarray(column).view()
    view.setflags(write=False)
    return view


def columns_of(layout: Layout, records: np.ndarray) -> dict[str, np.ndarray]:
    """The columns of reports given as :meth:`Reports.record_array` makes them, (n, bytes) uint8; ReportError where the length is another."""
    columns, start = {}, 0
    for name, empty in layout.empty(1).items():
        part = np.ascontiguousarray(records[:, start : start + empty.nbytes])
        start += empty.nbytes
        if part.shape[1] != empty.nbytes:
            break
        columns[name] = part.view(empty.dtype.newbyteorder("<")).reshape(len(records), *empty.shape[1:]).astype(empty.dtype)
    if start != records.shape[1]:
        raise ReportError(message("reports", "must have the length of this mechanism's", f"{records.shape[1]} bytes"))
    return columns
