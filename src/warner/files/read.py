"""Reports in: counted by one GROUP BY per statistic in constant memory, or read whole."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from warner._check import (
    ArgumentError,
    FileError,
    ReportError,
    message,
)
from warner.domain import Product
from warner.files._format import CSV_END, CSV_START, FORMATS, SCHEMA, digest_of, file_columns, from_file
from warner.files.batches import batches
from warner.layout import Bits, Digits, Together, smallest_dtype
from warner.mechanisms import Mechanism, PerAttribute, from_header
from warner.reports import Reports
from warner.tally import Tally

if TYPE_CHECKING:
    import duckdb

JOINT = "joint"  # what a tally file calls the tables of several attributes together


@dataclass(frozen=True)
class ReportFile:
    """A report file's header and end, read and checked; the reports themselves are only counted."""

    path: str
    mechanisms: dict[str, Mechanism]
    end: dict[str, Any]
    simulation: bool

    @property
    def columns(self) -> dict[str, int]:
        return {name: size for a, m in self.mechanisms.items() for name, size in file_columns(a, m.layout).items()}

    def relation(self) -> str:
        """The file as a table in DuckDB's SQL."""
        if self.path.endswith(".parquet"):
            return f"read_parquet({_path(self.path)})"
        types = ", ".join(f"{_quoted(name)}: {_quoted(_sql_type(size))}" for name, size in self.columns.items())
        return (
            f"read_csv({_path(self.path)}, auto_detect=false, header=true, delim=',', comment='#', strict_mode=true, "
            f"null_padding=false, nullstr='', columns={{{types}}})"
        )


def _sql_type(size: int) -> str:
    return {1: "UTINYINT", 2: "USMALLINT", 4: "UINTEGER", 8: "UBIGINT"}[smallest_dtype(size).itemsize]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _path(path: str) -> str:
    """A file name in SQL: DuckDB would take ``*``, ``?`` and ``[`` for a pattern of several names."""
    return _quoted("".join(f"[{c}]" if c in "*?[" else c for c in path))


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def open_reports(path: str) -> ReportFile:
    """Read the header and end of a report file; raises FileError unless both are there and make sense."""
    if Path(path).suffix not in FORMATS:
        raise ArgumentError(message("path", f"must end in {' or '.join(FORMATS)}", path))
    if not Path(path).is_file():
        raise FileError(message(path, "is not a file", None, "Check the path"))
    head_text, end_text = _parquet_ends(path) if path.endswith(".parquet") else _csv_ends(path)
    try:
        head = json.loads(head_text) if head_text else None
        end = json.loads(end_text) if end_text else None
    except ValueError:
        raise FileError(message(path, "has a header that was altered", None, "Fetch the file again")) from None
    if not isinstance(head, dict) or head.get("format") != "warner-reports" or not isinstance(head.get("attributes"), dict):
        raise FileError(message(path, "is not a report file of warner", None, "Make one with 'warner randomize'"))
    if head.get("schema") != SCHEMA:
        raise FileError(message(path, f"schema must be {SCHEMA}", repr(head.get("schema")), "Use the version of warner that wrote it"))
    if not isinstance(end, dict) or not isinstance(end.get("n"), int):
        raise FileError(message(path, "has no end: it is truncated, or was saved by another program", None, "Fetch the file again"))
    if digest_of(path)[0] != end.get("sha256"):
        raise FileError(
            message(path, "was altered, or saved by another program: it lacks the checksum that its end states", None, "Fetch the file again")
        )
    mechanisms = {attribute: from_header(header) for attribute, header in head["attributes"].items()}
    return ReportFile(path, mechanisms, end, bool(head.get("simulation")))


def _csv_ends(path: str) -> tuple[bytes, bytes]:
    with open(path, "rb") as file:
        head = file.readline()
        if not head.startswith(CSV_START):
            return b"", b""
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 2**20))
        tail = file.read().rstrip(b"\n").rsplit(b"\n", 1)[-1]
    return head[len(CSV_START) :], tail[len(CSV_END) :] if tail.startswith(CSV_END) else b""


def _parquet_ends(path: str) -> tuple[bytes, bytes]:
    import duckdb

    with _connection() as database:
        try:
            found = database.execute(f"SELECT key, value FROM parquet_kv_metadata({_path(path)})").fetchall()
        except duckdb.Error:
            raise FileError(message(path, "is not readable as Parquet, or is truncated", None, "Fetch the file again")) from None
    pairs = {bytes(key): bytes(value) for key, value in found}
    return pairs.get(b"warner", b""), pairs.get(b"warner.end", b"")


def _connection() -> duckdb.DuckDBPyConnection:
    import duckdb

    # Not the shared default connection: settings and errors stay here.
    return duckdb.connect(":memory:")


def tally_file(path: str | ReportFile, progress: Any = None, ways: int | None = None) -> dict[str, Tally]:
    """Count the reports in a .parquet or .csv file: {attribute: Tally}, by one GROUP BY per statistic; tuples in batches.

    Args:
        path: a file that ``warner randomize``, ReportWriter or write_reports wrote; or what open_reports made of it.
        progress: called with (done, total) while a file is counted.
        ways: keep tables of so many attributes together: of a file of PerAttribute's reports, or of all attributes of a file, whose reports
            are then one person's tuple: {"joint": Tally}.

    Raises:
        ArgumentError: tables that would be too large; the message says which ``ways`` fit.
        FileError: truncated or altered.
        ReportError: a report that its mechanism cannot have sent.
    """
    import duckdb

    file = path if isinstance(path, ReportFile) else open_reports(path)
    path = file.path
    if ways is not None:
        return _tally_joint(file, ways, progress)
    steps = sum(len(m.layout.file_columns()) if isinstance(m.layout, Bits | Digits) else 1 for m in file.mechanisms.values())
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, steps)

    tallies = {}
    with _connection() as database:
        for attribute, mechanism in file.mechanisms.items():
            if isinstance(mechanism.layout, Together):
                tallies[attribute] = _tally_batches(file, mechanism, partial(from_file, attribute, mechanism.layout))
                advance()
                continue
            names = list(file_columns(attribute, mechanism.layout))
            try:
                if isinstance(mechanism.layout, Bits):
                    sort, counts, n = _count_bits(database, file.relation(), names, mechanism.layout, advance)
                elif isinstance(mechanism.layout, Digits):
                    sort, counts, n = _count_digits(database, file.relation(), names, mechanism.layout, advance)
                else:
                    sort, counts, n = _count_fields(database, file.relation(), names, mechanism.layout.sizes)
                    advance()
            except duckdb.Error:
                raise FileError(message(path, "has rows that cannot be read as reports", None, "Was it written by warner?")) from None
            except ReportError as error:
                raise ReportError(f"{path}: {error}") from None
            tallies[attribute] = Tally(mechanism.header, sort, counts, n, None, file.simulation)
    if any(t.n != file.end["n"] for t in tallies.values()):
        raise FileError(message(path, f"must hold {file.end['n']} reports of every attribute", None, "Fetch the file again"))
    return tallies


def _tally_joint(file: ReportFile, ways: int, progress: Any) -> dict[str, Tally]:
    """Tables of the attributes of a file together."""
    parts = file.mechanisms
    if len(parts) == 1:
        ((name, mechanism),) = parts.items()
        if not isinstance(mechanism, PerAttribute):
            raise ArgumentError(message("ways", "takes reports of several attributes", name, "Leave it out"))
        return {name: _tally_batches(file, mechanism, partial(from_file, name, mechanism.layout), progress, ways=ways)}
    whole = PerAttribute(Product(**{a: m.domain for a, m in parts.items()}), parts)

    def columns(batch: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return whole.layout.joined({a: from_file(a, m.layout, batch) for a, m in parts.items()})

    return {JOINT: _tally_batches(file, whole, columns, progress, ways=ways)}


def _tally_batches(
    file: ReportFile, mechanism: Mechanism, columns: Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]], progress: Any = None, **how: Any
) -> Tally:
    """The tally of tuples, batch by batch, each checked as reports in memory are."""
    total: Tally | None = None
    for batch in batches(file.path, file.columns):
        found = columns(batch)
        try:
            mechanism.layout.check(found)
        except ReportError as error:
            raise ReportError(f"{file.path}: {error}") from None
        part = mechanism.counted(found, **how)
        total = part if total is None else total + part
        if progress is not None:
            progress(total.n, file.end["n"])
    if total is None or total.n != file.end["n"]:
        raise FileError(message(file.path, f"must hold {file.end['n']} reports of every attribute", None, "Fetch the file again"))
    return total.marked(file.simulation)


def _count_fields(database: duckdb.DuckDBPyConnection, relation: str, names: list[str], sizes: tuple[int, ...]) -> tuple[str, np.ndarray, int]:
    columns = ", ".join(map(_name, names))
    found = database.execute(f"SELECT {columns}, count(*) AS seen FROM {relation} GROUP BY {columns}").fetchnumpy()
    return "histogram", *_place([found[name] for name in names], found["seen"], sizes, names)


def _place(columns: list[Any], seen: Any, sizes: tuple[int, ...], names: list[str]) -> tuple[np.ndarray, int]:
    """Counts of distinct reports, put in the layout's table."""
    for column, size, name in zip(columns, sizes, names, strict=True):
        if np.ma.getmaskarray(column).any():
            raise ReportError(message("reports", f"{name} has rows without a report"))
        if len(column) and int(np.max(column)) >= size:
            raise ReportError(message("reports", f"{name} must lie in 0..{size - 1}", f"{int(np.sum(seen[column >= size]))} rows beyond it"))
    table = np.zeros(sizes, dtype=np.int64)
    table[tuple(np.asarray(c, dtype=np.int64) for c in columns)] = np.asarray(seen, dtype=np.int64)
    return table, int(table.sum())


def _count_bits(database: duckdb.DuckDBPyConnection, relation: str, names: list[str], layout: Bits, advance: Any) -> tuple[str, np.ndarray, int]:
    """Bit sums from the 256-bin histogram of every byte column."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.int64)
    sums, n = [], 0
    for name in names:
        _, histogram, n = _count_fields(database, relation, [name], (256,))
        sums.append(histogram @ bits)
        advance()
    if layout.padding and histogram[np.arange(256) & (2**layout.padding - 1) != 0].any():
        raise ReportError(message("reports", "padding bits must be 0"))
    if layout.ones is not None:
        total = " + ".join(f"bit_count({_name(name)})::INTEGER" for name in names)  # a sum of bytes would overflow
        row = database.execute(f"SELECT count(*) FROM {relation} WHERE {total} <> {layout.ones}").fetchone()
        if row is None or row[0]:
            raise ReportError(message("reports", f"every report must have {layout.ones} bits set"))
    if layout.lone:
        named = " + ".join(f"bit_count({_name(name)} & {mask})::INTEGER" for name, mask in zip(names, layout.lone, strict=True) if mask)
        row = database.execute(f"SELECT count(*) FROM {relation} WHERE {named} > 1").fetchone()
        if row is None or row[0]:
            raise ReportError(message("reports", "at most one bit of a non-sensitive value may be set"))
    return "bitsums", np.concatenate(sums)[: layout.width], n


def _count_digits(database: duckdb.DuckDBPyConnection, relation: str, names: list[str], layout: Digits, advance: Any) -> tuple[str, np.ndarray, int]:
    """How often each key has each digit."""
    counts, n = [], 0
    for name in names:
        _, histogram, n = _count_fields(database, relation, [name], (layout.base,))
        counts.append(histogram)
        advance()
    return "digits", np.stack(counts), n


def read_reports(path: str) -> dict[str, Reports]:
    """All reports of a file in memory: {attribute: Reports}, checked as :func:`tally_file` checks them."""
    file = open_reports(path)
    parts = list(batches(file.path, file.columns))
    columns = {name: np.concatenate([part[name] for part in parts]) for name in file.columns} if parts else {}
    if not columns or len(next(iter(columns.values()))) != file.end["n"]:
        raise FileError(message(path, f"must hold {file.end['n']} reports of every attribute", None, "Fetch the file again"))
    found = {}
    for attribute, mechanism in file.mechanisms.items():
        found[attribute] = Reports(mechanism.header, from_file(attribute, mechanism.layout, columns), file.simulation)
        try:
            mechanism.layout.check(found[attribute].columns)
        except ReportError as error:
            raise ReportError(f"{path}: {error}") from None
    return found
