"""Data frames of any library that Narwhals knows, in and out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from warner._core.checks import kind, show
from warner._core.errors import ArgumentError, ArgumentTypeError, EmptyError, ReportError
from warner._core.foreign_tables import ColumnNames
from warner._core.table import frame
from warner.domains import Domain
from warner.io.file_format import to_file
from warner.io.grouped_frame import (
    ELSEWHERE,
    MOST_ROWS,
    GroupedFrame,
    checked_groups,
    gap,
    no_report,
    no_whole_number,
    require_numbers,
)
from warner.io.parquet_format import StreamedColumns
from warner.mechanisms import Mechanism, from_header
from warner.reports.public_columns import Groups
from warner.reports.reports import Reports, columns_of
from warner.reports.schema import ReportSchema, smallest_dtype
from warner.reports.tally import Tally

# -----------------------------------------------------------------------------------------------
# The rows of a data frame of any library, a batch at a time, and reports in columns of bytes.


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


_NUMBERED = re.compile(r"(.*_)([0-9]{1,9})", re.DOTALL)  # such as age_bits_12
_SHOWN = 8  # names of columns in a message
RECORDS = "records"  # the name of a column of bytes that holds reports
_BLOCKS = 2**11  # rows of bytes per batch, each of which may hold thousands of reports


def reports_frame(reports: Reports, backend: str = "pyarrow", attribute: str = "value") -> Any:
    """Reports as a data frame with the columns of a report file.

    Args:
        reports: n reports.
        backend: the library of the frame.
        attribute: the name of the attribute, with which the names of columns begin.

    Raises:
        ArgumentError: no such library is installed.
    """
    schema = from_header(reports.header).schema
    return frame(to_file(attribute, schema, reports.columns), backend)


def attribute_columns(attribute: str, mechanism: Mechanism) -> dict[str, str]:
    """The names that the columns of an attribute's reports have in a report file.

    >>> from warner import Categorical, RandomizedResponse
    >>> attribute_columns("age", RandomizedResponse(Categorical(["young", "old"]), 1.0))
    {'report': 'age_report'}
    """
    return {name: f"{attribute}_{name}" for name in mechanism.schema.file_columns()}


def count_frame(
    mechanism: Mechanism,
    data: Any,
    names: Mapping[str, str],
    by: Mapping[str, Domain | None] | None = None,
    *,
    ways: int | None = None,
    keep_reports: bool = False,
    files: Sequence[str] = (),
) -> Tally:
    """Count the reports in some columns of a data frame, by public columns if there are any.

    ``files`` are the Parquet files that the frame is made of.
    """
    lazy, public = _lazy(data), by or {}
    columns = GroupedFrame(lazy, public)
    try:
        if is_counted_by_columns(mechanism, ways, keep_reports):
            source = StreamedColumns(files, columns) if files else columns
            names_of_all = list(_sizes(mechanism, names))
            counted = mechanism.schema.count_where_stored(source, names_of_all)
            return Tally(mechanism.header, counted, columns.groups())
        wanted = list(dict.fromkeys([*public, *names.values()]))
        parts = batches(lazy, wanted)
        if parts is None and not _keeps(mechanism, ways, keep_reports):
            arrays, repeats = columns.rows(_sizes(mechanism, names), MOST_ROWS)
            reports = _reports(mechanism, names, arrays)
            groups = columns.groups_of_rows()
            return mechanism.count(reports, groups, repeats=repeats, ways=ways)
        count = partial(mechanism.count, ways=ways, keep_reports=keep_reports)
        every = _typed(parts or [lazy.select(wanted).collect()], mechanism, names)
        return _sum(count(reports, _groups_of(rows, public)) for rows, reports in every)
    except ReportError as error:
        problem = ReportError(f"data: {str(error).removeprefix('data: ')}")
    raise problem


def is_counted_by_columns(mechanism: Mechanism, ways: int | None, keep_reports: bool) -> bool:
    """Whether reports are counted by GROUP BYs of their columns, and not as whole reports."""
    keeps = _keeps(mechanism, ways, keep_reports)
    return bool(mechanism.schema.group_bys) and ways is None and not keeps


def _keeps(mechanism: Mechanism, ways: int | None, keep_reports: bool) -> bool:
    """Whether the distinct reports are kept."""
    return keep_reports and mechanism.schema.can_keep_reports and ways is None


def _sizes(mechanism: Mechanism, names: Mapping[str, str]) -> dict[str, int]:
    """The columns of a frame that hold reports: {name: how many values it may take}."""
    return {names[name]: size for name, size in mechanism.schema.file_columns().items()}


def _reports(
    mechanism: Mechanism, names: Mapping[str, str], arrays: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The columns of reports, checked, from columns of a frame."""
    columns = mechanism.schema.from_file({name: arrays[own] for name, own in names.items()})
    mechanism.schema.check(columns)
    return columns


def _typed(
    parts: Iterable[Any], mechanism: Mechanism, names: Mapping[str, str]
) -> Iterator[tuple[Any, dict[str, np.ndarray]]]:
    """Each batch of rows, and the checked columns of its reports."""
    sizes = _sizes(mechanism, names)
    for rows in parts:
        if not len(rows):
            continue
        arrays = {name: _checked_column(rows[name], name, size) for name, size in sizes.items()}
        yield rows, _reports(mechanism, names, arrays)


def _sum(tallies: Iterable[Tally]) -> Tally:
    """The sum of the tallies of batches."""
    total: Tally | None = None
    for tally in tallies:
        total = tally if total is None else total + tally
    if total is None or not total.n:
        raise EmptyError("data", "holds no reports")
    return total


def frame_reports(mechanism: Mechanism, data: Any, names: Mapping[str, str]) -> Reports:
    """The reports in some columns of a data frame, in its order."""
    rows = _lazy(data).select(list(names.values())).collect()
    arrays = {
        name: _checked_column(rows[names[name]], names[name], size)
        for name, size in mechanism.schema.file_columns().items()
    }
    if not len(rows):
        raise EmptyError("data", "holds no reports")
    columns = mechanism.schema.from_file(arrays)
    mechanism.schema.check(columns)
    return Reports(mechanism.header, columns)


def count_records(
    mechanism: Mechanism,
    data: Any,
    name: str,
    by: Mapping[str, Domain | None] | None = None,
    *,
    ways: int | None = None,
    keep_reports: bool = False,
) -> Tally:
    """Count the reports in a column of bytes of a data frame, in batches."""
    public = by or {}
    parts = _record_batches(mechanism, data, [*public, name], name)
    return _sum(
        mechanism.count(
            columns, _groups_of(rows, public, many), ways=ways, keep_reports=keep_reports
        )
        for rows, columns, many in parts
    )


def _record_batches(
    mechanism: Mechanism, data: Any, names: Sequence[str], name: str
) -> Iterator[tuple[Any, dict[str, np.ndarray], np.ndarray]]:
    """Each batch of rows, the columns of its reports, and how many reports each row holds."""
    parts = batches(_lazy(data), names, _BLOCKS)
    problem: ReportError | None = None
    if parts is None:
        rule = "holds bytes, and the library of the frame gives no batches"
        raise ReportError(f"data: {name}", rule, None, ELSEWHERE)
    try:
        for rows in parts:
            yield (rows, *records_in(mechanism.schema, rows.to_arrow().column(name), name))
        return
    except ReportError as error:
        problem = ReportError(f"data: {error}")
    raise problem


def _groups_of(
    rows: Any, by: Mapping[str, Domain | None], repeats: np.ndarray | None = None
) -> Groups | None:
    """The groups of the reports in a batch of rows, each of which may hold several."""
    if not by:
        return None
    values = {}
    for name in by:
        column = rows[name].to_list()
        if repeats is not None:
            column = [
                v for v, many in zip(column, repeats.tolist(), strict=True) for _ in range(many)
            ]
        values[name] = column
    return checked_groups(values, by, len(next(iter(values.values()))))


def _lazy(data: Any) -> Any:
    """A frame of any library as a lazy Narwhals frame."""
    import narwhals.stable.v2 as nw

    try:
        return nw.from_native(data).lazy()
    except TypeError:
        raise ArgumentTypeError("data", "must be a data frame", kind(data)) from None


def _names(lazy: Any) -> list[str]:
    """The names of all columns of a lazy Narwhals frame."""
    found: list[str] = lazy.collect_schema().names()
    return found


def report_columns(
    schema: ReportSchema,
    found: Sequence[str],
    column: ColumnNames = None,
    may_hold_answers: bool = False,
    remedy: str | None = None,
) -> dict[str, str]:
    """The columns of a frame that hold reports.

    >>> from warner.reports.schema import IntegerColumns
    >>> report_columns(IntegerColumns(("seed", "bucket"), (9, 2)), ["a_seed", "day", "a_bucket"])
    {'seed': 'a_seed', 'bucket': 'a_bucket'}
    """
    wanted = list(schema.file_columns())
    named = {name: name for name in wanted}
    if not isinstance(column, str | Mapping | None):
        rule, remedy = "must be the name of a column, or a dict of names", "For example 'report'"
        raise ArgumentTypeError("column", rule, kind(column), remedy)
    if isinstance(column, Mapping):
        unknown = [name for name in column if name not in named]
        if unknown:
            rule = f"must name the columns {_few(wanted)} of the reports"
            raise ArgumentError("column", rule, _few(unknown))
        named |= column
    elif column is not None:
        named = {name: f"{column}_{name}" for name in wanted}
        if len(wanted) == 1 and column in found:
            named = {wanted[0]: column}
    elif any(name not in found for name in wanted):
        named = _guessed(wanted, found) or named
    if missing := [name for name in named.values() if name not in found]:
        several = len(named) > 1
        listed = _few(list(named.values()))
        if isinstance(column, str) and not several and not column.endswith(f"_{wanted[0]}"):
            listed = f"{column} or {listed}"
        rule = f"must have the {'columns' if several else 'column'} {listed}"
        there = _few(found) if not may_hold_answers else f"the {len(found)} in its first line"
        got = f"no {_few(missing)} among {there}" if found else "no columns"
        cure = "Name the column that holds the reports" + " of each" * several
        raise ReportError("data", rule, got, remedy or cure)
    _refuse_more(named, found)
    return named


def _refuse_more(named: Mapping[str, str], found: Sequence[str]) -> None:
    """Refuse a frame with bits or digits beyond the last: its reports are of more values."""
    last: dict[str, int] = {}
    for part, own in named.items():
        of, numbered = _NUMBERED.fullmatch(part), _NUMBERED.fullmatch(own)
        if of and numbered and of[2] == numbered[2]:
            last[numbered[1]] = max(int(of[2]), last.get(numbered[1], 0))
    for name in found:
        numbered = _NUMBERED.fullmatch(name)
        if numbered and int(numbered[2]) > last.get(numbered[1], int(numbered[2])):
            start, end = numbered[1], last[numbered[1]]
            few = f"{start}0" + f" to {start}{end}" * (end > 0)
            rule = f"has {name}, and reports of this mechanism have only {few}"
            raise ReportError("data", rule, None, "Were they made for more values?")


def _guessed(wanted: Sequence[str], found: Sequence[str]) -> dict[str, str] | None:
    """The columns that are named as in a report file, or the only one; None if there are none."""
    ending = f"_{wanted[0]}"
    starts = [name.removesuffix(ending) for name in found if name.endswith(ending)]
    fits = [start for start in starts if all(f"{start}_{name}" in found for name in wanted)]
    if len(fits) > 1:
        rule = "must be named where a frame has reports of several attributes"
        raise ArgumentError("column", rule, None, f"Pass one of {_few(fits)}")
    if fits:
        return {name: f"{fits[0]}_{name}" for name in wanted}
    return {wanted[0]: found[0]} if len(wanted) == len(found) == 1 else None


def _binary(kinds: Mapping[str, Any]) -> list[str]:
    """The columns of bytes of a frame, by the types of all."""
    import narwhals.stable.v2 as nw

    return [name for name, dtype in kinds.items() if dtype == nw.Binary]


def records_column(
    schema: ReportSchema, column: ColumnNames, found: Sequence[str], binary: Sequence[str]
) -> str | None:
    """The column of bytes that holds whole reports; None where the reports are in other columns.

    >>> from warner.reports.schema import BitVector
    >>> records_column(BitVector(9), "age", ["age_records", "day"], ["age_records"])
    'age_records'
    >>> records_column(BitVector(9), None, ["age_bits_0", "age_bits_1", "photo"], ["photo"])
    """
    if isinstance(column, Mapping):
        if any(name in found for name in column.values()):
            return None
        # The usual names, age_bits_0 and so on: their beginning names the attribute.
        starts = {own.removesuffix(f"_{part}") for part, own in column.items()}
        wanted = [f"{start}_{RECORDS}" for start in starts]
    elif column is not None:
        wanted = [column, f"{column}_{RECORDS}"]
    elif any(name in found for name in schema.file_columns()) or _guessed(
        list(schema.file_columns()), found if len(found) > 1 else []
    ):
        return None
    else:
        wanted = [RECORDS, *(binary if len(binary) == 1 else ())]
    return next((name for name in wanted if name in binary), None)


def _public_names(by: Any, found: Sequence[str]) -> dict[str, Domain | None] | None:
    """The public columns of a frame as {name: domain or None}; None where values are given."""
    if isinstance(by, Mapping) and not all(isinstance(of, Domain | None) for of in by.values()):
        return None
    wanted = dict.fromkeys([by]) if isinstance(by, str) else None
    if wanted is None and isinstance(by, Mapping):
        wanted = dict(by)
    elif wanted is None and isinstance(by, Sequence) and all(isinstance(n, str) for n in by):
        wanted = dict.fromkeys(by)
    if not wanted or any(name not in found for name in wanted):
        rule = "must be a column of the frame, a list of columns, or {name: values}"
        raise ArgumentError("by", rule, show(by), f"Columns: {_few(found)}")
    return wanted


def _list_matrix(rows: Any, name: str) -> np.ndarray:
    """A column of arrays of one length as a matrix (n, length)."""
    if not len(rows):
        raise EmptyError("data", "holds no reports")
    column = rows.to_arrow().column(name).combine_chunks()
    values = column.flatten()
    rule = "must hold arrays of integers of one length, without gaps"
    if column.null_count or values.null_count or len(values) % len(column):
        raise ReportError(f"data: {name}", rule)
    table: np.ndarray = values.to_numpy(zero_copy_only=False).reshape(len(column), -1)
    ends = column.offsets.to_numpy() if hasattr(column, "offsets") else np.zeros(0)
    if len(np.unique(np.diff(ends))) > 1 or table.dtype.kind not in "iu":
        raise ReportError(f"data: {name}", rule)
    return table


def _few(names: Sequence[str]) -> str:
    """Names of columns for a message, not more than eight."""
    more = f", ... ({len(names)} in all)" if len(names) > _SHOWN else ""
    return ", ".join(map(str, names[:_SHOWN])) + more


def _checked_column(series: Any, name: str, size: int) -> np.ndarray:
    """A Narwhals series as an array of the smallest type, refused unless it holds 0..size-1."""
    import narwhals.stable.v2 as nw

    dtype = series.dtype
    require_numbers(name, dtype)
    if series.null_count():
        raise gap(name, dtype)
    if not dtype.is_integer():
        # A float holds every whole number up to 2^53, and no column of reports has more values.
        numbers = series.cast(nw.Float64).to_numpy()
        inside = (numbers >= 0) & (numbers < size)
        if (inside & (numbers != np.floor(numbers))).any():
            raise no_whole_number(name, dtype)
        if not inside.all():
            raise no_report(name, size)
        whole: np.ndarray = numbers.astype(smallest_dtype(size))
        return whole
    if len(series) and (int(series.min()) < 0 or int(series.max()) >= size):
        raise no_report(name, size)
    if dtype in (nw.Int128, nw.UInt128):  # unknown to NumPy
        series = series.cast(nw.Int64)
    array: np.ndarray = series.to_numpy().astype(smallest_dtype(size))
    return array


class FrameOfReports:
    """A data frame where a mechanism expects reports: see ``warner._core.foreign_tables``.

    Args:
        native: the frame.
        lazy: the same as a lazy Narwhals frame.
    """

    def __init__(self, native: Any, lazy: Any) -> None:
        self._native, self._lazy = native, lazy

    def reports(self, mechanism: Mechanism, column: ColumnNames) -> Reports:
        """The reports in the frame, in its order."""
        if (own := self._records(mechanism, column)) is not None:
            parts = list(_record_batches(mechanism, self._lazy, [own], own))
            if not parts:
                raise EmptyError("data", "holds no reports")
            found = {
                name: np.concatenate([columns[name] for _, columns, _ in parts])
                for name in mechanism.schema.empty(0)
            }
            return Reports(mechanism.header, found)
        if (whole := self._arrays(mechanism, column)) is not None:
            return whole
        names = report_columns(mechanism.schema, _names(self._lazy), column)
        return frame_reports(mechanism, self._native, names)

    def tally(
        self,
        mechanism: Mechanism,
        column: ColumnNames,
        by: Any,
        keep_reports: bool,
        ways: int | None,
    ) -> Tally:
        """The tally of the reports, counted by the frame's own GROUP BY where that is possible.

        Groups of people are by columns of the frame, or by values beside it.
        """
        options: dict[str, Any] = {"keep_reports": keep_reports, "ways": ways}
        public = {} if by is None else _public_names(by, _names(self._lazy))
        if public is None:
            return mechanism.tally(self.reports(mechanism, column), by, **options)
        if (own := self._records(mechanism, column)) is not None:
            return count_records(mechanism, self._lazy, own, public, **options)
        if not public and (whole := self._arrays(mechanism, column)) is not None:
            return mechanism.tally(whole, **options)
        if public and self._listed(mechanism, column) is not None:
            rows = self._lazy.collect()  # once: an engine may give rows in another order each time
            reports = FrameOfReports(rows.to_native(), rows.lazy()).reports(mechanism, column)
            return mechanism.count(reports.columns, _groups_of(rows, public), **options)
        names = report_columns(mechanism.schema, _names(self._lazy), column)
        return count_frame(mechanism, self._native, names, public, **options)

    def _arrays(self, mechanism: Mechanism, column: ColumnNames) -> Reports | None:
        """The reports, where a column holds an array for each report, or each bit has a column."""
        listed = self._listed(mechanism, column)
        if listed is None:
            matrix = self._matrix(mechanism, column)
            return None if matrix is None else mechanism.reports(matrix)
        table = _list_matrix(self._lazy.select(listed).collect(), listed)
        sizes = mechanism.schema.file_columns()
        if table.shape[1] == mechanism.schema.width_as_matrix:
            return mechanism.reports(table)
        if table.shape[1] != len(sizes):
            rule = f"must hold arrays of length {len(sizes)} or {mechanism.schema.width_as_matrix}"
            raise ReportError(f"data: {listed}", rule, f"length {table.shape[1]}")
        parts = {part: table[:, i] for i, part in enumerate(sizes)}
        return frame_reports(mechanism, frame(parts), {part: part for part in sizes})

    def _records(self, mechanism: Mechanism, column: ColumnNames) -> str | None:
        """The column of bytes that holds whole reports; None without one."""
        kinds = self._lazy.collect_schema()
        return records_column(mechanism.schema, column, list(kinds), _binary(kinds))

    def _listed(self, mechanism: Mechanism, column: ColumnNames) -> str | None:
        """The column with an array for each report, such as the bytes of bits; None without one."""
        import narwhals.stable.v2 as nw

        if mechanism.schema.width_as_matrix is None or isinstance(column, Mapping):
            return None
        (own, *_) = mechanism.schema.empty(0)
        kinds = self._lazy.collect_schema()
        listed = [name for name, dtype in kinds.items() if isinstance(dtype, nw.Array | nw.List)]
        if column is not None:
            wanted = [column, f"{column}_{own}"]
        else:
            wanted = [own, *(listed if len(listed) == 1 else ())]
        return next((name for name in wanted if name in listed), None)

    def _matrix(self, mechanism: Mechanism, column: ColumnNames) -> np.ndarray | None:
        """The frame as a matrix (n, K), where it has a column for each bit or digit of a report."""
        found = _names(self._lazy)
        if column is not None or mechanism.schema.width_as_matrix != len(found):
            return None
        if set(mechanism.schema.file_columns()) & set(found) or _guessed(
            list(mechanism.schema.file_columns()), found
        ):
            return None
        return np.asarray(self._lazy.collect().to_numpy())


def frame_of_reports(data: Any) -> FrameOfReports | None:
    """The frame that an object is; None for another object, or where Narwhals is not installed."""
    try:
        import narwhals.stable.v2 as nw

        return FrameOfReports(data, nw.from_native(data).lazy())
    except (TypeError, ImportError):
        return None
