"""Parquet files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from math import prod
from pathlib import Path
from threading import Event, Lock
from typing import Any, BinaryIO

import numpy as np

from warner._core.errors import FileError
from warner._core.extras import duckdb, pa, pq
from warner._core.foreign_tables import metadata_of
from warner._core.progress import stage
from warner._core.text import without_secrets
from warner.io.answer_tables import AGAIN
from warner.io.file_format import (
    NO_PUBLIC,
    ROWS_PER_BATCH,
    AnswerTable,
    FileFormat,
    Public,
    ReportSink,
    refuse_reports,
)
from warner.io.public_values import arrow_type
from warner.reports.counting import LARGEST, count_values
from warner.reports.public_columns import Groups
from warner.reports.rules import BitRule, WholeNumbers, smallest_dtype
from warner.reports.source import Histograms

# -----------------------------------------------------------------------------------------------
# Columns of Parquet files, counted while they are read, in several threads.
#
# The reader of PyArrow and a histogram of small integers take about half the processor time of a
# GROUP BY. The GROUP BY stays the judge of whatever is not plainly right: a gap, a value beyond
# the column's size, a column of another type, a file that cannot be read. Then the columns are
# counted by it, and it says what is wrong.


_ROWS = 2**18  # rows per batch, so that the arrays of a batch fit the cache
_MANY = 2**17  # counts of a table, beyond which a batch takes longer to add up than to look up
_NARROW = 2**32  # rows whose counts 32 bits hold
_STREAM = 2**20  # bytes that are read at a time
_SHARES = 8  # of a file for each thread, which end at about the same time
_CAN_ASK = hasattr(os, "sched_getaffinity")  # for its processors; not on macOS and Windows
_THREADS = 8  # more wait for each other: a histogram holds Python's lock


class StreamedColumns:
    """The columns of Parquet files on this machine, streamed for one group; see Histograms."""

    # ``otherwise`` counts the same columns where there are groups of people, a row is no report, or
    # a file cannot be read.

    def __init__(self, paths: Sequence[str], otherwise: Histograms) -> None:
        self._paths, self._otherwise = tuple(paths), otherwise

    def groups(self) -> Groups | None:
        return self._otherwise.groups()

    def counts(self, columns: Mapping[str, int]) -> np.ndarray:
        table = count_columns(self._paths, columns) if self.groups() is None else None
        if table is not None:
            return table[None]
        for path in self._paths:
            refuse_damaged(path, list(columns))
        return self._otherwise.counts(columns)

    def any_breaks(self, rule: BitRule, names: Sequence[str]) -> bool:
        return self._otherwise.any_breaks(rule, names)


def count_columns(paths: Sequence[str], columns: Mapping[str, int]) -> np.ndarray | None:
    """The number of rows with each tuple of values in some columns of Parquet files."""
    size = prod(columns.values())
    if size > LARGEST:
        return None
    threads = min(_THREADS, len(os.sched_getaffinity(0)) if _CAN_ASK else os.cpu_count() or 1)
    stop = Event()
    with ThreadPoolExecutor(threads) as pool:
        try:
            files = [(path, _metadata(path, columns)) for path in paths]
            table = _Table(size, sum(metadata.num_rows for _, metadata in files))
            tasks = {
                pool.submit(_count, path, groups, metadata, columns, table, stop)
                for path, metadata in files
                for groups in _shares(metadata.num_row_groups, threads)
            }
            with stage("reading", len(tasks)) as tell:
                for done, task in enumerate(as_completed(tasks), 1):
                    if not task.result():
                        return None
                    tell(done)
        except (pa.ArrowException, OSError, KeyError):
            return None
        finally:
            stop.set()  # also after Ctrl-C: a task of a large file runs for minutes
    if not table.counts.any():
        return None
    return table.counts.astype(np.int64, copy=False).reshape(tuple(columns.values()))


def _metadata(path: str, names: Iterable[str]) -> Any:
    """The metadata of a file, some columns of which hold integers."""

    # The absolute path, because a name such as s3:... would be taken for a network's.
    metadata = pq.read_metadata(os.path.abspath(path))
    schema = metadata.schema.to_arrow_schema()
    if any(
        schema.names.count(name) != 1 or not pa.types.is_integer(schema.field(name).type)
        for name in names
    ):
        raise pa.ArrowInvalid("no column of integers")
    return metadata


def _shares(groups: int, threads: int) -> Iterator[range]:
    """The row groups of a file in some shares for each thread."""
    size = -(-groups // (threads * _SHARES)) or 1
    for start in range(0, groups, size):
        yield range(start, min(start + size, groups))


class _Table:
    """Counts to which several threads add; a thread that counts holds Python's lock anyway."""

    def __init__(self, size: int, rows: int) -> None:
        # Counts of half the bytes miss the cache less often.
        is_narrow = size > _MANY and rows < _NARROW
        self.counts: np.ndarray = np.zeros(size, dtype=np.uint32 if is_narrow else np.int64)
        self._lock = Lock()

    def add(self, index: np.ndarray) -> None:
        """Count some rows, by their places in the table (n,)."""
        if self.counts.size > _MANY:
            with self._lock:
                np.add.at(self.counts, index, self.counts.dtype.type(1))
            return
        counts = count_values(index, self.counts.size)
        with self._lock:
            self.counts += counts


def _count(
    path: str, groups: range, metadata: Any, columns: Mapping[str, int], table: _Table, stop: Event
) -> bool:
    """Count some row groups of a file, and say whether all is right; see :func:`count_columns`."""
    names = list(columns)
    with _opened(path, metadata=metadata, buffer_size=_STREAM) as file:
        options = {"row_groups": list(groups), "columns": names, "use_threads": False}
        for batch in _undamaged(path, file.iter_batches(_ROWS, **options)):
            if stop.is_set():
                return False
            number = None
            for name, size in columns.items():
                index = _index(batch.column(name), size, len(columns) == 1)
                if index is None:
                    return False
                number = index if number is None else number * np.intp(size) + index
            assert number is not None
            table.add(number)
    return True


def _opened(path: str | BinaryIO, **options: Any) -> pq.ParquetFile:
    """A Parquet file whose pages are compared with their checksums, where it has any."""
    # The absolute path, because a name such as s3:... would be taken for a network's.
    where = os.path.abspath(path) if isinstance(path, str) else path
    return pq.ParquetFile(where, page_checksum_verification=True, **options)


def _undamaged(path: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same batches; a page that cannot be read is an error, which DuckDB may not notice."""
    try:
        yield from batches
        return
    except OSError:
        if not Path(path).exists():
            raise
    raise FileError(
        path, "has a part that was damaged", None, "Copy it here again, or save it again"
    )


def refuse_damaged(path: str, columns: Sequence[str]) -> None:
    """Refuse a Parquet file in whose columns a page is damaged, which DuckDB does not notice."""
    # Texts that are numbers in the file stay numbers, which takes a tenth of the time.
    options: dict[str, Any] = {"read_dictionary": columns, "buffer_size": _STREAM}
    unreadable = (pa.ArrowInvalid, pa.ArrowNotImplementedError, KeyError)  # DuckDB may read these
    with suppress(*unreadable), _opened(path, **options) as file:
        for group in range(file.num_row_groups):  # of all at once, the bytes stay in memory
            for _ in _undamaged(path, file.iter_batches(_ROWS, [group], columns)):
                pass


def _index(column: pa.Array, size: int, alone: bool) -> np.ndarray | None:
    """The integers of a column, (n,), as they are or intp; None if they are not in 0..size-1."""
    if column.null_count or not len(column):
        return None
    # Not by to_numpy, which imports pandas.
    values = np.frombuffer(column.buffers()[1], str(column.type))
    values = values[column.offset : column.offset + len(column)]
    if not WholeNumbers(size).holds(values):
        return None
    return values if alone and values.dtype != np.uint64 else values.astype(np.intp)


_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*::)*[A-Za-z][A-Za-z0-9+.-]*://")
_CELLS = 2**24  # entries per batch, about
_DTYPES = {
    "UTINYINT": "uint8",
    "USMALLINT": "uint16",
    "UINTEGER": "uint32",
    "UBIGINT": "uint64",
    "BIGINT": "int64",
    "VARCHAR": "string",
    "BLOB": "binary",
}


class ParquetFormat(FileFormat):
    """Parquet. Header and end are in the file's metadata, as ``warner`` and ``warner.end``."""

    name = "Parquet"
    suffix = ".parquet"

    def recognizes(self, path: str) -> bool:
        return ending(path) == self.suffix

    groups = True
    holds_public = True
    holds_blocks = True

    def read_ends(self, path: str) -> tuple[bytes, bytes]:
        rows = _query(path, f"SELECT key, value FROM parquet_kv_metadata({file_name_in_sql(path)})")
        pairs = {bytes(key): bytes(value) for key, value in rows}
        of_frame = pairs.get(b"PANDAS_ATTRS", b"")  # where pandas writes the header of a frame
        head = pairs.get(b"warner", of_frame if b"warner-reports" in of_frame else b"")
        return head, pairs.get(b"warner.end", b"")

    def columns(self, path: str) -> dict[str, str]:
        rows = _query(path, f"DESCRIBE SELECT * FROM {relation_in_sql(path)}")
        return {row[0]: _DTYPES.get(row[1], row[1]) for row in rows}

    def batches(
        self, path: str, columns: Mapping[str, int], public: Public = NO_PUBLIC
    ) -> Iterator[pa.RecordBatch]:
        names = [*public, *columns]
        rows = max(1, min(ROWS_PER_BATCH, _CELLS // len(names)))
        with _opened(path) as file:
            yield from file.iter_batches(rows, columns=names)

    def block_batches(self, path: str, names: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        with _opened(path) as file:
            yield from file.iter_batches(rows, columns=names)

    def sink(
        self, path: str, header: str, columns: Mapping[str, int], public: Public = NO_PUBLIC
    ) -> ReportSink:
        fields = {name: arrow_type(domain) for name, domain in public.items()}
        fields |= {n: pa.from_numpy_dtype(smallest_dtype(size)) for n, size in columns.items()}
        # Parquet stores a byte in four unless a dictionary says how few values there are.
        return _ParquetSink(path, header, fields, use_dictionary=True)

    def block_sink(self, path: str, header: str, names: list[str]) -> ReportSink:
        fields = dict.fromkeys(names, pa.binary())
        return _ParquetSink(path, header, fields, use_dictionary=False)

    def answers(self, path: str | BinaryIO, names: list[str], bare: bool = False) -> AnswerTable:
        file = _opened(path)
        if b"warner" in (file.schema_arrow.metadata or {}):
            refuse_reports(str(path))
        rows = partial(file.iter_batches, ROWS_PER_BATCH, columns=names)
        return AnswerTable(file.schema_arrow.names, rows)


class _Shared:
    """A database for several files, made when the first of them needs it."""

    def __init__(self) -> None:
        self.database: duckdb.DuckDBPyConnection | None = None

    def cursor(self) -> duckdb.DuckDBPyConnection:
        if self.database is None:
            self.database = duckdb.connect(":memory:")
            # No bytes of a file are kept: the next file may have its name.
            self.database.execute("SET enable_external_file_cache = false")
        return self.database.cursor()

    def close(self) -> None:
        if self.database is not None:
            self.database.close()


_SHARED: ContextVar[_Shared | None] = ContextVar("database", default=None)

_SYSTEM: ContextVar[Any] = ContextVar("file system", default=None)


def connection() -> duckdb.DuckDBPyConnection:
    """A database of its own: settings and errors stay apart from the shared default connection."""
    shared, system = _SHARED.get(), _SYSTEM.get()
    database = duckdb.connect(":memory:") if shared is None else shared.cursor()
    if system is not None:  # by it alone, and by no other of its protocols
        names = [system.protocol] if isinstance(system.protocol, str) else system.protocol
        for name in set(names) & set(database.list_filesystems()):
            database.unregister_filesystem(name)
        database.register_filesystem(system)
    return database


@contextmanager
def shared_connection() -> Iterator[None]:
    """Let all connections of the block, or of that around it, be to one database, to save time."""
    if _SHARED.get() is not None:
        yield
        return
    shared = _Shared()
    token = _SHARED.set(shared)
    try:
        yield
    finally:
        _SHARED.reset(token)
        shared.close()


@contextmanager
def read_by(system: Any) -> Iterator[None]:
    """Let all connections of the block read addresses by a file system of fsspec."""
    token = _SYSTEM.set(system)
    try:
        yield
    finally:
        _SYSTEM.reset(token)


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt where Ctrl-C stops a query; DuckDB raises errors of its own."""
    try:
        yield
        return
    except duckdb.InterruptException:
        pass
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
    raise KeyboardInterrupt


def rows_of(sql: str, *parameters: str) -> list[Any] | None:
    """All rows of a query; None where it fails, because the errors may quote a file."""
    with connection() as database, suppress(duckdb.Error), interruptible():
        return database.execute(sql, parameters).fetchall()
    return None


def _query(path: str, sql: str) -> list[Any]:
    """All rows of a query of a Parquet file."""
    if (rows := rows_of(sql)) is None:
        raise FileError(path, "cannot be read as Parquet", None, AGAIN)
    return rows


def relation_in_sql(path: str) -> str:
    """A Parquet file as a table in DuckDB's SQL; names of folders are no columns."""
    return f"read_parquet({file_name_in_sql(path)}, hive_partitioning=false, filename=false)"


def is_remote(path: str) -> bool:
    """Whether a path is an address such as ``s3://bucket/a.parquet``, and no file of this machine.

    >>> is_remote("s3://bucket/a.parquet"), is_remote("s3:/a.parquet")
    (True, False)
    """
    return _ADDRESS.match(path) is not None and not os.path.exists(path)


def redacted_address(path: str) -> str:
    """An address without user, password, query and fragment; any other path as it is.

    >>> redacted_address("https://me:secret@host/a.parquet?X-Amz-Signature=1f")
    'https://...@host/a.parquet?...'
    """
    return without_secrets(path) if is_remote(path) else path


def ending(path: str) -> str:
    """How the name of a file ends, in lower case, also at an address with a query.

    >>> ending("https://host/a.parquet?X-Amz-Signature=1f"), ending("a.csv"), ending("a.pq")
    ('.parquet', '.csv', '.parquet')
    """
    suffix = Path(redacted_address(path).removesuffix("?...")).suffix.lower()
    return ParquetFormat.suffix if suffix in (".pq", ".parq") else suffix


def file_name_in_sql(path: str) -> str:
    """A file name in SQL."""
    # Addresses that DuckDB reads by itself stay as they are: a ? may begin a query.
    if is_remote(path) and _SYSTEM.get() is None:
        return "'" + path.replace("'", "''") + "'"
    # DuckDB would take *, ? and [ for a pattern, and s3: for a network.
    name = path if is_remote(path) else os.path.abspath(path)
    text = "".join(f"[{c}]" if c in "*?[" else c for c in name)
    return "'" + text.replace("'", "''") + "'"


def column_in_sql(name: str) -> str:
    """A column's name in SQL."""
    return '"' + name.replace('"', '""') + '"'


class _ParquetSink(ReportSink):
    """A Parquet file that is being written, one row group per call."""

    def __init__(
        self, path: str, header: str, fields: Mapping[str, pa.DataType], use_dictionary: bool
    ) -> None:
        self._schema = pa.schema(list(fields.items()), metadata=metadata_of(header))
        self._writer = pq.ParquetWriter(
            path,
            self._schema,
            compression="zstd",
            use_dictionary=use_dictionary,
            write_page_checksum=True,
        )

    def write(self, columns: Mapping[str, Any]) -> None:
        arrays = [
            column if isinstance(column, pa.Array) else pa.array(column, field.type)
            for field in self._schema
            for column in (columns[field.name],)
        ]
        table = pa.Table.from_arrays(arrays, schema=self._schema)
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))

    def close(self, end: str | None) -> None:
        if end is not None:
            self._writer.add_key_value_metadata({"warner.end": end})
        self._writer.close()
