"""Files and frames: values to encode, reports to write and to count, in constant memory and without a loop over people.

A report file has one column per report column and attribute, named ``attribute_column``; the K bits of a unary report are
byte columns ``attribute_bits_0``, ``attribute_bits_1``, ... Its header (each attribute's mechanism, to the last bit of
its law) and its end (number of reports, SHA-256 of the file with 64 zeros in the hash's own place) travel in Parquet's
metadata, or in CSV as a first line ``#warner {...}`` and a last line ``#end {...}``. A file that is not byte for byte what was
written is refused.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from warner._check import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    FileError,
    MismatchError,
    ReportError,
    ValuesError,
    kind,
    message,
)
from warner.domain import Categorical, Domain, Integers, Interval, canonical
from warner.mechanisms import Mechanism, from_header
from warner.reports import Bits, Layout, Reports
from warner.tally import Tally, require_same

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

SCHEMA = 1
FORMATS = (".parquet", ".csv")
_CSV_START, _CSV_END = b"#warner ", b"#end "
_SEAL, _UNSEALED = b'"sha256":"', "0" * 64
_ROWS = 2**18  # people per batch
_BLOCK = 2**24  # bytes of CSV per batch


# Names of columns


def file_columns(attribute: str, layout: Layout) -> dict[str, int]:
    """The columns of an attribute's reports in a file, and how many values each may take."""
    if isinstance(layout, Bits):
        return {f"{attribute}_bits_{i}": 256 for i in range(layout.bytes)}
    return {f"{attribute}_{name}": size for name, size in zip(layout.names, layout.sizes, strict=True)}


def _to_file(attribute: str, layout: Layout, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    if isinstance(layout, Bits):
        return {name: np.ascontiguousarray(columns["bits"][:, i]) for i, name in enumerate(file_columns(attribute, layout))}
    return {f"{attribute}_{name}": column for name, column in columns.items()}


def _from_file(attribute: str, layout: Layout, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    if isinstance(layout, Bits):
        return {"bits": np.stack([columns[name] for name in file_columns(attribute, layout)], axis=1)}
    return {name: columns[f"{attribute}_{name}"] for name in layout.names}


# Values in


def read_values(path: str, domains: Mapping[str, Domain], bare: bool = False) -> Iterator[dict[str, np.ndarray]]:
    """Indices of the answers in a CSV or Parquet file, a batch at a time: {attribute: (rows,)}.

    Args:
        path: a file name, or ``-`` for CSV on standard input.
        domains: the columns to read, and what they may hold.
        bare: the file is CSV without a header line, its columns in the order of ``domains``.

    Raises:
        ValuesError: an answer outside its domain, by column and row.
        FileError: not CSV or Parquet, or a column is missing.
    """
    row = 0
    for batch in _value_batches(path, list(domains), bare):
        yield {name: _encode(domain, batch.column(name), name, row) for name, domain in domains.items()}
        row += batch.num_rows
    if row == 0:
        raise EmptyError(message(_shown(path), "holds no answers", None, "Pass at least one row"))


def _value_batches(path: str, names: list[str], bare: bool) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    from pyarrow import csv

    if path.endswith(".parquet"):
        import pyarrow.parquet as pq

        try:
            file = pq.ParquetFile(path)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(path, error) from None
        _require_columns(path, names, file.schema_arrow.names)
        yield from file.iter_batches(_ROWS, columns=names)
        return
    # Everything is read as text and checked here: Arrow's own conversion errors would show an answer.
    convert = csv.ConvertOptions(include_columns=names, column_types={name: pa.string() for name in names}, strings_can_be_null=False, null_values=[])
    read = csv.ReadOptions(block_size=_BLOCK, column_names=names if bare else None)
    try:
        source: Any = _stdin() if path == "-" else path
        with csv.open_csv(source, read_options=read, convert_options=convert) as reader:
            yield from reader
    except KeyError:
        raise FileError(
            message(_shown(path), f"needs the column{'s' * (len(names) > 1)} {', '.join(names)}", None, "Name the columns in the first line")
        ) from None
    except (pa.ArrowInvalid, OSError, UnicodeDecodeError) as error:
        if "Empty CSV" in str(error):
            raise EmptyError(message(_shown(path), "is empty", None, "Pass at least one row")) from None
        raise _unreadable(path, error) from None


def _unreadable(path: str, error: Exception) -> Exception:
    """Why a file cannot be read, without the text that it could not read."""
    if isinstance(error, FileNotFoundError | IsADirectoryError | PermissionError):
        return FileError(message(_shown(path), "cannot be opened", type(error).__name__, "Check the path"))
    return FileError(
        message(_shown(path), "is not readable as CSV (UTF-8) or Parquet, or is truncated", None, "Every row must have the same columns")
    )


def _require_columns(path: str, names: list[str], found: list[str]) -> None:
    missing = [name for name in names if name not in found]
    if missing:
        raise FileError(message(_shown(path), f"has no column {missing[0]!r}", None, f"Needed: {', '.join(names)}"))


def _stdin() -> Any:
    import sys

    return sys.stdin.buffer


def _shown(path: str) -> str:
    return "standard input" if path == "-" else path


_INTEGER = r"^[+-]?[0-9]{1,18}$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"


def _encode(domain: Domain, column: Any, name: str, row: int) -> np.ndarray:
    """Indices of one Arrow column; ``row`` counts the rows before it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    where = f"column {name!r}, data row"  # counted from 1, as people count rows

    def refuse(bad: Any, rule: str, got: str) -> None:
        places = np.flatnonzero(bad.to_numpy(zero_copy_only=False))
        if places.size:
            raise ValuesError(int(places[0]) + row + 1, rule, got, "Correct the answers, or add a value to the domain that catches them", where)

    refuse(pc.is_null(column), f"not in the domain of {domain.size} values", "no answer")
    text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if isinstance(domain, Categorical) and (text or pa.types.is_dictionary(column.type)):
        labels = [str(v).lower() if isinstance(v, bool) else str(v) for v in domain.labels]
        if len(set(labels)) < len(labels):
            raise ArgumentError(message(name, "labels must differ as text to be read from a file"))
        index = pc.index_in(pc.cast(column, pa.string()), value_set=pa.array(labels))
        refuse(pc.is_null(index), f"not in the domain of {domain.size} values", "a string")
        return index.to_numpy(zero_copy_only=False).astype(np.int64)
    if text and isinstance(domain, Integers | Interval):
        pattern, target, what = (_INTEGER, pa.int64(), "an integer") if isinstance(domain, Integers) else (_NUMBER, pa.float64(), "a number")
        refuse(pc.invert(pc.match_substring_regex(column, pattern)), f"must be {what}", "a string that is none")
        column = pc.cast(column, target)
    try:
        return domain.encode(column.to_numpy(zero_copy_only=False))
    except ValuesError as error:
        raise error.moved(where, row + 1) from None


# Reports out


class ReportWriter:
    """Writes reports of one or more attributes to one file, in parts, whole or not at all.

        with ReportWriter(path, {"education": mechanism}) as writer:
            writer.write({"education": reports})

    On leaving the block the end of the file is written and the file moved to its name; after an error nothing is left.
    ``path`` ends in .parquet or .csv, or is ``-`` for CSV on standard output.
    """

    def __init__(self, path: str, mechanisms: Mapping[str, Mechanism]) -> None:
        self._path, self._mechanisms = path, dict(mechanisms)
        suffix = ".csv" if path == "-" else Path(path).suffix
        if suffix not in FORMATS:
            raise ArgumentError(message("path", f"must end in {' or '.join(FORMATS)}", path))
        folder = None if path == "-" else str(Path(path).parent)
        try:
            handle, self._temporary = tempfile.mkstemp(dir=folder, prefix=".warner-", suffix=suffix)
        except OSError as error:
            raise FileError(message(path, "cannot be written", type(error).__name__, "Check that the folder exists")) from None
        os.close(handle)
        self._n = 0
        head = {"format": "warner-reports", "schema": SCHEMA, "attributes": {a: m.header for a, m in self._mechanisms.items()}}
        text = json.dumps(head, separators=(",", ":"), allow_nan=False)  # not sorted: the order of attributes is that of columns
        self._sink: Any = (_ParquetSink if suffix == ".parquet" else _CsvSink)(self._temporary, text, self._mechanisms)

    def write(self, reports: Mapping[str, Reports]) -> None:
        """Append one batch: reports of every attribute, of the same people in the same order."""
        if reports.keys() != self._mechanisms.keys() or len({len(r) for r in reports.values()}) != 1:
            raise MismatchError(message("reports", f"must be equally many for each of {', '.join(self._mechanisms)}"))
        columns: dict[str, np.ndarray] = {}
        for attribute, mechanism in self._mechanisms.items():
            require_same(mechanism.header, reports[attribute].header, f"mechanism and reports of {attribute!r}")
            mechanism.layout.check(reports[attribute].columns)
            columns |= _to_file(attribute, mechanism.layout, reports[attribute].columns)
        self._n += len(next(iter(reports.values())))
        self._sink.write(columns)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, _value: BaseException | None, _trace: TracebackType | None) -> None:
        try:
            if error is not None:
                self._sink.close(None)
                return
            if self._n == 0:
                self._sink.close(None)
                raise EmptyError(message("reports", "must not be empty"))
            self._sink.close(canonical({"n": self._n, "sha256": _UNSEALED}))
            _seal(self._temporary)
            if self._path == "-":
                _copy_to_stdout(self._temporary)
            else:
                umask = os.umask(0)
                os.umask(umask)
                os.chmod(self._temporary, 0o666 & ~umask)
                os.replace(self._temporary, self._path)
        finally:
            Path(self._temporary).unlink(missing_ok=True)


def _seal(path: str) -> None:
    """Put the SHA-256 of the file, as it stands with zeros for a hash, in the place of those zeros."""
    digest, place = _digest(path)
    with open(path, "r+b") as file:
        file.seek(place)
        file.write(digest.encode())


def _digest(path: str) -> tuple[str, int]:
    """SHA-256 of a report file with 64 zeros in the place of its hash, and that place; place 0 where there is none."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        place = data.rfind(_SEAL) + len(_SEAL)
        if place < len(_SEAL):
            return "", 0
        view = memoryview(data)
        digest = hashlib.sha256(view[:place])
        digest.update(_UNSEALED.encode())
        digest.update(view[place + len(_UNSEALED) :])
        view.release()
        return digest.hexdigest(), place


def _copy_to_stdout(path: str) -> None:
    import shutil
    import sys

    with open(path, "rb") as file:
        shutil.copyfileobj(file, sys.stdout.buffer)
    sys.stdout.flush()


class _ParquetSink:
    def __init__(self, path: str, head: str, mechanisms: Mapping[str, Mechanism]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        fields = [
            (name, pa.from_numpy_dtype(np.min_scalar_type(size - 1)))
            for attribute, mechanism in mechanisms.items()
            for name, size in file_columns(attribute, mechanism.layout).items()
        ]
        self._schema = pa.schema(fields, metadata={"warner": head})
        # Noise does not compress: dictionaries only cost time, except that they bound a column of few values to few bits.
        self._writer = pq.ParquetWriter(path, self._schema, compression="zstd", use_dictionary=False, write_page_checksum=True)

    def write(self, columns: Mapping[str, np.ndarray]) -> None:
        import pyarrow as pa

        arrays = [pa.array(columns[field.name].astype(field.type.to_pandas_dtype(), copy=False)) for field in self._schema]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema), row_group_size=2**20)

    def close(self, end: str | None) -> None:
        if end is not None:
            self._writer.add_key_value_metadata({"warner.end": end})
        self._writer.close()


class _CsvSink:
    def __init__(self, path: str, head: str, mechanisms: Mapping[str, Mechanism]) -> None:
        self._file = open(path, "wb")  # noqa: SIM115 - closed by close()
        self._file.write(_CSV_START + head.encode() + b"\n")
        self._first = True

    def write(self, columns: Mapping[str, np.ndarray]) -> None:
        import pyarrow as pa
        from pyarrow import csv

        csv.write_csv(pa.table(dict(columns)), self._file, csv.WriteOptions(include_header=self._first))
        self._first = False

    def close(self, end: str | None) -> None:
        if end is not None:
            self._file.write(_CSV_END + end.encode() + b"\n")
        self._file.close()


def write_reports(reports: Reports | Mapping[str, Reports], path: str) -> None:
    """Write reports in memory to a .parquet or .csv file; one Reports is written as the attribute ``value``."""
    named = {"value": reports} if isinstance(reports, Reports) else reports
    with ReportWriter(path, {a: from_header(r.header) for a, r in named.items()}) as writer:
        writer.write(named)


# Reports in


@dataclass(frozen=True)
class ReportFile:
    """A report file's header and end, read and checked; the reports themselves are only counted."""

    path: str
    mechanisms: dict[str, Mechanism]
    end: dict[str, Any]

    @property
    def columns(self) -> dict[str, int]:
        return {name: size for a, m in self.mechanisms.items() for name, size in file_columns(a, m.layout).items()}

    def relation(self) -> str:
        """The file as a table in DuckDB's SQL."""
        if self.path.endswith(".parquet"):
            return f"read_parquet({_quoted(self.path)})"
        types = ", ".join(f"{_quoted(name)}: {_quoted(_sql_type(size))}" for name, size in self.columns.items())
        return (
            f"read_csv({_quoted(self.path)}, auto_detect=false, header=true, delim=',', comment='#', strict_mode=true, "
            f"null_padding=false, nullstr='', columns={{{types}}})"
        )


def _sql_type(size: int) -> str:
    return {1: "UTINYINT", 2: "USMALLINT", 4: "UINTEGER", 8: "UBIGINT"}[np.min_scalar_type(size - 1).itemsize]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


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
        raise FileError(message(path, "has no end: it is truncated", None, "Fetch the file again"))
    if _digest(path)[0] != end.get("sha256"):
        raise FileError(message(path, "was altered: it does not have the checksum that its end states", None, "Fetch the file again"))
    try:
        mechanisms = {attribute: from_header(header) for attribute, header in head["attributes"].items()}
    except AttributeError:
        raise FileError(message(path, "has a header that was altered", None, "Fetch the file again")) from None
    return ReportFile(path, mechanisms, end)


def _csv_ends(path: str) -> tuple[bytes, bytes]:
    with open(path, "rb") as file:
        head = file.readline()
        if not head.startswith(_CSV_START):
            return b"", b""
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 2**20))
        tail = file.read().rstrip(b"\n").rsplit(b"\n", 1)[-1]
    return head[len(_CSV_START) :], tail[len(_CSV_END) :] if tail.startswith(_CSV_END) else b""


def _parquet_ends(path: str) -> tuple[bytes, bytes]:
    import duckdb

    with _connection() as database:
        try:
            found = database.execute(f"SELECT key, value FROM parquet_kv_metadata({_quoted(path)})").fetchall()
        except duckdb.Error:
            raise FileError(message(path, "is not readable as Parquet, or is truncated", None, "Fetch the file again")) from None
    pairs = {bytes(key): bytes(value) for key, value in found}
    return pairs.get(b"warner", b""), pairs.get(b"warner.end", b"")


def _connection() -> duckdb.DuckDBPyConnection:
    import duckdb

    # Not the shared default connection: settings and errors stay here.
    return duckdb.connect(":memory:")


def tally_file(path: str, progress: Any = None) -> dict[str, Tally]:
    """Count the reports in a .parquet or .csv file: {attribute: Tally}, by one GROUP BY per statistic.

    Args:
        path: a file that ``warner randomize``, ReportWriter or write_reports wrote.
        progress: called with (done, total) while a file is counted.

    Raises:
        FileError: truncated or altered.
        ReportError: a report that its mechanism cannot have sent.
    """
    import duckdb

    file = open_reports(path)
    steps = sum(m.layout.bytes if isinstance(m.layout, Bits) else 1 for m in file.mechanisms.values())
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, steps)

    tallies = {}
    with _connection() as database:
        for attribute, mechanism in file.mechanisms.items():
            names = list(file_columns(attribute, mechanism.layout))
            try:
                if isinstance(mechanism.layout, Bits):
                    sort, counts, n = _count_bits(database, file.relation(), names, mechanism.layout, advance)
                else:
                    sort, counts, n = _count_fields(database, file.relation(), names, mechanism.layout.sizes)
                    advance()
            except duckdb.Error:
                raise FileError(message(path, "is truncated or altered: its rows cannot be read", None, "Fetch the file again")) from None
            tallies[attribute] = Tally(mechanism.header, sort, counts, n)
    if any(t.n != file.end["n"] for t in tallies.values()):
        raise FileError(message(path, f"must hold {file.end['n']} reports of every attribute", None, "Fetch the file again"))
    return tallies


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
        total = " + ".join(f"bit_count({_name(name)})" for name in names)
        row = database.execute(f"SELECT count(*) FROM {relation} WHERE {total} <> {layout.ones}").fetchone()
        if row is None or row[0]:
            raise ReportError(message("reports", f"every report must have {layout.ones} bits set"))
    return "bitsums", np.concatenate(sums)[: layout.width], n


def read_reports(path: str) -> dict[str, Reports]:
    """All reports of a file in memory: {attribute: Reports}; the file is counted and checked first."""
    file = open_reports(path)
    with _connection() as database:
        columns = database.execute(f"SELECT * FROM {file.relation()}").fetchnumpy()
    return {
        attribute: Reports(
            mechanism.header,
            _from_file(
                attribute,
                mechanism.layout,
                {name: np.asarray(columns[name], np.min_scalar_type(size - 1)) for name, size in file_columns(attribute, mechanism.layout).items()},
            ),
        )
        for attribute, mechanism in file.mechanisms.items()
    }


# Frames


def frame(columns: Mapping[str, Any], backend: str = "pyarrow") -> Any:
    """Columns as a data frame of the library ``backend``."""
    import narwhals.stable.v2 as nw

    try:
        return nw.from_dict(dict(columns), backend=cast(Any, backend)).to_native()
    except (ValueError, TypeError, ModuleNotFoundError):
        raise ArgumentError(message("backend", "must name an installed data frame library", repr(backend), "For example 'pyarrow'")) from None


def reports_frame(reports: Reports, backend: str = "pyarrow", attribute: str = "value") -> Any:
    """Reports as a data frame, with the columns of a report file."""
    layout = from_header(reports.header).layout
    return frame(_to_file(attribute, layout, reports.columns), backend)


def tally_frame(mechanism: Mechanism, data: Any, attribute: str = "value") -> Tally:
    """Count reports in a data frame of any library that Narwhals knows, eager or lazy, by its own GROUP BY.

    The frame has the columns of a report file for ``attribute``. Raises ReportError for reports that ``mechanism`` cannot have sent.
    """
    import narwhals.stable.v2 as nw

    try:
        lazy = nw.from_native(data).lazy()
    except TypeError:
        raise ArgumentTypeError(message("data", "must be a data frame", kind(data))) from None
    layout = mechanism.layout
    names = list(file_columns(attribute, layout))
    found = lazy.collect_schema().names()
    if any(name not in found for name in names):
        raise ReportError(message("data", f"must have the columns {', '.join(names[:4])}{', ...' * (len(names) > 4)}"))
    groups = lazy.select(names).group_by(names).agg(nw.len().alias("seen")).collect()
    arrays = {}
    for name, size in zip(names, file_columns(attribute, layout).values(), strict=True):
        series = groups[name]
        if not series.dtype.is_integer() or series.null_count():
            raise ReportError(message(name, "must be a column of integers without gaps"))
        arrays[name] = series.to_numpy().astype(np.int64)
        if (arrays[name] < 0).any() or (arrays[name] >= size).any():
            raise ReportError(message(name, f"must lie in 0..{size - 1}"))
    seen = groups["seen"].to_numpy().astype(np.int64)
    n = int(seen.sum())
    if n == 0:
        raise EmptyError(message("data", "holds no reports"))
    typed = {
        name: a.astype(np.min_scalar_type(size - 1)) for (name, size), a in zip(file_columns(attribute, layout).items(), arrays.values(), strict=True)
    }
    columns = _from_file(attribute, layout, typed)
    layout.check(columns)
    if isinstance(layout, Bits):
        bits = np.unpackbits(columns["bits"], axis=1)[:, : layout.width]
        return Tally(mechanism.header, "bitsums", seen @ bits.astype(np.int64), n)
    table = np.zeros(layout.sizes, dtype=np.int64)
    table[tuple(arrays.values())] = seen
    return Tally(mechanism.header, "histogram", table, n)


__all__ = [
    "ReportFile",
    "ReportWriter",
    "frame",
    "open_reports",
    "read_reports",
    "read_values",
    "reports_frame",
    "tally_file",
    "tally_frame",
    "write_reports",
]
