"""Data frames of any library that Narwhals knows, and streams of Arrow, as sources of reports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal

import numpy as np

from warner._core.checks import kind, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    FrameWarning,
    ReportError,
    WarnerError,
    warn,
)
from warner._core.extras import pa, pc
from warner._core.foreign_tables import ColumnNames, about_repeated, frame_of, header_of, index_of
from warner._core.text import MADE_BY, meant
from warner.domains import Domain
from warner.domains.interval import Dates
from warner.io.parquet_format import StreamedColumns, refuse_damaged
from warner.io.public_values import remedy_of
from warner.io.stated_headers import StatedHeader
from warner.mechanisms import Mechanism
from warner.reports.counting import require_room
from warner.reports.public_columns import (
    AS_TEXTS,
    OF_PANDAS,
    ColumnsOfFile,
    Groups,
    PublicColumn,
    domain_of_categories,
    domains_stated,
    group_people,
)
from warner.reports.reports import RANDOM_ORDER, Reports, columns_of
from warner.reports.rules import BitRule, WholeNumbers, smallest_dtype
from warner.reports.schema import ReportSchema, columns_from
from warner.reports.source import Batch, By, Histograms, count, few, public_columns
from warner.reports.tally import Tally

Mechanisms = Mapping[str, Mechanism]  # by the names of attributes
Columns = Mapping[str, ColumnNames]  # {attribute: its columns of reports}
JOINT = "joint"  # the name in a tally file of the tables of several attributes together
RECORDS = "records"  # the name of a column of bytes that holds reports
ROWS = 2**20  # rows per batch
_BLOCKS = 2**11  # rows of bytes per batch, each of which may hold thousands of reports
_MOST_ROWS = 2**22  # different whole reports that may leave a library that gives no batches
_ELSEWHERE = (
    "On Spark, use warner.spark.tally. Otherwise, write Parquet files and count them with "
    "'warner tally'"
)
_SEARCHED = (2**14, 2**20)  # rows at the start of a frame, among which equal ones are looked for
_NUMBERED = re.compile(r"(.*_)([0-9]{1,9})", re.DOTALL)  # such as age_bits_12


def together(mechanisms: Mechanisms, ways: int | None) -> dict[str, Mechanism]:
    """What is counted: each attribute, or with ``ways`` all of several attributes in tuples."""
    from warner.mechanisms import PerAttribute

    if ways is None or len(mechanisms) == 1:
        return dict(mechanisms)
    return {JOINT: PerAttribute(mechanisms)}


# -----------------------------------------------------------------------------------------------
# Which columns hold reports, and how they are read.


def require_questions(columns: Iterable[str], mechanisms: Mechanisms) -> None:
    """Refuse columns of reports that are for no question of the study."""
    if unknown := [name for name in columns if name not in mechanisms]:
        rule = f"must be for a question of the study: {', '.join(mechanisms)}"
        remedy = (
            "A public column must be called as in the study. To rename a public column, make a "
            "view or a new file, for example with SELECT *, day AS week"
        )
        raise ArgumentError(
            "column", rule, show(unknown[0]), meant(unknown[0], mechanisms) or remedy
        )


def attribute_columns(attribute: str, mechanism: Mechanism) -> dict[str, str]:
    """The names that the columns of an attribute's reports have in a report file.

    >>> from warner import Categorical, RandomizedResponse
    >>> attribute_columns("age", RandomizedResponse(Categorical(["young", "old"]), 1.0))
    {'report': 'age_report'}
    """
    return {name: f"{attribute}_{name}" for name in mechanism.schema.file_columns()}


@dataclass(frozen=True)
class ReportColumns:
    """Where the reports of an attribute stand in a table."""

    schema: ReportSchema
    names: Sequence[str]  # for numbers in the order of ``schema.file_columns()``
    # Numbers in the columns of a report file; whole reports as records of bytes, or blocks of them,
    # in one column; an array for each report in one column; or a matrix with a column for each bit
    # or digit.
    form: Literal["numbers", "records", "arrays", "matrix"] = "numbers"

    @classmethod
    def find(
        cls,
        schema: ReportSchema,
        kinds: Mapping[str, Any],
        column: ColumnNames,
        is_alone: bool = False,
    ) -> ReportColumns:
        """The columns of reports in a table of types ``kinds``; ``is_alone`` allows a matrix."""
        import narwhals.stable.v2 as nw

        names = list(kinds)
        binary = [name for name, dtype in kinds.items() if dtype == nw.Binary]
        if (records := records_column(schema, column, names, binary)) is not None:
            return cls(schema, [records], "records")
        listed = [name for name, dtype in kinds.items() if isinstance(dtype, nw.Array | nw.List)]
        if schema.width_as_matrix is not None and not isinstance(column, Mapping):
            (only, *_) = schema.empty(0)
            likely = [only, *(listed if len(listed) == 1 else ())]
            if column is not None:
                likely = [column, f"{column}_{only}"]
            if (arrays := next((name for name in likely if name in listed), None)) is not None:
                return cls(schema, [arrays], "arrays")
            parts = list(schema.file_columns())
            if (
                is_alone
                and column is None
                and schema.width_as_matrix == len(names)
                and not set(parts) & set(names)
                and not _guessed(parts, names)
            ):
                return cls(schema, names, "matrix")
        return cls(schema, list(report_columns(schema, names, column).values()))

    @property
    def sizes(self) -> dict[str, int]:
        """The columns of numbers: {name: how many values it may take}."""
        return dict(zip(self.names, self.schema.file_columns().values(), strict=True))

    def reports(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The columns of reports, checked, from columns of numbers."""
        pairs = zip(self.schema.file_columns(), self.names, strict=True)
        columns = self.schema.from_file({column: arrays[name] for column, name in pairs})
        self.schema.check(columns)
        return columns

    def read(self, rows: Any, row: int | None = None) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """The checked columns of the reports in some rows, and how many each row holds, (n,)."""
        # Messages name a row where ``row``, the number of rows before these, is given.
        if self.form == "records":
            (name,) = self.names
            return records_in(self.schema, rows.to_arrow().column(name), name)
        if self.form == "matrix":
            columns = columns_from(self.schema, np.asarray(rows.to_numpy()))
        elif self.form == "arrays":
            columns = self._of_arrays(rows)
        else:
            arrays = {n: WholeNumbers(s).array(rows[n], n, row) for n, s in self.sizes.items()}
            columns = self.reports(arrays)
        return columns, np.ones(len(rows), dtype=np.int64)

    def _of_arrays(self, rows: Any) -> dict[str, np.ndarray]:
        """The columns of reports from a column that holds an array for each."""
        (name,) = self.names
        table, sizes = _matrix(rows, name), self.schema.file_columns()
        if table.shape[1] == self.schema.width_as_matrix:
            return columns_from(self.schema, table)
        if table.shape[1] != len(sizes):
            numbers = max(len(sizes), self.schema.width_as_matrix or 0)
            rule = f"must hold arrays of {numbers} numbers, as the mechanism makes them"
            raise ReportError(name, rule, f"arrays of {table.shape[1]}", MADE_BY)
        arrays = {}
        for numbers, (column, size) in zip(table.T, sizes.items(), strict=True):
            if not WholeNumbers(size).holds(numbers):
                raise WholeNumbers(size).beyond(column)
            arrays[column] = numbers.astype(smallest_dtype(size))
        columns = self.schema.from_file(arrays)
        self.schema.check(columns)
        return columns


def _matrix(rows: Any, name: str) -> np.ndarray:
    """A column of arrays of one length as a matrix (n, length)."""
    column = rows.to_arrow().column(name).combine_chunks()
    values = column.flatten()
    rule = "must hold arrays of whole numbers, all equally long and without missing values"
    if column.null_count or values.null_count or len(values) % len(column):
        raise ReportError(name, rule)
    table: np.ndarray = values.to_numpy(zero_copy_only=False).reshape(len(column), -1)
    ends = column.offsets.to_numpy() if hasattr(column, "offsets") else np.zeros(0)
    if len(np.unique(np.diff(ends))) > 1 or table.dtype.kind not in "iu":
        raise ReportError(name, rule)
    return table


def records_in(
    schema: ReportSchema, column: Any, name: str
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The reports in a column of bytes, in which each row holds one report or a block of them."""

    # A record is as :meth:`Reports.records <warner.Reports.records>` gives it; a block is several
    # of them, one behind the other.
    width = schema.bytes_per_report
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    lengths = [pc.binary_length(chunk).to_numpy(zero_copy_only=False) for chunk in chunks]
    size = f"{width} byte{'s' * (width > 1)}"
    rule = f"must hold one or more whole reports, of {size} each, in every row"
    if column.null_count:
        remedy = "Leave out the empty rows, or find out why their reports are missing"
        rows = f"{column.null_count:,} empty row{'s' * (column.null_count > 1)}"
        raise ReportError(name, rule, rows, remedy)
    sizes = np.concatenate(lengths).astype(np.int64) if lengths else np.zeros(0, dtype=np.int64)
    if not sizes.size:
        raise EmptyError("data", "holds no reports")
    wrong = np.flatnonzero((sizes % width != 0) | (sizes == 0))
    if wrong.size:
        first = int(sizes[wrong[0]])
        got = f"{first} byte{'s' * (first != 1)} in data row {wrong[0] + 1:,}"
        raise ReportError(name, rule, got, MADE_BY)
    records = np.concatenate([_bytes_of(chunk) for chunk in chunks]).reshape(-1, width)
    columns = columns_of(schema, records)
    schema.check(columns)
    return columns, sizes // width


def _bytes_of(chunk: Any) -> np.ndarray:
    """All bytes of an Arrow array of binary values without gaps, uint8."""
    chunk = chunk.cast(pa.large_binary())
    _, offsets, data = chunk.buffers()
    ends = np.frombuffer(offsets, np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]
    return np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]


def report_columns(
    schema: ReportSchema,
    names: Sequence[str],
    column: ColumnNames = None,
    may_hold_answers: bool = False,
    remedy: str | None = None,
) -> dict[str, str]:
    """The columns of a frame that hold reports.

    >>> from warner.reports.schema import IntegerColumns
    >>> report_columns(IntegerColumns(("seed", "bucket"), (9, 2)), ["a_seed", "day", "a_bucket"])
    {'seed': 'a_seed', 'bucket': 'a_bucket'}
    """
    parts = list(schema.file_columns())
    named = {name: name for name in parts}
    if not isinstance(column, str | Mapping | None):
        rule, remedy = "must be the name of a column, or a dict of names", "For example 'report'"
        raise ArgumentTypeError("column", rule, kind(column), remedy)
    if isinstance(column, Mapping):
        unknown = [name for name in column if name not in named]
        if unknown:
            rule = f"must be a dict whose keys are the columns of the reports: {few(parts)}"
            raise ArgumentError("column", rule, few(unknown))
        named |= column
    elif column is not None:
        named = {name: f"{column}_{name}" for name in parts}
        if len(parts) == 1 and (column in names or named[parts[0]] not in names):
            named = {parts[0]: column}
    elif any(name not in names for name in parts):
        named = _guessed(parts, names) or named
    if missing := [name for name in named.values() if name not in names]:
        several = len(named) > 1
        listed = few(list(named.values()))
        if isinstance(column, str) and not several and not f"_{column}".endswith(f"_{parts[0]}"):
            listed = f"{column} or {column}_{parts[0]}"
        rule = f"must have the {'columns' if several else 'column'} {listed}"
        many = f"{len(names)} names" if len(names) > 1 else "1 name"
        there = few(names) if not may_hold_answers else f"the {many} in its first line"
        got = f"no {few(missing)} among {there}" if names else "no columns"
        cure = (
            "Pass column= to say which column holds "
            + ("each part of the reports" if several else "the reports")
            + ". If these are answers, randomise them first: mechanism.randomize"
        )
        raise ReportError("data", rule, got, remedy or cure)
    _refuse_more(named, names)
    return named


def _refuse_more(named: Mapping[str, str], names: Sequence[str]) -> None:
    """Refuse a frame with bits or digits beyond the last: its reports are of more values."""
    last: dict[str, int] = {}
    for end, name in named.items():
        of, numbered = _NUMBERED.fullmatch(end), _NUMBERED.fullmatch(name)
        if of and numbered and of[2] == numbered[2]:
            last[numbered[1]] = max(int(of[2]), last.get(numbered[1], 0))
    for name in names:
        numbered = _NUMBERED.fullmatch(name)
        if numbered and int(numbered[2]) > last.get(numbered[1], int(numbered[2])):
            start, largest = numbered[1], last[numbered[1]]
            few = f"{start}0" + f" to {start}{largest}" * (largest > 0)
            rule = f"has {name}, but reports of this mechanism have only {few}"
            raise ReportError("data", rule, None, MADE_BY)


def _guessed(parts: Sequence[str], names: Sequence[str]) -> dict[str, str] | None:
    """The columns that are named as in a report file, or the only one; None if there are none."""
    ending = f"_{parts[0]}"
    starts = [name.removesuffix(ending) for name in names if name.endswith(ending)]
    fits = [start for start in starts if all(f"{start}_{name}" in names for name in parts)]
    if len(fits) > 1:
        rule = "must be given, because the frame has reports of several questions (attributes)"
        raise ArgumentError("column", rule, None, f"Pass one of {few(fits)}")
    if fits:
        return {name: f"{fits[0]}_{name}" for name in parts}
    return {parts[0]: names[0]} if len(parts) == len(names) == 1 else None


def records_column(
    schema: ReportSchema, column: ColumnNames, names: Sequence[str], binary: Sequence[str]
) -> str | None:
    """The column of bytes that holds whole reports; None where the reports are in other columns.

    >>> from warner.reports.schema import BitVector
    >>> records_column(BitVector(9), "age", ["age_records", "day"], ["age_records"])
    'age_records'
    >>> records_column(BitVector(9), None, ["age_bits_0", "age_bits_1", "photo"], ["photo"])
    """
    if isinstance(column, Mapping):
        if any(name in names for name in column.values()):
            return None
        # The usual names, age_bits_0 and so on: their beginning names the attribute.
        starts = {name.removesuffix(f"_{end}") for end, name in column.items()}
        likely = [f"{start}_{RECORDS}" for start in starts]
    elif column is not None:
        likely = [column, f"{column}_{RECORDS}"]
    elif any(name in names for name in schema.file_columns()) or _guessed(
        list(schema.file_columns()), names if len(names) > 1 else []
    ):
        return None
    else:
        likely = [RECORDS, *(binary if len(binary) == 1 else ())]
    return next((name for name in likely if name in binary), None)


# -----------------------------------------------------------------------------------------------
# The rows of a frame: in batches, or counted by its own library.


def batches(lazy: Any, names: Sequence[str], rows: int = ROWS) -> Iterator[Any] | None:
    """Some columns of a frame in batches, in its order; None where its library gives none."""
    some = lazy.select(list(names))
    native, library = some.to_native(), some.implementation
    if library.is_duckdb():
        return frames_of(_of_duckdb(native, rows))
    if library.is_polars():
        return frames_of(native.collect_batches(chunk_size=rows, maintain_order=True))
    if library.is_ibis():
        return frames_of(_of_ibis(native, rows))
    if library.is_pandas_like() or library.is_pyarrow():
        whole = some.collect()
        return (whole[start : start + rows] for start in range(0, len(whole), rows))
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


def frames_of(parts: Iterable[Any]) -> Iterator[Any]:
    """Batches of Arrow or Polars as eager Narwhals frames."""
    import narwhals.stable.v2 as nw

    for batch in parts:
        is_arrow = isinstance(batch, pa.RecordBatch)
        table = pa.Table.from_batches([batch]) if is_arrow else batch
        if len(table):
            yield nw.from_native(table, eager_only=True)


def by_days(rows: Any, by: By) -> Any:
    """The same rows, with midnight for each time in a public column of dates."""
    import narwhals.stable.v2 as nw

    # Nearly all times are different, and would be as many groups as there are people.
    library = rows.implementation
    in_memory = library.is_polars() or library.is_pandas_like() or library.is_pyarrow()
    kinds = rows.collect_schema() if by else {}
    days = []
    for name, domain in by.items():
        is_time = kinds.get(name) == nw.Datetime
        if not is_time or not (domain is None or isinstance(domain, Dates)):
            continue
        column = nw.col(name)
        if kinds[name].time_zone is not None:
            # Databases take the date in the time zone of their session or of their own.
            if not in_memory:
                continue
            column = column.dt.replace_time_zone(None)
        days.append(column.dt.truncate("1d"))
    return rows.with_columns(*days) if days else rows


class GroupedFrame:
    """The columns of a lazy Narwhals frame, counted by its library; see Histograms."""

    # Columns of 8 or 16 bits have few values, and are grouped as they are. Any other is first made
    # a column of codes, so that at most ``size + 3`` rows leave the library.

    def __init__(self, lazy: Any, by: By | None = None) -> None:
        self._by = dict(by or {})
        self._lazy = lazy = by_days(lazy, self._by)
        self._kinds = lazy.collect_schema()
        self._groups: Groups | None = None
        self._group_of: dict[tuple[Any, ...], int] = {}
        self._last: list[tuple[Any, ...]] = []

    @property
    def _keys(self) -> dict[str, Any]:
        """The public columns by short names of our own, because they may have any."""
        import narwhals.stable.v2 as nw

        return {f"by_{i}": nw.col(name).alias(f"by_{i}") for i, name in enumerate(self._by)}

    def groups(self) -> Groups | None:
        """The groups of rows, numbered as the first axis of counts; None without public columns."""
        import narwhals.stable.v2 as nw

        if self._by and self._groups is None:
            names = list(self._keys)
            keys = self._lazy.select(*self._keys.values())
            # A GROUP BY, because Ibis has no distinct rows on every engine.
            table = keys.group_by(names).agg(nw.len().alias("seen")).collect()
            rows = self._rows_of_keys(table)
            if not rows:
                raise EmptyError("data", "holds no reports")
            values = map(list, zip(*rows, strict=True))
            named = dict(zip(self._by, values, strict=True))
            self._groups = checked_groups(named, self._by, len(rows))
            # Several raw values, such as the days of a week, may be of one group.
            self._group_of = dict(zip(rows, self._groups.place.tolist(), strict=True))
        return self._groups

    def _rows_of_keys(self, rows: Any) -> list[tuple[Any, ...]]:
        """The values of the public columns in each row."""
        columns = (entries(rows[key], n) for key, n in zip(self._keys, self._by, strict=True))
        return list(zip(*columns, strict=True))

    def groups_of_rows(self) -> Groups | None:
        """The group of each row that :meth:`rows` gave last; None without public columns."""
        groups = self.groups()
        if groups is None:
            return None
        group_of = map(self._group_of.__getitem__, self._last)
        return replace(groups, place=np.fromiter(group_of, np.int64, len(self._last)))

    def rows(
        self, columns: Mapping[str, int], most: int | None = None
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """The different rows of some columns, checked, (m,) each, and how often each occurs."""
        import narwhals.stable.v2 as nw

        keys = self._keys
        kinds = self._kinds
        is_narrow = prod(_NARROW.get(str(kinds[name]), _FEW + 1) for name in columns) <= _FEW
        codes = {
            f"of_{i}": nw.col(n) if is_narrow else WholeNumbers(size).expression(n, kinds[n])
            for i, (n, size) in enumerate(columns.items())
        }
        names = [*keys, *codes]
        rows = self._lazy.select(*keys.values(), **codes)
        different = rows.group_by(names).agg(nw.len().alias("seen"))
        rows = (different if most is None else different.head(most + 1)).collect()
        if most is not None and len(rows) > most:
            rule = (
                f"has more than {most:,} different reports, and the library of the data "
                "frame cannot read the frame in parts"
            )
            raise ReportError("frame", rule, None, _ELSEWHERE)
        repeats = _integers(rows["seen"])
        arrays = {}
        for i, (name, size) in enumerate(columns.items()):
            series = rows[f"of_{i}"]
            numbers = WholeNumbers(size)
            code = numbers.codes(series.to_list()) if is_narrow else _integers(series)
            numbers.refuse(code, name, self._kinds[name])
            arrays[name] = code.astype(smallest_dtype(size))
        if not repeats.sum():
            raise EmptyError("data", "holds no reports")
        self._last = self._rows_of_keys(rows)
        return arrays, repeats

    def counts(self, columns: Mapping[str, int]) -> np.ndarray:
        arrays, repeats = self.rows(columns)
        groups = self.groups_of_rows()
        many = 1 if groups is None else len(groups.keys)
        require_room(many, prod(columns.values()))
        table = np.zeros((many, *columns.values()), dtype=np.int64)
        first = np.zeros(len(repeats), dtype=np.int64) if groups is None else groups.place
        where = (first, *(arrays[name].astype(np.intp) for name in columns))
        np.add.at(table, where, repeats)
        return table

    def any_breaks(self, rule: BitRule, names: Sequence[str]) -> bool:
        import narwhals.stable.v2 as nw

        if self._lazy.implementation.is_duckdb():  # whose expressions of many terms are slow
            broken_rows = self._lazy.to_native().filter(rule.broken_in_duckdb(names))
            return bool(broken_rows.aggregate("count(*)").fetchall()[0][0])
        ones = self._lazy.select(rule.ones_in_frames(names).alias("ones"))
        broken = (nw.col("ones") < rule.least) | (nw.col("ones") > rule.most)
        return bool(ones.filter(broken).select(nw.len()).collect().item())


_NARROW = {"UInt8": 2**8, "Int8": 2**8, "UInt16": 2**16, "Int16": 2**16}
_FEW = 2**16  # values of a column, which are grouped faster as they are
_SHORT = 2**12  # rows


def _integers(series: Any) -> np.ndarray:
    """A series of integers without gaps, int64 (m,)."""
    import narwhals.stable.v2 as nw

    # PyArrow imports pandas to make an array, which takes longer than a file.
    if len(series) <= _SHORT:
        return np.array([int(entry) for entry in series.to_list()], dtype=np.int64)
    array: np.ndarray = series.cast(nw.Int64).to_numpy()
    return array


def entries(series: Any, name: str) -> list[Any]:
    """The values of a public column of a frame."""
    with suppress(OverflowError, ValueError):  # a time without a date in Python, such as infinity
        return list(series.to_list())
    rule, got = "must be of the years 1 to 9999 in every row", "a time beyond these years"
    remedy = "Look for times that were written in another unit, such as seconds or milliseconds"
    raise ReportError(f"data: public column {name!r}", rule, got, remedy)


def checked_groups(
    values: Mapping[str, list[Any]], domains: Mapping[str, Domain | None], n: int
) -> Groups:
    """The groups of people by columns of public values of a frame."""
    given = {name: _public(column, domains[name]) for name, column in values.items()}
    for name, column in values.items():
        if not _is_declared(name, column, domains[name]):
            # Only what is wrong is named: most values of the column are right.
            wrong = [v for v in dict.fromkeys(column) if not _is_declared(name, [v], domains[name])]
            strange = {kind(value) for value in wrong or column if value is not None}
            got = [f"{each} that is not declared" for each in sorted(strange)]
            got += ["no value"] * (None in (wrong or column))
            rule = "must have a declared value in every row"
            remedy = "Correct these rows, or declare their values in the study"
            if (domain := domains[name]) is None or isinstance(domain, Dates):
                form = "a text, an integer, a boolean or a date" if domain is None else domain.form
                rule, remedy = f"must be {form} in every row", "Correct these rows"
                got = [each.removesuffix(" that is not declared") for each in got]
            first = next((value for value in wrong if value is not None), None)
            remedy = remedy_of(name, domain, first) or remedy
            if domain is not None and domain.is_numeric and strange == {"a string"}:
                rule, got = "must be a column of whole numbers", ["a string"]
                remedy = "Cast the column to integers"
            if strange and strange <= {*OF_PANDAS}:
                rule, got = "must be a text, an integer, a boolean or a date", [*strange]
                remedy = AS_TEXTS
            if not strange:
                remedy = "Give these rows a value, or leave them out"
            raise ReportError(f"data: public column {name!r}", rule, " and ".join(got), remedy)
    return group_people(given, n)


def _public(values: list[Any], domain: Domain | None) -> Any:
    """A column of public values, as :func:`group_people` takes it."""
    return values if domain is None else PublicColumn(domain, values)


def _is_declared(name: str, values: list[Any], domain: Domain | None) -> bool:
    """Whether people can be grouped by these values."""
    try:
        group_people({name: _public(values, domain)}, len(values))
    except (ArgumentError, ArgumentTypeError):
        return False
    return True


# -----------------------------------------------------------------------------------------------
# Frames and streams as sources.


class FrameSource:
    """The reports in a frame, or in batches of Arrow that are read once; see ReportSource."""

    # ``files`` are the Parquet files of the frame, where they hold its columns as they are.
    # ``names_rows``: whether messages name the row of a number that is no report.

    n = None

    def __init__(
        self,
        rows: Any,
        columns: Mapping[str, ReportColumns],
        files: Sequence[str] = (),
        names_rows: bool = False,
    ) -> None:
        self._rows, self._columns = rows, dict(columns)
        self._files, self._names_rows = files, names_rows
        self._is_frame = not isinstance(rows, Iterator)

    def histograms(self, by: By) -> Histograms | None:
        are_numbers = all(c.form == "numbers" for c in self._columns.values())
        if not (self._is_frame and are_numbers):
            return None
        grouped = GroupedFrame(self._rows, by)
        return StreamedColumns(self._files, grouped) if self._files else grouped

    def names(self, attribute: str) -> Sequence[str]:
        return self._columns[attribute].names

    def batches(self, by: By) -> Iterator[Batch]:
        rows_before = 0
        for rows in self._parts(by):
            if isinstance(rows, Batch):
                yield rows
                continue
            if len(rows):
                yield self._batch(rows, by, rows_before)
            rows_before += len(rows)

    def _parts(self, by: By) -> Iterable[Any]:
        """Batches of rows; or one batch of the different rows, where a library gives no others."""
        if not self._is_frame:
            return (by_days(rows, by) for rows in frames_of(self._rows))
        rows = by_days(self._rows, by)
        names = [name for columns in self._columns.values() for name in columns.names]
        forms = {columns.form for columns in self._columns.values()}
        every = list(dict.fromkeys([*by, *names]))
        for path in self._files:
            refuse_damaged(path, names)
        parts = batches(rows, every, _BLOCKS if "records" in forms else ROWS)
        if parts is not None:
            return parts
        if "records" in forms:
            rule = "holds bytes, and the library of the data frame cannot read bytes in parts"
            raise ReportError(", ".join(names), rule, None, _ELSEWHERE)
        if forms == {"numbers"} and len(self._columns) == 1:
            return [self._different_rows(by)]
        return [rows.select(every).collect()]

    def _different_rows(self, by: By) -> Batch:
        """The different rows of one attribute, and how often each occurs."""
        ((attribute, columns),) = self._columns.items()
        grouped = GroupedFrame(self._rows, by)
        arrays, repeats = grouped.rows(columns.sizes, _MOST_ROWS)
        return Batch({attribute: columns.reports(arrays)}, grouped.groups_of_rows(), repeats)

    def _batch(self, rows: Any, by: By, rows_before: int) -> Batch:
        """The checked reports in a batch of rows, each of which may hold several."""
        columns: dict[str, dict[str, np.ndarray]] = {}
        first: np.ndarray | None = None
        for name, where in self._columns.items():
            columns[name], many = where.read(rows, rows_before if self._names_rows else None)
            if first is not None and not np.array_equal(first, many):
                same = "the same number of reports on every question (attribute)"
                raise ReportError("reports", f"must have {same} in each row")
            first = many
        if not by or first is None:
            return Batch(columns)
        groups = checked_groups({name: entries(rows[name], name) for name in by}, by, len(rows))
        if (first != 1).any():
            groups = replace(groups, place=np.repeat(groups.place, first))
        return Batch(columns, groups)

    def reports(self) -> dict[str, dict[str, np.ndarray]]:
        """All reports in the order of the rows: {attribute: columns}."""
        try:
            parts: Iterable[Any]
            if self._is_frame and all(c.form != "records" for c in self._columns.values()):
                # The rows themselves, never the different ones alone.
                names = [name for columns in self._columns.values() for name in columns.names]
                parts = [self._rows.select(list(dict.fromkeys(names))).collect()]
            else:
                parts = self._parts({})
            pieces = [self._batch(rows, {}, 0).columns for rows in parts if len(rows)]
        except ReportError as error:
            problem = self.locate(error)
        else:
            if not pieces:
                raise EmptyError("data", "holds no reports")
            return {
                attribute: {
                    name: np.concatenate([piece[attribute][name] for piece in pieces])
                    for name in where.schema.empty(0)
                }
                for attribute, where in self._columns.items()
            }
        raise problem

    def locate(self, error: ReportError) -> Exception:
        return ReportError(f"data: {str(error).removeprefix('data: ')}")


class FrameOfReports:
    """A frame or stream where a mechanism expects reports: see ``warner._core.foreign_tables``."""

    def __init__(
        self, rows: Any, kinds: Mapping[str, Any], data: Any, is_in_memory: bool = False
    ) -> None:
        self._rows, self._kinds, self._is_in_memory = rows, kinds, is_in_memory
        self.names = list(kinds)
        self._header, self._index = header_of(data), index_of(data)
        self._columns = data if is_in_memory else kinds

    def reports(self, mechanisms: Mechanisms, columns: Columns) -> dict[str, Reports]:
        """The reports of each attribute in the frame, in its order."""
        where = self._found(mechanisms, columns, True)
        if said := self._about_dropped(mechanisms, where, []):
            warn(said, FrameWarning)
        simulated = self._stated(mechanisms, where).simulated
        file = self._of_file()
        return {
            name: Reports(mechanisms[name].header, of_attribute, simulated, self._index, file)
            for name, of_attribute in FrameSource(self._rows, where).reports().items()
        }

    def _of_file(self) -> ColumnsOfFile | None:
        """The public columns of a report file that was read as a frame, as far as it has them."""
        stated = (self._header or {}).get("public") if self._is_in_memory else None
        domains = {n: d for n, d in domains_stated("data", stated).items() if n in self.names}
        index = {}
        for name, domain in domains.items():
            with suppress(WarnerError):  # values that were changed since then
                index[name] = domain.encode(self._columns[name])
        domains = {name: domains[name] for name in index}
        remedy = "Use columns of the same data frame"
        return ColumnsOfFile("the data frame", remedy, domains, index) if index else None

    def tally(
        self, mechanisms: Mechanisms, columns: Columns, by: Any, **options: Any
    ) -> dict[str, Tally]:
        """The tallies of attributes, counted by the frame's own GROUP BY where that is possible."""
        # Groups of people are by columns of the frame, or by values beside it.
        public = {} if by is None else public_columns(by, self.names)
        if public is not None:
            public = {
                name: domain_of_categories(self._columns[name]) if domain is None else domain
                for name, domain in public.items()
            }
        where = self._found(mechanisms, columns, not public)
        of_reports = {name for columns in where.values() for name in columns.names}
        if held := [name for name in public or () if name in of_reports]:
            others = [name for name in self._kinds if name not in of_reports]
            remedy = f"The other columns are {', '.join(others)}" if others else "Leave out by"
            rule = "must name public columns of the frame, not a column that holds reports"
            raise ArgumentError("by", rule, repr(held[0]), remedy)
        stated = self._stated(mechanisms, where)
        stated.warn(mechanisms, list(public or {}))
        if public is None and (self._header or {}).get(RANDOM_ORDER):
            rule = (
                "cannot be matched with the rows of this data frame, because "
                "to_frame(keep_order=False) put them in random order"
            )
            remedy = "Count the reports themselves, or make the frame with keep_order=True"
            raise ArgumentError("by", rule, None, remedy)
        if public is None:
            reports = self.reports(mechanisms, columns)
            tallies = {n: m.tally(reports[n], by, **options) for n, m in mechanisms.items()}
        elif isinstance(self._rows, Iterator):  # it can be read once, for all attributes
            tallies = count(mechanisms, FrameSource(self._rows, where), public, **options)
        else:
            tallies = {
                n: count({n: m}, FrameSource(self._rows, {n: where[n]}), public, **options)[n]
                for n, m in mechanisms.items()
            }
        if public is not None:
            from warner.mechanisms.copies import warn_of_copies

            # Other rows have no order. One attribute is enough to say it of all.
            in_order = FrameSource(self._rows, where).reports() if self._is_in_memory else {}
            repeated = (about_repeated(self._index, of_one) for of_one in in_order.values())
            said = next(filter(None, repeated), "")
            said = said or self._about_dropped(mechanisms, where, list(public))
            warn_of_copies(said, mechanisms, tallies)
        return {name: stated.of(tally) for name, tally in tallies.items()}

    def _about_dropped(
        self, mechanisms: Mechanisms, where: Mapping[str, ReportColumns], by: Sequence[str]
    ) -> str:
        """What is said where no two rows are equal, but people in one group send equal reports."""
        import narwhals.stable.v2 as nw

        from warner.mechanisms.copies import about_dropped

        is_of_numbers = all(columns.form in ("numbers", "matrix") for columns in where.values())
        if not self._is_in_memory or not is_of_numbers:
            return ""
        # Reports of so many kinds that all may differ are not searched.
        if not about_dropped(mechanisms.values(), np.array([_SEARCHED[-1]])):
            return ""
        reports = [name for columns in where.values() for name in columns.names]
        without_keys = (nw.List, nw.Array, nw.Struct, nw.Object, nw.Unknown)
        further = [
            n for n, of in self._kinds.items() if n not in reports and of not in without_keys
        ]
        for groups in dict.fromkeys((tuple(by), tuple(further))):
            for most in _SEARCHED:
                rows = self._rows.select([*groups, *reports]).head(most).collect()
                if rows.is_duplicated().any():
                    break
                sizes = np.array([len(rows)])
                if groups:
                    sizes = rows.group_by(groups).agg(nw.len().alias("people"))["people"].to_numpy()
                if said := about_dropped(mechanisms.values(), sizes, groups):
                    return said
        return ""

    def _stated(self, mechanisms: Mechanisms, where: Mapping[str, ReportColumns]) -> StatedHeader:
        """What the frame says about the reports, compared with the mechanisms."""
        columns = {name: of_name.names for name, of_name in where.items()}
        return StatedHeader.compared(self._header, mechanisms, columns, self.names, "data")

    def _found(
        self, mechanisms: Mechanisms, columns: Columns, is_alone: bool
    ) -> dict[str, ReportColumns]:
        """Where the reports of each attribute are."""
        return {
            name: ReportColumns.find(m.schema, self._kinds, columns.get(name), is_alone)
            for name, m in mechanisms.items()
        }


def frame_of_reports(data: Any) -> FrameOfReports | None:
    """The frame or stream of Arrow batches that an object is; None for any other object."""
    try:
        import narwhals.stable.v2 as nw
    except ImportError:
        return None
    try:
        frame = frame_of(data, "data")
        lazy = frame.lazy()
        return FrameOfReports(lazy, lazy.collect_schema(), data, isinstance(frame, nw.DataFrame))
    except TypeError:
        return _stream_of_reports(data)


def _stream_of_reports(data: Any) -> FrameOfReports | None:
    """The stream of Arrow that an object is; None for another object."""
    import narwhals.stable.v2 as nw

    try:
        # A data set reads its files anew for each scanner.
        stream = data.scanner().to_reader() if hasattr(data, "scanner") else data
        reader = pa.RecordBatchReader.from_stream(stream)
    except (ImportError, TypeError, ValueError):  # ValueError: a stream of values, not of rows
        return None
    kinds = nw.from_native(reader.schema.empty_table()).schema
    return FrameOfReports(iter(reader), kinds, reader)
