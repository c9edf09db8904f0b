"""The rows of a data frame of any library, a batch at a time, and reports in columns of bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from warner._core.errors import EmptyError, ReportError
from warner.reports.reports import columns_of
from warner.reports.schema import ReportSchema

ROWS = 2**20  # rows per batch


def batches(lazy: Any, names: Sequence[str], rows: int = ROWS) -> Iterator[Any] | None:
    """Some columns of a frame in batches, in its order.

    DuckDB, Polars and Ibis stream them. Frames in memory are cut.
    """
    wanted = lazy.select(list(names))
    native, library = wanted.to_native(), wanted.implementation
    if library.is_duckdb():
        return _frames(_of_duckdb(native, rows))
    if library.is_polars():
        return _frames(native.collect_batches(chunk_size=rows, maintain_order=True))
    if library.is_ibis():
        return _frames(_of_ibis(native, rows))
    if library.is_pandas_like() or library.is_pyarrow():
        return _slices(wanted.collect(), rows)
    return None


def _of_duckdb(relation: Any, rows: int) -> Any:
    """A relation of DuckDB as batches of Arrow."""
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch  # before 2.0
    return read(rows)


def _of_ibis(table: Any, rows: int) -> Any:
    """A table of Ibis as batches of Arrow."""
    backend = table.get_backend()
    if backend.name != "duckdb":
        return table.to_pyarrow_batches(chunk_size=rows)
    # Ibis calls a method that DuckDB 2 does not have. So DuckDB itself reads the statement of Ibis,
    # after Ibis has registered the tables in memory.
    table.limit(0).to_pyarrow()
    return _of_duckdb(backend.con.sql(backend.compile(table)), rows)


def _frames(parts: Any) -> Iterator[Any]:
    """Batches of Arrow or Polars as eager Narwhals frames."""
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    for part in parts:
        table = pa.Table.from_batches([part]) if isinstance(part, pa.RecordBatch) else part
        if len(table):
            yield nw.from_native(table, eager_only=True)


def _slices(whole: Any, rows: int) -> Iterator[Any]:
    """Slices of an eager frame."""
    for start in range(0, len(whole), rows):
        yield whole[start : start + rows]


def records_in(
    schema: ReportSchema, column: Any, name: str
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The reports in a column of bytes, in which each row holds one report or a block of them.

    A report is its record, as :meth:`Reports.records <warner.Reports.records>` gives them: for bits
    the packed bytes. A block is several records, one behind the other.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    width = schema.bytes_per_report
    parts = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    lengths = [pc.binary_length(part).to_numpy(zero_copy_only=False) for part in parts]
    rule = f"must hold records of {width} bytes, one or more in each row, without gaps"
    if column.null_count:
        raise ReportError(name, rule, f"{column.null_count:,} rows without a report")
    sizes = np.concatenate(lengths).astype(np.int64) if lengths else np.zeros(0, dtype=np.int64)
    if not sizes.size:
        raise EmptyError("data", "holds no reports")
    wrong = np.flatnonzero((sizes % width != 0) | (sizes == 0))
    if wrong.size:
        got = f"{sizes[wrong[0]]} bytes in row {wrong[0]}"
        raise ReportError(name, rule, got, "Were they made by this mechanism?")
    records = np.concatenate([_bytes_of(part) for part in parts]).reshape(-1, width)
    columns = columns_of(schema, records)
    schema.check(columns)
    return columns, sizes // width


def _bytes_of(part: Any) -> np.ndarray:
    """All bytes of an Arrow array of binary values without gaps, uint8."""
    import pyarrow as pa

    part = part.cast(pa.large_binary())
    _, offsets, data = part.buffers()
    ends = np.frombuffer(offsets, np.int64)[part.offset : part.offset + len(part) + 1]
    return np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
