"""What a column of reports may hold: each rule is stated once, for NumPy, SQL and data frames.

:class:`WholeNumbers` is the rule of a column of whole numbers, :class:`BitRule` one of packed bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from warner._core.errors import ReportError
from warner._core.text import MADE_BY

GAP, BEYOND = -1, -2  # a row without a report, and one whose value is no report
_FRACTION = -3  # a row whose value is in the range, and no whole number
_LARGEST = {"UInt8": 2**8 - 1, "UInt16": 2**16 - 1, "UInt32": 2**32 - 1}


def smallest_dtype(size: int) -> np.dtype[Any]:
    """The smallest unsigned dtype that holds 0..size-1."""
    return np.min_scalar_type(size - 1)


@dataclass(frozen=True)
class WholeNumbers:
    """The rule of a column of reports: whole numbers 0..size-1, without gaps.

    >>> WholeNumbers(3).outside(np.array([0, 3, -1])).tolist()
    [False, True, True]
    """

    # Databases and data frames give a column as codes: 0..size-1, and one number each for a gap,
    # for whatever else is no report, and for a fraction. So a wrong column has at most size + 3
    # codes.

    size: int

    @property
    def text(self) -> str:
        """The rule in words, for messages."""
        return f"must be from 0 to {self.size - 1}"

    # For NumPy.

    def holds(self, values: np.ndarray) -> bool:
        """Whether all of some integers are in the range."""
        is_unsigned = values.dtype.kind == "u"
        if not values.size or (is_unsigned and self.size >= 2 ** (8 * values.itemsize)):
            return True
        return (is_unsigned or int(values.min()) >= 0) and int(values.max()) < self.size

    def outside(self, values: np.ndarray) -> np.ndarray:
        """Which of some numbers are not in the range."""
        return np.asarray((values < 0) | (values >= self.size))

    # For SQL.

    def sql(self, column: str, integer: str, guard: str = "") -> str:
        """A column as codes in SQL.

        ``integer`` is the database's type of 64 bits. ``guard`` asks first whether {x} is a number,
        where the database takes any text for one.
        """
        number = f"CAST({column} AS {integer})"
        # Only where it is inside: the cast of another number could fail.
        whole = f"CASE WHEN {number} = {column} THEN {number} ELSE {BEYOND} END"
        # Some databases compare texts with numbers as texts, where '10' is below 2. Their sum is a
        # number, or is refused.
        inside = f"{guard.format(x=column)}{column} + 0 >= 0 AND {column} + 0 < {self.size}"
        return f"CASE WHEN {column} IS NULL THEN {GAP} WHEN {inside} THEN {whole} ELSE {BEYOND} END"

    # For data frames.

    def expression(self, name: str, dtype: Any) -> Any:
        """A column as codes in Narwhals."""
        import narwhals.stable.v2 as nw

        require_numbers(name, dtype)
        # Unsigned columns are coded too, and decimals and floats that are whole numbers: Spark
        # reads uint64 as a decimal, some engines have no unsigned types, and pandas makes floats
        # beside gaps.
        column = nw.col(name)
        number, inside = column, (column >= 0) & (column < self.size)
        outside = nw.lit(BEYOND)
        if dtype.is_unsigned_integer():
            inside = (
                column < nw.lit(self.size, dtype)
                if self.size <= _LARGEST.get(str(dtype), self.size)
                else ~column.is_null()
            )
        elif not dtype.is_integer():
            # A float holds every whole number up to 2^53, and no column of reports has more values.
            number = column.cast(nw.Float64)
            inside = (number >= 0) & (number < self.size)
            # Ibis rounds to an integer, which fails for large numbers. So these are replaced.
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

    def codes(self, values: list[Any]) -> np.ndarray:
        """Integers and gaps as codes, int64 (m,)."""
        numbers = np.array([GAP if v is None else int(v) for v in values], dtype=np.int64)
        is_gap = np.array([v is None for v in values], dtype=bool)
        return np.where(self.outside(numbers) & ~is_gap, BEYOND, numbers)

    def refuse(self, code: np.ndarray, name: str, dtype: Any) -> None:
        """Refuse a column whose codes (m,) say that it has gaps, or values that are no reports."""
        if (code == GAP).any():
            raise _gap(name)
        if (code == _FRACTION).any():
            raise _no_whole_number(name, dtype)
        if (code == BEYOND).any():
            raise self.beyond(name)

    def array(self, series: Any, name: str, row: int | None = None) -> np.ndarray:
        """A Narwhals series as an array (n,) of the smallest type, if it keeps the rule."""
        import narwhals.stable.v2 as nw

        # Messages name a row where ``row``, the number of rows before these, is given.
        dtype = series.dtype
        require_numbers(name, dtype)
        if series.null_count():
            raise _gap(name)
        if dtype in (nw.Int128, nw.UInt128):  # unknown to NumPy
            if not 0 <= int(series.min()) <= int(series.max()) < self.size:
                raise self.beyond(name)
            series = series.cast(nw.Int64)
        # A float holds every whole number up to 2^53, and no column of reports has more values.
        numbers = (series if dtype.is_integer() else series.cast(nw.Float64)).to_numpy()
        if dtype.is_integer():
            are_right = self.holds(numbers)
        else:
            inside = (numbers >= 0) & (numbers < self.size)
            if (inside & (numbers != np.floor(numbers))).any():
                raise _no_whole_number(name, dtype)
            are_right = bool(inside.all())
        if not are_right:
            inside = (numbers >= 0) & (numbers < self.size)
            first = None if row is None else row + int(np.argmin(inside))
            raise self.beyond(name, first)
        array: np.ndarray = numbers.astype(smallest_dtype(self.size))
        return array

    def beyond(self, name: str, row: int | None = None) -> ReportError:
        """The error of a column with values that are no reports."""
        got = None if row is None else f"another number in row {row} of the partition"
        return ReportError(name, self.text, got, MADE_BY)


def require_numbers(name: str, dtype: Any) -> None:
    """Refuse a column whose Narwhals type holds no whole numbers."""
    if not dtype.is_numeric():
        remedy = (
            "If these are answers, randomise them first. If these are reports, convert them to "
            "integers"
        )
        raise ReportError(name, "must be a column of integers", str(dtype), remedy)


def _no_whole_number(name: str, dtype: Any) -> ReportError:
    rule, remedy = "has numbers that are not whole", "Name the column that has the reports"
    return ReportError(name, rule, str(dtype), remedy)


def _gap(name: str) -> ReportError:
    rule, remedy = "must have a report in each row", "Leave out the rows without a report"
    return ReportError(name, rule, "missing values", remedy)


@dataclass(frozen=True)
class BitRule:
    """A rule of packed bits: between ``least`` and ``most`` of the bits under a mask are 1.

    A bit under ``heavy`` counts ``times`` times.

    >>> rule = BitRule(bytes([0b1000, 0b11]), 0, 1, "at most one bit may be set")
    >>> rule.broken_by(np.array([[8, 0], [8, 2], [7, 3]], dtype=np.uint8)).tolist()
    [False, True, True]
    """

    mask: bytes  # one byte per byte of a report
    least: int
    most: int
    text: str  # the rule in words, for messages
    remedy: str = MADE_BY  # what may have made reports that break it
    heavy: bytes = b""
    times: int = 1

    @cached_property
    def terms(self) -> list[tuple[int, int, int]]:
        """The bytes of the masks that are not 0: index of the byte, mask, and what a bit counts."""
        masks = ((self.mask, 1), (self.heavy, self.times))
        return [(i, byte, times) for mask, times in masks for i, byte in enumerate(mask) if byte]

    @cached_property
    def positions(self) -> set[int]:
        """The indices of the bytes that the rule looks at."""
        return {i for i, _, _ in self.terms}

    def broken_by(self, packed: np.ndarray) -> np.ndarray:
        """Which reports (n,) break the rule."""
        ones = np.zeros(len(packed), dtype=np.int64)
        for whole, times in ((self.mask, 1), (self.heavy, self.times)):
            mask = whole.strip(b"\0")
            first = len(whole) - len(whole.lstrip(b"\0"))
            some = packed[:, first : first + len(mask)]
            if any(byte != 255 for byte in mask):
                some = some & np.frombuffer(mask, np.uint8)
            ones += times * np.bitwise_count(some).sum(axis=1, dtype=np.int64)
        return np.asarray((ones < self.least) | (ones > self.most))

    @cached_property
    def broken_bytes(self) -> np.ndarray:
        """bool (256,): which values of a byte break the rule, if the mask covers only one byte."""
        (only,) = self.positions
        values = np.zeros((256, only + 1), dtype=np.uint8)
        values[:, only] = np.arange(256)
        return self.broken_by(values)

    def broken_in_duckdb(self, names: Sequence[str]) -> str:
        """The condition that a row breaks the rule, in DuckDB; ``names`` are the columns."""
        # A bit_count is a byte: a sum of bytes would overflow.
        columns = [f'"{name.replace(chr(34), 2 * chr(34))}"' for name in names]
        terms = (
            f"{times} * bit_count({columns[i]}::UTINYINT & {mask})::INTEGER"
            for i, mask, times in self.terms
        )
        return f"{' + '.join(terms)} NOT BETWEEN {self.least} AND {self.most}"

    def ones_in_frames(self, names: Sequence[str]) -> Any:
        """What the ones of a row count, in Narwhals; ``names`` are the columns."""
        terms = [term * times for i, mask, times in self.terms for term in _ones(names[i], mask)]
        while len(terms) > 1:  # in pairs: engines limit how deep a sum may be nested
            terms = [sum(terms[i + 1 : i + 2], terms[i]) for i in range(0, len(terms), 2)]
        return terms[0]


def _ones(name: str, mask: int) -> list[Any]:
    """Expressions whose sum is the number of ones of a byte under a mask."""
    import narwhals.stable.v2 as nw

    # A number n has n - n // 2 - n // 4 - .. ones, and a division is what every engine has.
    byte = nw.col(name).cast(nw.Int64)
    if mask == 255:
        return [byte, *(nw.lit(0) - byte // 2**i for i in range(1, 8))]
    bits = [bit for bit in range(8) if mask >> bit & 1]
    return [byte // 2**bit - byte // 2 ** (bit + 1) * 2 for bit in bits]
