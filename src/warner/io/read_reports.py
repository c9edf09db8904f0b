"""Reports in: counted in constant memory, or read whole.

One set of rules holds for every reader. Before anything is counted, the columns of the file must be
the columns of its header: the same names in the same order, and in Parquet the same types. Parquet is
then counted by one GROUP BY per statistic, and CSV in batches.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from warner._core.checks import show
from warner._core.errors import (
    ArgumentError,
    FileError,
    MismatchError,
    ReportError,
    message,
)
from warner._core.text import (
    unreadable,
)
from warner.domains import Product
from warner.io.batches import batches
from warner.io.seal import (
    CSV_END,
    CSV_START,
    FORMATS,
    SCHEMA,
    digest_of,
    file_columns,
    from_file,
    from_histograms,
)
from warner.mechanisms import Mechanism, PerAttribute, from_header
from warner.reports.marginal_tables import LARGEST
from warner.reports.reports import Reports
from warner.reports.schema import BitVector, DigitVector, ProductSchema, smallest_dtype
from warner.reports.tally import Tally, require_same

if TYPE_CHECKING:
    import duckdb

JOINT = "joint"  # what a tally file calls the tables of several attributes together
_QUERIES = 2**10  # columns that are counted by one query each; more are counted in one pass
_TYPES = {1: "UTINYINT", 2: "USMALLINT", 4: "UINTEGER", 8: "UBIGINT"}  # DuckDB's names, by bytes


@dataclass(frozen=True)
class ReportFile:
    """A report file whose headers and end are read; nothing is made of them yet.

    Attributes:
        path: the file.
        headers: {attribute: the header of its mechanism}, as they stand in the file.
        end: the last entry of the file, with the number of reports.
        simulation: whether the reports were made with a seed.
        known: mechanisms that the headers were found to be those of; None where the file alone says what it is.
    """

    path: str
    headers: dict[str, Any]
    end: dict[str, Any]
    simulation: bool
    known: Mapping[str, Mechanism] | None = None

    @cached_property
    def mechanisms(self) -> dict[str, Mechanism]:
        """The mechanisms of the attributes, made from their headers on first use."""
        return (
            dict(self.known)
            if self.known is not None
            else {a: from_header(header) for a, header in self.headers.items()}
        )

    def expected(self, known: Mapping[str, Mechanism]) -> ReportFile:
        """The same file, its headers found to be those of ``known`` mechanisms, {attribute: mechanism}; MismatchError else."""
        if self.headers.keys() != known.keys():
            raise MismatchError(
                message(
                    self.path,
                    f"has reports of {', '.join(self.headers)}, and not of {', '.join(known)}",
                )
            )
        for name, mechanism in known.items():
            header = self.headers[name]
            require_same(
                mechanism.header,
                header if isinstance(header, dict) else {},
                f"{self.path}: reports of {name!r} and the study",
            )
        return replace(self, known=dict(known))

    @cached_property
    def columns(self) -> dict[str, int]:
        """The file's columns, checked to be those of its mechanisms, and how many values each may take."""
        width = sum(m.schema.file_width for m in self.mechanisms.values())
        found = (
            _parquet_columns(self.path)
            if self.path.endswith(".parquet")
            else _csv_columns(self.path)
        )
        # The number goes first: a header may ask for more columns than there is memory for their names.
        if len(found) == width:
            sizes = {
                name: size
                for a, m in self.mechanisms.items()
                for name, size in file_columns(a, m.schema).items()
            }
            if list(found) == list(sizes):
                self._typed(found, sizes)
                return sizes
        some = ", ".join(map(repr, islice(found, 4))) + ", ..." * (len(found) > 4)
        rule = f"must have the {width} columns of its header, in their order"
        raise FileError(
            message(self.path, rule, f"{len(found)} ({some})", "Was it written by warner?")
        )

    def _typed(self, found: Mapping[str, str], sizes: Mapping[str, int]) -> None:
        for name, size in sizes.items():
            wanted = _TYPES[smallest_dtype(size).itemsize]
            if found[name] not in ("", wanted):
                raise ReportError(
                    message(
                        self.path,
                        f"column {name!r} must be of type {wanted}",
                        found[name],
                        "Was it written by warner?",
                    )
                )

    def relation(self) -> str:
        """A Parquet file as a table in DuckDB's SQL; names of folders are no columns."""
        return f"read_parquet({_path(self.path)}, hive_partitioning=false, filename=false)"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _path(path: str) -> str:
    """A file name in SQL: DuckDB would take ``*``, ``?`` and ``[`` for a pattern, and ``s3:`` for a network."""
    return _quoted("".join(f"[{c}]" if c in "*?[" else c for c in os.path.abspath(path)))


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def open_reports(path: str) -> ReportFile:
    """Read the headers and the end of a report file; raises FileError unless both are there and make sense.

    Nothing is built of the headers yet. ``open_reports(path).expected(mechanisms)`` compares them first, and lifts the limit
    on what a header alone may ask for.
    """
    if Path(path).suffix not in FORMATS:
        raise ArgumentError(message("path", f"must end in {' or '.join(FORMATS)}", path))
    if not Path(path).is_file():
        raise FileError(message(path, "is not a file", None, "Check the path"))
    head_text, end_text = _parquet_ends(path) if path.endswith(".parquet") else _csv_ends(path)
    try:
        head = json.loads(head_text) if head_text else None
        end = json.loads(end_text) if end_text else None
    except (ValueError, RecursionError):
        raise FileError(
            message(path, "has a header that was altered", None, "Fetch the file again")
        ) from None
    if (
        not isinstance(head, dict)
        or head.get("format") != "warner-reports"
        or not isinstance(head.get("attributes"), dict)
    ):
        raise FileError(
            message(
                path, "is not a report file of warner", None, "Make one with 'warner randomize'"
            )
        )
    if head.get("schema") != SCHEMA:
        raise FileError(
            message(
                path,
                f"schema must be {SCHEMA}",
                repr(head.get("schema")),
                "Use the version of warner that wrote it",
            )
        )
    if not isinstance(end, dict) or type(end.get("n")) is not int or end["n"] < 1:
        raise FileError(
            message(
                path,
                "has no end: it is truncated, or was saved by another program",
                None,
                "Fetch the file again",
            )
        )
    if digest_of(path)[0] != (end.get("sha256") or None):
        raise FileError(
            message(
                path,
                "was altered, or saved by another program: it lacks the checksum that its end states",
                None,
                "Fetch the file again",
            )
        )
    for attribute in head["attributes"]:
        if (found := unreadable(attribute)) is not None:
            raise FileError(
                message(
                    path,
                    f"names an attribute that holds {found}",
                    show(attribute),
                    "Names must be printable",
                )
            )
    return ReportFile(path, head["attributes"], end, bool(head.get("simulation")))


def _csv_ends(path: str) -> tuple[bytes, bytes]:
    with open(path, "rb") as file:
        head = file.readline()
        if not head.startswith(CSV_START):
            return b"", b""
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 2**20))
        tail = file.read().rstrip(b"\n").rsplit(b"\n", 1)[-1]
    return head[len(CSV_START) :], tail[len(CSV_END) :] if tail.startswith(CSV_END) else b""


def _csv_columns(path: str) -> dict[str, str]:
    """The names in the first line after the header; CSV has no types."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            file.readline()
            names = next(csv.reader(file, strict=True), [])
    except (csv.Error, UnicodeDecodeError):
        names = []
    if len(set(names)) < len(names):
        raise FileError(message(path, "must not have two columns of one name"))
    return dict.fromkeys(names, "")


def _parquet_columns(path: str) -> dict[str, str]:
    """Names and types of the columns, the types in DuckDB's words."""
    import duckdb

    with _connection() as database:
        try:
            found = database.execute(
                f"DESCRIBE SELECT * FROM read_parquet({_path(path)}, hive_partitioning=false)"
            ).fetchall()
        except duckdb.Error:
            raise FileError(
                message(
                    path,
                    "is not readable as Parquet, or is truncated",
                    None,
                    "Fetch the file again",
                )
            ) from None
    return {row[0]: row[1] for row in found}


def _parquet_ends(path: str) -> tuple[bytes, bytes]:
    import duckdb

    with _connection() as database:
        try:
            found = database.execute(
                f"SELECT key, value FROM parquet_kv_metadata({_path(path)})"
            ).fetchall()
        except duckdb.Error:
            raise FileError(
                message(
                    path,
                    "is not readable as Parquet, or is truncated",
                    None,
                    "Fetch the file again",
                )
            ) from None
    pairs = {bytes(key): bytes(value) for key, value in found}
    return pairs.get(b"warner", b""), pairs.get(b"warner.end", b"")


def _connection() -> duckdb.DuckDBPyConnection:
    import duckdb

    # Not the shared default connection: settings and errors stay here.
    return duckdb.connect(":memory:")


def tally_file(
    path: str | ReportFile, progress: Any = None, ways: int | None = None
) -> dict[str, Tally]:
    """Count the reports in a .parquet or .csv file: {attribute: Tally}.

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
    file = path if isinstance(path, ReportFile) else open_reports(path)
    if file.known is None:
        _limited(file)
    if ways is not None:
        return _tally_joint(file, ways, progress)
    wide = len(file.columns) > _QUERIES
    if (
        not file.path.endswith(".parquet")
        or wide
        or any(isinstance(m.schema, ProductSchema) for m in file.mechanisms.values())
    ):
        tallies = _tally_batches(file, _each(file), progress)
    else:
        tallies = _tally_queries(file, progress)
    return tallies


def _limited(file: ReportFile) -> None:
    """Refuse a file that asks for more counts than a stranger's header may: a few bytes can ask for gigabytes."""
    asked = {attribute: m.schema.cells for attribute, m in file.mechanisms.items()}
    if sum(asked.values()) > LARGEST:
        most = max(asked, key=lambda name: asked[name])
        rule = f"would need {sum(asked.values())} counts, most of them for {most!r}, and a header alone may ask for {LARGEST}"
        remedy = "Say what made the reports: --study, or open_reports(path).expected(mechanisms)"
        raise FileError(message(file.path, rule, None, remedy))


def _tally_queries(file: ReportFile, progress: Any) -> dict[str, Tally]:
    """Tallies of the attributes of a Parquet file, by one GROUP BY per statistic."""
    import duckdb

    done, steps = (
        0,
        sum(
            m.schema.file_width if isinstance(m.schema, BitVector | DigitVector) else 1
            for m in file.mechanisms.values()
        ),
    )

    def advance() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, steps)

    tallies = {}
    file.columns  # noqa: B018 - refuses here what is not in the form of reports
    with _connection() as database:
        for attribute, mechanism in file.mechanisms.items():
            schema = mechanism.schema
            names = list(file_columns(attribute, schema))
            try:
                if isinstance(schema, BitVector | DigitVector):
                    sort, counts, n = _count_columns(
                        database, file.relation(), names, schema, advance
                    )
                else:
                    assert not isinstance(schema, ProductSchema)
                    counts, n = _count_fields(database, file.relation(), names, schema.sizes)
                    sort = "histogram"
                    advance()
            except duckdb.Error:
                raise FileError(
                    message(
                        file.path,
                        "has rows that cannot be read as reports",
                        None,
                        "Was it written by warner?",
                    )
                ) from None
            except ReportError as error:
                raise ReportError(f"{file.path}: {error}") from None
            tallies[attribute] = Tally(mechanism.header, sort, counts, n, None, file.simulation)
    if any(t.n != file.end["n"] for t in tallies.values()):
        raise _other_number(file)
    return tallies


def _other_number(file: ReportFile) -> FileError:
    return FileError(
        message(
            file.path,
            f"must hold {file.end['n']} reports of every attribute",
            None,
            "Fetch the file again",
        )
    )


def _tally_joint(file: ReportFile, ways: int, progress: Any) -> dict[str, Tally]:
    """Tables of the attributes of a file together."""
    parts = file.mechanisms
    if len(parts) == 1:
        ((name, mechanism),) = parts.items()
        if not isinstance(mechanism, PerAttribute):
            raise ArgumentError(
                message("ways", "takes reports of several attributes", name, "Leave it out")
            )
        return _tally_batches(file, _each(file), progress, ways=ways)
    whole = PerAttribute(Product(**{a: m.domain for a, m in parts.items()}), parts)

    def columns(batch: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return whole.schema.join({a: from_file(a, m.schema, batch) for a, m in parts.items()})

    return _tally_batches(file, {JOINT: (whole, columns)}, progress, ways=ways)


_Made = Callable[
    [Mapping[str, np.ndarray]], dict[str, np.ndarray]
]  # columns of reports from those of a file


def _each(file: ReportFile) -> dict[str, tuple[Mechanism, _Made]]:
    """The attributes of a file, each on its own."""
    return {a: (m, partial(from_file, a, m.schema)) for a, m in file.mechanisms.items()}


def _tally_batches(
    file: ReportFile,
    wanted: Mapping[str, tuple[Mechanism, _Made]],
    progress: Any = None,
    **how: Any,
) -> dict[str, Tally]:
    """Tallies in one pass, batch by batch, each checked as reports in memory are."""
    total: dict[str, Tally] = {}
    for batch in batches(file.path, file.columns):
        for name, (mechanism, columns) in wanted.items():
            found = columns(batch)
            try:
                mechanism.schema.check(found)
            except ReportError as error:
                raise ReportError(f"{file.path}: {error}") from None
            part = mechanism.tally_columns(found, **how)
            total[name] = total[name] + part if name in total else part
        if progress is not None:
            progress(next(iter(total.values())).n, file.end["n"])
    if not total or any(part.n != file.end["n"] for part in total.values()):
        raise _other_number(file)
    return {name: part.marked(file.simulation) for name, part in total.items()}


def _count_fields(
    database: duckdb.DuckDBPyConnection, relation: str, names: list[str], sizes: tuple[int, ...]
) -> tuple[np.ndarray, int]:
    columns = ", ".join(map(_name, names))
    found = database.execute(
        f"SELECT {columns}, count(*) AS seen FROM {relation} GROUP BY {columns}"
    ).fetchnumpy()
    return _place([found[name] for name in names], found["seen"], sizes, names)


def _place(
    columns: list[Any], seen: Any, sizes: tuple[int, ...], names: list[str]
) -> tuple[np.ndarray, int]:
    """Counts of distinct reports, put in the layout's table."""
    for column, size, name in zip(columns, sizes, names, strict=True):
        if np.ma.getmaskarray(column).any():
            raise ReportError(message("reports", f"{name} has rows without a report"))
        if len(column) and not (int(np.max(column)) < size and int(np.min(column)) >= 0):
            raise ReportError(
                message(
                    "reports",
                    f"{name} must lie in 0..{size - 1}",
                    f"{int(np.sum(seen[column >= size]))} rows beyond it",
                )
            )
    table = np.zeros(sizes, dtype=np.int64)
    table[tuple(np.asarray(c, dtype=np.int64) for c in columns)] = np.asarray(seen, dtype=np.int64)
    return table, int(table.sum())


def _count_columns(
    database: duckdb.DuckDBPyConnection,
    relation: str,
    names: list[str],
    schema: BitVector | DigitVector,
    advance: Any,
) -> tuple[str, np.ndarray, int]:
    """Reports of bits or digits, from the histogram of every column."""
    histograms, n = [], 0
    for name, size in zip(names, schema.file_columns().values(), strict=True):
        histogram, n = _count_fields(database, relation, [name], (size,))
        histograms.append(histogram)
        advance()
    if isinstance(schema, BitVector):
        # A bit_count is a byte: a sum of bytes would overflow.
        ones = [f"bit_count({_name(name)})::INTEGER" for name in names]
        named = [
            f"bit_count({_name(name)} & {mask})::INTEGER"
            for name, mask in zip(names, schema.exclusive_mask, strict=False)
            if mask
        ]
        for terms, wrong, rule in (
            (
                ones if schema.ones is not None else [],
                f"<> {schema.ones}",
                f"every report must have {schema.ones} bits set",
            ),
            (named, "> 1", "at most one bit of a non-sensitive value may be set"),
        ):
            if terms:
                row = database.execute(
                    f"SELECT count(*) FROM {relation} WHERE {' + '.join(terms)} {wrong}"
                ).fetchone()
                if row is None or row[0]:
                    raise ReportError(message("reports", rule))
    return *from_histograms(schema, histograms), n


def read_reports(path: str) -> dict[str, Reports]:
    """All reports of a file in memory: {attribute: Reports}, checked as :func:`tally_file` checks them."""
    file = open_reports(path)
    parts = list(batches(file.path, file.columns))
    columns = (
        {name: np.concatenate([part[name] for part in parts]) for name in file.columns}
        if parts
        else {}
    )
    if not columns or len(next(iter(columns.values()))) != file.end["n"]:
        raise _other_number(file)
    found = {}
    for attribute, mechanism in file.mechanisms.items():
        found[attribute] = Reports(
            mechanism.header, from_file(attribute, mechanism.schema, columns), file.simulation
        )
        try:
            mechanism.schema.check(found[attribute].columns)
        except ReportError as error:
            raise ReportError(f"{path}: {error}") from None
    return found
