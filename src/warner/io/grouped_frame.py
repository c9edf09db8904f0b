"""The columns of a data frame, counted by the library of the frame.

Columns of 8 or 16 bits have few values, and are grouped as they are. Any other is first made a
column of signed integers: 0..size-1 for reports, and one number each for a gap, for a fraction and
for whatever else is no report. So at most ``size + 3`` rows leave the library, even where a column
is a wrong one with a billion different values. Unsigned columns are counted too, and decimals and
floats that are whole numbers: Spark reads uint64 as a decimal, some engines have no unsigned types,
and pandas makes floats of integers beside gaps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from warner._core.checks import kind
from warner._core.errors import ArgumentError, ArgumentTypeError, EmptyError, ReportError
from warner.domains import Domain
from warner.reports.counting import require_room
from warner.reports.public_columns import Groups, PublicColumn, group_people
from warner.reports.schema import BitRule, smallest_dtype

GAP, BEYOND = -1, -2  # a row without a report, and one whose value is no report
_FRACTION = -3  # a row whose value is in the range, and no whole number
MOST_ROWS = 2**22  # different whole reports that may leave a library that gives no batches


class GroupedFrame:
    """The columns of a lazy Narwhals frame, counted by its library; see GroupedColumns.

    Args:
        lazy: the frame.
        by: {name: domain} of public columns; none for one group of all rows.
    """

    def __init__(self, lazy: Any, by: Mapping[str, Domain | None] | None = None) -> None:
        self._lazy = lazy
        self._by = dict(by or {})
        self._kinds = lazy.collect_schema()
        self._found: Groups | None = None
        self._place: dict[tuple[Any, ...], int] = {}
        self._last: list[tuple[Any, ...]] = []

    @property
    def _keys(self) -> dict[str, Any]:
        """The public columns by short names of our own, because they may have any."""
        import narwhals.stable.v2 as nw

        return {f"by_{i}": nw.col(name).alias(f"by_{i}") for i, name in enumerate(self._by)}

    def groups(self) -> Groups | None:
        """The groups of rows, numbered as the first axis of counts; None without public columns."""
        import narwhals.stable.v2 as nw

        if self._by and self._found is None:
            names = list(self._keys)
            keys = self._lazy.select(*self._keys.values())
            # A GROUP BY, because Ibis has no distinct rows on every engine.
            table = keys.group_by(names).agg(nw.len().alias("seen")).collect()
            rows = list(zip(*(table[name].to_list() for name in names), strict=True))
            if not rows:
                raise EmptyError("data", "holds no reports")
            values = map(list, zip(*rows, strict=True))
            named = dict(zip(self._by, values, strict=True))
            self._found = checked_groups(named, self._by, len(rows))
            # Several raw values, such as the days of a week, may be of one group.
            self._place = dict(zip(rows, self._found.place.tolist(), strict=True))
        return self._found

    def groups_of_rows(self) -> Groups | None:
        """The group of each row that :meth:`rows` gave last; None without public columns."""
        groups = self.groups()
        if groups is None:
            return None
        place = np.fromiter(map(self._place.__getitem__, self._last), np.int64, len(self._last))
        return replace(groups, place=place)

    def rows(
        self, columns: Mapping[str, int], most: int | None = None
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """The different rows of some columns, checked, (m,) each, and how often each occurs."""
        import narwhals.stable.v2 as nw

        keys = self._keys
        narrow = prod(_values(self._kinds[name]) for name in columns) <= _FEW
        codes = [
            (nw.col(name) if narrow else _code(self._kinds[name], name, size)).alias(f"of_{i}")
            for i, (name, size) in enumerate(columns.items())
        ]
        names = list(keys) + [f"of_{i}" for i in range(len(codes))]
        rows = self._lazy.select(*keys.values(), *codes)
        found = rows.group_by(names).agg(nw.len().alias("seen"))
        rows = (found if most is None else found.head(most + 1)).collect()
        if most is not None and len(rows) > most:
            rule = f"has more than {most:,} different reports, and its library gives no batches"
            raise ReportError("columns", rule, None, ELSEWHERE)
        repeats = _integers(rows["seen"])
        arrays = {}
        for i, (name, size) in enumerate(columns.items()):
            own = rows[f"of_{i}"]
            code = _codes_of(own, size) if narrow else _integers(own)
            _refuse_codes(code, name, size, self._kinds[name])
            arrays[name] = code.astype(smallest_dtype(size))
        if not repeats.sum():
            raise EmptyError("data", "holds no reports")
        place = [rows[name].to_list() for name in keys]
        self._last = list(zip(*place, strict=True))
        return arrays, repeats

    def counts(self, columns: Mapping[str, int]) -> np.ndarray:
        arrays, repeats = self.rows(columns)
        of_rows = self.groups_of_rows()
        groups, place = 1, np.zeros(len(repeats), dtype=np.int64)
        if of_rows is not None:
            groups, place = len(of_rows.keys), of_rows.place
            require_room(groups, prod(columns.values()))
        table = np.zeros((groups, *columns.values()), dtype=np.int64)
        where = (place, *(arrays[name].astype(np.intp) for name in columns))
        np.add.at(table, where, repeats)
        return table

    def any_breaks(self, rule: BitRule, masks: Mapping[str, int]) -> bool:
        import narwhals.stable.v2 as nw

        if self._lazy.implementation.is_duckdb():
            return self._any_breaks_in_duckdb(rule, masks)
        terms = [term for name, mask in masks.items() for term in _ones(name, mask)]
        while len(terms) > 1:  # in pairs: engines limit how deep a sum may be nested
            terms = [sum(terms[i + 1 : i + 2], terms[i]) for i in range(0, len(terms), 2)]
        ones = self._lazy.select(terms[0].alias("ones"))
        broken = (nw.col("ones") < rule.least) | (nw.col("ones") > rule.most)
        return bool(ones.filter(broken).select(nw.len()).collect().item())

    def _any_breaks_in_duckdb(self, rule: BitRule, masks: Mapping[str, int]) -> bool:
        """The same by a function of DuckDB, whose Python expressions of many terms are slow."""
        # A bit_count is a byte: a sum of bytes would overflow.
        terms = (
            f"bit_count({_quoted(n)}::UTINYINT & {mask})::INTEGER" for n, mask in masks.items()
        )
        broken = f"{' + '.join(terms)} NOT BETWEEN {rule.least} AND {rule.most}"
        rows = self._lazy.to_native().filter(broken).aggregate("count(*)").fetchall()
        return bool(rows[0][0])


def _quoted(name: str) -> str:
    """A name in DuckDB's SQL."""
    return '"' + name.replace('"', '""') + '"'


def _ones(name: str, mask: int) -> list[Any]:
    """Expressions whose sum is the number of ones of a byte under a mask.

    A number n has n - n // 2 - n // 4 - .. ones, and a division is what every engine has.
    """
    import narwhals.stable.v2 as nw

    byte = nw.col(name).cast(nw.Int64)
    if mask == 255:
        return [byte, *(nw.lit(0) - byte // 2**i for i in range(1, 8))]
    bits = [bit for bit in range(8) if mask >> bit & 1]
    return [byte // 2**bit - byte // 2 ** (bit + 1) * 2 for bit in bits]


ELSEWHERE = (
    "On Spark use warner.spark.tally. Elsewhere write Parquet files and count them with "
    "'warner tally'"
)
_LARGEST = {"UInt8": 2**8 - 1, "UInt16": 2**16 - 1, "UInt32": 2**32 - 1}
_FEW = 2**16  # values of a column, which are grouped faster as they are
_SHORT = 2**12  # rows
_INTEGERS = "must be a column of integers"
_GAPS = f"{_INTEGERS} without gaps"


def require_numbers(name: str, dtype: Any) -> None:
    """Refuse a column whose type holds no whole numbers."""
    if not dtype.is_numeric():
        raise ReportError(name, _INTEGERS, str(dtype), "Cast it to integers")


def no_report(name: str, size: int) -> ReportError:
    """The error of a column with values that are no reports."""
    remedy = "Were the reports made for other values?"
    return ReportError(name, f"must lie in 0..{size - 1}", None, remedy)


def no_whole_number(name: str, dtype: Any) -> ReportError:
    """The error of a column with fractions."""
    remedy = "Is it a column of reports?"
    return ReportError(name, "holds numbers that are not whole", str(dtype), remedy)


def gap(name: str, dtype: Any) -> ReportError:
    """The error of a column with missing values."""
    got = f"{dtype} with missing values"
    return ReportError(name, _GAPS, got, "Leave out the rows without a report")


def _code(dtype: Any, name: str, size: int) -> Any:
    """A column as a Narwhals expression of the integers 0..size-1, GAP, BEYOND and _FRACTION."""
    import narwhals.stable.v2 as nw

    require_numbers(name, dtype)
    column = nw.col(name)
    number, inside, outside = column, (column >= 0) & (column < size), nw.lit(BEYOND)
    if dtype.is_unsigned_integer():
        inside = (
            column < nw.lit(size, dtype)
            if size <= _LARGEST.get(str(dtype), size)
            else ~column.is_null()
        )
    elif not dtype.is_integer():
        # A float holds every whole number up to 2^53, and no column of reports has more values.
        number = column.cast(nw.Float64)
        inside = (number >= 0) & (number < size)
        # Ibis rounds to an integer, which fails for large numbers. So these are replaced before.
        number = nw.when(inside).then(number).otherwise(nw.lit(0.0))
        whole = number == number.round(0)
        outside = nw.when(whole).then(nw.lit(BEYOND)).otherwise(nw.lit(_FRACTION))
        inside = inside & whole
    inside = inside.fill_null(False)
    # The cast of a number outside would fail in some engines. So it is replaced first.
    zero = nw.lit(0, dtype if dtype.is_unsigned_integer() else None)
    safe = nw.when(inside).then(number).otherwise(zero).cast(nw.Int64)
    beyond = nw.when(inside).then(safe).otherwise(outside)
    return nw.when(column.is_null()).then(nw.lit(GAP)).otherwise(beyond).cast(nw.Int64)


def _values(dtype: Any) -> int:
    """How many values a column of a type can have; more than _FEW for all but narrow integers."""
    return {"UInt8": 2**8, "Int8": 2**8, "UInt16": 2**16, "Int16": 2**16}.get(str(dtype), _FEW + 1)


def _codes_of(series: Any, size: int) -> np.ndarray:
    """The codes of the different values of a narrow column, which leaves the library as it is."""
    entries = series.to_list()  # at most _FEW for each group of people
    gap = np.array([entry is None for entry in entries], dtype=bool)
    value = np.array([0 if entry is None else int(entry) for entry in entries], dtype=np.int64)
    beyond = np.where((value < 0) | (value >= size), BEYOND, value)
    return np.where(gap, GAP, beyond).astype(np.int64)


def _integers(series: Any) -> np.ndarray:
    """A series of integers without gaps, int64 (m,).

    A short one as a list: PyArrow imports pandas to make an array, which takes longer than a file.
    """
    import narwhals.stable.v2 as nw

    if len(series) <= _SHORT:
        return np.array([int(entry) for entry in series.to_list()], dtype=np.int64)
    array: np.ndarray = series.cast(nw.Int64).to_numpy()
    return array


def _refuse_codes(code: np.ndarray, name: str, size: int, dtype: Any) -> None:
    """Refuse a column with gaps, or with values that are no reports."""
    if (code == GAP).any():
        raise gap(name, dtype)
    if (code == _FRACTION).any():
        raise no_whole_number(name, dtype)
    if (code == BEYOND).any():
        raise no_report(name, size)


def checked_groups(
    values: Mapping[str, list[Any]], domains: Mapping[str, Domain | None], n: int
) -> Groups:
    """The groups of people by columns of public values of a frame."""
    given = {name: _public(column, domains[name]) for name, column in values.items()}
    for name, column in values.items():
        if not _is_declared(name, column, domains[name]):
            # Only what is wrong is named: most values of the column are right.
            wrong = [v for v in dict.fromkeys(column) if not _is_declared(name, [v], domains[name])]
            raise _undeclared(name, wrong or column)
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


def _undeclared(name: str, values: list[Any]) -> ReportError:
    """The error of public values that are missing, of another type or never declared."""
    rule = "must hold declared values, without gaps: texts, integers, booleans or dates"
    kinds = {f"{kind(value)} that is not declared" for value in values if value is not None}
    got = " and ".join([*sorted(kinds), *["no value"] * (None in values)])
    remedy = "Correct these rows, or declare their values"
    if not kinds:
        remedy = "Give these rows a value, or leave them out"
    return ReportError(f"data: public column {name!r}", rule, got, remedy)
