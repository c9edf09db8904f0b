"""Schemas of reports: the columns of a report, the values they may take, and how to count them.

Files, tallies and data frames use nothing but the schema of a report. A new kind of report needs a
new subclass of :class:`ReportSchema`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from warner._core.checks import array_of, kind, show
from warner._core.errors import ArgumentTypeError, EmptyError, ReportError
from warner._core.progress import in_blocks
from warner._core.text import MADE_BY
from warner.reports.counting import (
    count_rows_of_groups,
    count_values,
    require_room,
    sum_bits,
    sum_bits_of_groups,
)
from warner.reports.public_columns import Groups
from warner.reports.rules import BitRule, WholeNumbers, smallest_dtype
from warner.reports.source import Histograms
from warner.reports.tally_kinds import (
    BitSums,
    Counted,
    DigitCounts,
    DistinctReports,
    Histogram,
    TallyKind,
)

if TYPE_CHECKING:
    from warner._core.hashing import FieldHash


_FEW_GROUPS = 64  # from here on the bits of all groups are summed together


class Rows(NamedTuple):
    """Checked reports, one in each row."""

    columns: Mapping[str, np.ndarray]  # n rows each
    groups: Groups | None = None  # the group of each report; None for all people together
    repeats: np.ndarray | None = None  # int64 (n,), how often each report counts; None for once

    @property
    def n_groups(self) -> int:
        return 1 if self.groups is None else len(self.groups.keys)

    @property
    def sizes(self) -> np.ndarray:
        """The number of reports of each group, (G,), each as often as ``repeats`` says."""
        if self.groups is not None:
            return count_values(self.groups.place, self.n_groups, self.repeats)
        n = len(next(iter(self.columns.values()))) if self.repeats is None else self.repeats.sum()
        return np.array([n], dtype=np.int64)

    def each_group(self) -> Iterator[Rows]:
        """The rows of each group."""
        if self.groups is None:
            yield self
            return
        order = np.argsort(self.groups.place, kind="stable")
        stops = np.cumsum(np.bincount(self.groups.place, minlength=self.n_groups)).tolist()
        ordered = {name: column[order] for name, column in self.columns.items()}
        repeats = None if self.repeats is None else self.repeats[order]
        for start, stop in pairwise([0, *stops]):
            columns = {name: column[start:stop] for name, column in ordered.items()}
            yield Rows(columns, None, None if repeats is None else repeats[start:stop])


class ReportSchema(ABC):
    """The columns of a mechanism's reports, and how they are checked, stored and counted."""

    # A tally is read as counts of the rows of a channel. A report counts in ``rows_per_report`` of
    # these rows. Where ``rows_are_reports``, a row is a whole report and :meth:`index` numbers it.
    # Otherwise rows are counted from :meth:`indicators`.

    # whether a tally can keep the distinct reports instead of their counts
    can_keep_reports = False

    @property
    def width_as_matrix(self) -> int | None:
        # The columns of a matrix (n, K) that :meth:`parse` takes, one for each bit or digit.
        return None

    @property
    def kept_kind(self) -> DistinctReports:
        """The kind of a tally that keeps the distinct reports."""
        return DistinctReports()

    # Columns.

    @abstractmethod
    def empty(self, n: int) -> dict[str, np.ndarray]:
        """Uninitialised columns of n reports: {name: array}, first axis n."""

    @abstractmethod
    def check(self, columns: Mapping[str, np.ndarray]) -> None:
        """Refuse typed columns that the mechanism cannot have sent, with ReportError."""

    @abstractmethod
    def parse(self, outputs: Any) -> dict[str, np.ndarray]:
        """Foreign outputs as typed columns; ReportError where types, shapes or ranges are wrong."""

    @property
    def bytes_per_report(self) -> int:
        """How many bytes one report has."""
        return sum(column.nbytes for column in self.empty(1).values())

    # All reports, for audits of small instances.

    @property
    def n_reports(self) -> int:
        """How many different reports there are, where the schema alone says so."""
        raise NotImplementedError

    def all_reports(self) -> dict[str, np.ndarray]:
        """Every report once, as columns (n_reports, ...), where the schema alone says so."""
        raise NotImplementedError

    # Files. A file has one integer column per name.

    @property
    def file_width(self) -> int:
        """How many columns of a file such reports have."""
        return len(self.file_columns())

    @abstractmethod
    def file_columns(self) -> dict[str, int]:
        """The columns of a file: {name: how many values the column may take}."""

    @abstractmethod
    def to_file(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The columns of a file, (n,) each, from the columns of reports."""

    @abstractmethod
    def from_file(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The columns of reports from the columns of a file."""

    # Counts.

    @property
    @abstractmethod
    def rows(self) -> int:
        """How many rows of a channel a tally of such reports has."""

    @property
    @abstractmethod
    def rows_per_report(self) -> int:
        """In how many rows of the channel one report counts."""

    @property
    @abstractmethod
    def rows_are_reports(self) -> bool:
        """Whether every row of the channel is one whole report."""

    @property
    def cells(self) -> int:
        """How many counts a tally of such reports has."""
        return self.rows

    @property
    @abstractmethod
    def tally_kind(self) -> TallyKind:
        """Which statistic of the reports a tally counts."""

    def total(self, columns: Mapping[str, np.ndarray], repeats: np.ndarray | None) -> np.ndarray:
        """The counts of checked reports of all people together, (n,) times each."""
        raise NotImplementedError

    def table(self, rows: Rows) -> np.ndarray:
        """The counts of checked reports of each group, (G, ...)."""
        counts = [self.total(some.columns, some.repeats) for some in rows.each_group()]
        return np.stack(counts).astype(np.int64, copy=False)

    def count(self, rows: Rows, keep_reports: bool = False) -> Counted:
        """Count checked reports; or keep the distinct ones, where ``can_keep_reports``."""
        if keep_reports and self.can_keep_reports:
            return distinct(self.pack(rows.columns), rows, self.kept_kind)
        require_room(rows.n_groups, self.cells)
        return Counted(self.tally_kind, self.table(rows), rows.sizes)

    def may_have(self, counts: np.ndarray, n: int) -> bool:
        """Whether n reports can have ``counts``, as far as sums of counts say."""
        cells = self.tally_kind.row_counts(counts, n)
        return (
            bool((cells >= 0).all())
            and int(cells.sum()) == n * self.rows_per_report
            and self.tally_kind.is_consistent(counts, n)
        )

    @property
    @abstractmethod
    def group_bys(self) -> int:
        """How many GROUP BYs of file columns count such reports in bounded memory; 0 for none."""

    @property
    def row_rules(self) -> tuple[BitRule, ...]:
        """The rules of whole rows that counts of single columns of a file do not show."""
        return ()

    def count_histograms(self, source: Histograms, names: Sequence[str]) -> Counted:
        """Count reports where they are stored, by ``group_bys`` GROUP BYs, and check them."""
        raise NotImplementedError

    def pack(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Whole reports as bytes, uint8 (n, bytes); only where ``can_keep_reports``."""
        raise NotImplementedError

    def index(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Row of every report in 0..rows-1, (n,); only where ``rows_are_reports``."""
        raise NotImplementedError

    def indicators(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Zeros and ones (n, m) from which rows are counted; only without ``rows_are_reports``."""
        raise NotImplementedError

    def indicators_to_rows(self, table: np.ndarray, axis: int) -> np.ndarray:
        """A table of counts whose ``axis`` has all rows, from one whose axis has indicators."""
        return table


@dataclass(frozen=True)
class IntegerColumns(ReportSchema):
    """A schema of reports that are tuples of integers, one column for each integer.

    >>> schema = IntegerColumns(("seed", "bucket"), (2, 3))
    >>> reports = {"seed": np.array([0, 1, 1]), "bucket": np.array([2, 0, 0])}
    >>> schema.count(Rows(reports)).counts[0].tolist()
    [[0, 0, 1], [2, 0, 0]]
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]  # column ``names[i]`` takes 0..sizes[i]-1

    rows_are_reports = True
    rows_per_report = 1
    group_bys = 1

    @property
    def rows(self) -> int:
        return math.prod(self.sizes)

    @property
    def n_reports(self) -> int:
        return math.prod(self.sizes)

    def all_reports(self) -> dict[str, np.ndarray]:
        parts = np.unravel_index(np.arange(self.n_reports), self.sizes)
        empty = self.empty(0)
        return {
            name: column.astype(empty[name].dtype)
            for name, column in zip(self.names, parts, strict=True)
        }

    def empty(self, n: int) -> dict[str, np.ndarray]:
        return {
            name: np.empty(n, smallest_dtype(size))
            for name, size in zip(self.names, self.sizes, strict=True)
        }

    def check(self, columns: Mapping[str, np.ndarray]) -> None:
        for name, size in zip(self.names, self.sizes, strict=True):
            refuse_others(columns[name], size, name)

    def parse(self, outputs: Any) -> dict[str, np.ndarray]:
        """Typed columns from a dict of integer columns, or from the only column (n,)."""
        if not isinstance(outputs, Mapping):
            if len(self.names) > 1:
                rule = f"must be a dict with the columns {', '.join(self.names)}"
                raise ArgumentTypeError("outputs", rule, kind(outputs))
            outputs = {self.names[0]: outputs}
        columns = {}
        for name, size in zip(self.names, self.sizes, strict=True):
            array = _integers(name, _column_of(outputs, name))
            if array.ndim != 1:
                raise ReportError(name, "must be one-dimensional", str(array.shape))
            refuse_others(array, size, name)
            columns[name] = array.astype(smallest_dtype(size))
        return columns

    def index(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Row of every report in 0..rows-1, (n,), in C order of the columns."""
        flat = columns[self.names[0]].astype(np.intp, copy=False)
        for name, size in zip(self.names[1:], self.sizes[1:], strict=True):
            flat = flat * size + columns[name]
        return flat

    @property
    def tally_kind(self) -> TallyKind:
        return Histogram()

    @property
    def table_shape(self) -> tuple[int, ...]:
        """The shape of the counts of one group."""
        return self.sizes

    def table(self, rows: Rows) -> np.ndarray:
        """The histogram of whole reports in every group, (G, ...)."""
        many = rows.n_groups
        # One column is counted as it is: in bytes, where it has them.
        is_index = len(self.names) == 1 and rows.groups is None
        index = rows.columns[self.names[0]] if is_index else self.index(rows.columns)
        if rows.groups is not None:
            index = rows.groups.place.astype(np.int64) * self.rows + index
        return count_values(index, many * self.rows, rows.repeats).reshape(many, *self.table_shape)

    def count_histograms(self, source: Histograms, names: Sequence[str]) -> Counted:
        """One GROUP BY of whole reports."""
        table = source.counts(dict(zip(names, self.sizes, strict=True)))
        return Counted(self.tally_kind, table, table.reshape(len(table), -1).sum(axis=1))

    def file_columns(self) -> dict[str, int]:
        return dict(zip(self.names, self.sizes, strict=True))

    def to_file(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return dict(columns)

    def from_file(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: columns[name] for name in self.names}


class _OneArray(ReportSchema):
    """Reports that are the rows of one array. Every column of the array is a column of a file."""

    array: ClassVar[str]  # the array's name

    rows_are_reports = False

    def to_file(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {
            name: np.ascontiguousarray(columns[self.array][:, i])
            for i, name in enumerate(self.file_columns())
        }

    def from_file(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {self.array: np.stack([columns[name] for name in self.file_columns()], axis=1)}

    @property
    def group_bys(self) -> int:
        """One per column of a file: hardly any two whole reports of many columns are equal."""
        return self.file_width

    def _histograms(self, source: Histograms, names: Sequence[str]) -> Iterator[np.ndarray]:
        """How often a column of a file has every value in every group, (groups, values)."""
        sizes: np.ndarray | None = None
        for name, values in zip(names, self.file_columns().values(), strict=True):
            histogram = source.counts({name: values})
            totals = histogram.sum(axis=1)
            if sizes is not None and (totals != sizes).any():
                rule = f"must have as many entries in column {name!r} as in {names[0]!r}"
                got = f"{totals.sum():,} and {sizes.sum():,}"
                raise ReportError("reports", rule, got, "Leave out rows with an empty cell")
            sizes = totals
            yield histogram


@dataclass(frozen=True)
class BitVector(_OneArray):
    """A schema of reports of ``width`` bits, packed 8 to a byte, the most significant bit first.

    >>> schema = BitVector(10, ones=2)
    >>> [rule.text for rule in schema.rules]
    ['unused (padding) bits must be 0', 'every report must have 2 bits set']
    >>> columns = schema.parse([[1, 0, 0, 0, 0, 0, 0, 0, 0, 1]])
    >>> columns["bits"].tolist(), schema.count(Rows(columns)).counts[0].tolist()
    ([[128, 64]], [1, 0, 0, 0, 0, 0, 0, 0, 0, 1])
    """

    width: int  # K, the number of bits of a report; the last byte is padded with 0
    ones: int | None = None  # the number of bits that are 1 in every report; None where it varies
    # Packed bytes under which at most one bit is 1; empty for none. With ``ones``, such a bit is
    # then the only one.
    exclusive_mask: bytes = b""

    array: ClassVar[str] = "bits"
    can_keep_reports = True

    @property
    def width_as_matrix(self) -> int:
        return self.width

    @property
    def kept_kind(self) -> DistinctReports:
        return DistinctReports(self.width)

    @property
    def rows(self) -> int:
        """2 K: first "bit j is 1" for every j, then "bit j is 0" for every j."""
        return 2 * self.width

    @property
    def rows_per_report(self) -> int:
        return self.width

    @property
    def cells(self) -> int:
        return self.width

    @property
    def bytes(self) -> int:
        """How many bytes a report has."""
        return -(-self.width // 8)

    @property
    def padding(self) -> int:
        """How many bits of the last byte carry nothing."""
        return -self.width % 8

    @cached_property
    def rules(self) -> tuple[BitRule, ...]:
        """The rules of these bits, for numpy arrays, databases and data frames alike."""
        rules = []
        if self.padding:
            mask = b"\0" * (self.bytes - 1) + (2**self.padding - 1).to_bytes()
            remedy = (
                f"The last byte has bits set after bit {self.width}. Were the reports made with "
                "more values, or with the lowest bit first?"
            )
            rules.append(BitRule(mask, 0, 0, "unused (padding) bits must be 0", remedy))
        heavy = self.exclusive_mask
        if self.ones is not None:
            text = f"every report must have {self.ones} bits set"
            mask = b"\xff" * self.bytes
            if any(heavy):
                text += ", or only the bit of a non-sensitive value"
                mask = bytes(~byte & 255 for byte in heavy)
            rules.append(BitRule(mask, self.ones, self.ones, text, MADE_BY, heavy, self.ones))
        elif any(heavy):
            text = "at most one bit of a non-sensitive value may be set"
            rules.append(BitRule(heavy, 0, 1, text))
        return tuple(rules)

    @property
    def row_rules(self) -> tuple[BitRule, ...]:
        return tuple(rule for rule in self.rules if len(rule.positions) > 1)

    def empty(self, n: int) -> dict[str, np.ndarray]:
        return {"bits": np.empty((n, self.bytes), np.uint8)}

    def check(self, columns: Mapping[str, np.ndarray]) -> None:
        """Refuse reports that break one of ``rules``."""
        for rule in self.rules:
            refuse_reports(rule.broken_by(columns["bits"]), rule.text, rule.remedy)

    def parse(self, outputs: Any) -> dict[str, np.ndarray]:
        """Packed bits from zeros and ones (n, K), or from {"bits": packed bytes (n, bytes)}."""
        packed = isinstance(outputs, Mapping)
        array = _integers("outputs", _column_of(outputs, "bits") if packed else outputs)
        if (
            array.ndim != 2
            or array.shape[1] not in (self.width, self.bytes)
            or (packed and array.shape[1] != self.bytes)
        ):
            rule = (
                f"must have shape (n, {self.width}), or (n, {self.bytes}) packed as {{'bits': ...}}"
            )
            raise ReportError("outputs", rule, str(array.shape))
        if packed:
            refuse_others(array, 256, "packed bytes")
            return {"bits": array.astype(np.uint8)}
        if not WholeNumbers(2).holds(array):
            refuse_reports(np.any((array != 0) & (array != 1), axis=1), "bits must be 0 or 1")
        return {"bits": np.packbits(array.astype(np.uint8), axis=1)}

    @property
    def tally_kind(self) -> TallyKind:
        return BitSums()

    def may_have(self, counts: np.ndarray, n: int) -> bool:
        if self.ones is None:
            return super().may_have(counts, n)
        heavy = np.frombuffer(self.exclusive_mask or bytes(self.bytes), np.uint8)
        times = np.where(np.unpackbits(heavy, count=self.width), self.ones, 1)
        return int(counts @ times) == n * self.ones and super().may_have(counts, n)

    def total(self, columns: Mapping[str, np.ndarray], repeats: np.ndarray | None) -> np.ndarray:
        """How many reports set every bit, (K,)."""
        if repeats is None:
            return sum_bits(columns["bits"], self.width)
        bits = np.unpackbits(columns["bits"], axis=1, count=self.width)
        return np.asarray(repeats @ bits.astype(np.int64))

    def table(self, rows: Rows) -> np.ndarray:
        """How many reports of each group set every bit, (G, K)."""
        packed, groups, many = rows.columns["bits"], rows.groups, rows.n_groups
        if groups is None or rows.repeats is not None or many < _FEW_GROUPS:
            return super().table(rows)
        return sum_bits_of_groups(packed, self.width, groups.place, many)

    def count_histograms(self, source: Histograms, names: Sequence[str]) -> Counted:
        """One GROUP BY per byte, whose histogram gives the sums of its eight bits."""
        bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.int64)
        sums, sizes = [], np.zeros(0, dtype=np.int64)
        for i, histogram in enumerate(self._histograms(source, names)):
            for rule in self.rules:
                if rule.positions == {i} and histogram[:, rule.broken_bytes].any():
                    raise ReportError("reports", rule.text, None, rule.remedy)
            sums.append(histogram @ bits)
            sizes = histogram.sum(axis=1)
        for rule in self.row_rules:
            if source.any_breaks(rule, names):
                raise ReportError("reports", rule.text, None, rule.remedy)
        return Counted(BitSums(), np.concatenate(sums, axis=1)[:, : self.width], sizes)

    def pack(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        return columns["bits"]

    def indicators(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """The bits of every report and a last column of ones, (n, K + 1)."""
        bits = np.unpackbits(columns["bits"], axis=1, count=self.width)
        return np.concatenate([bits, np.ones((len(bits), 1), dtype=np.uint8)], axis=1)

    def indicators_to_rows(self, table: np.ndarray, axis: int) -> np.ndarray:
        """Counts of bits that are 1, then of bits that are 0."""
        bits, everyone = np.split(table, [table.shape[axis] - 1], axis=axis)
        return np.concatenate([bits, everyone - bits], axis=axis)

    @property
    def file_width(self) -> int:
        return self.bytes

    def file_columns(self) -> dict[str, int]:
        return {f"bits_{i}": 256 for i in range(self.bytes)}


@dataclass(frozen=True)
class DigitVector(_OneArray):
    """A schema of reports of ``width`` digits 0..base-1, one digit per key, 0 for no value.

    >>> schema = DigitVector(2, 3)
    >>> schema.count(Rows(schema.parse([[0, 2], [0, 1]]))).counts[0].tolist()
    [[2, 0, 0], [0, 1, 1]]
    """

    width: int
    base: int

    array: ClassVar[str] = "digits"

    @property
    def width_as_matrix(self) -> int:
        return self.width

    @property
    def rows(self) -> int:
        return self.width * self.base

    @property
    def rows_per_report(self) -> int:
        return self.width

    @property
    def n_reports(self) -> int:
        return int(self.base**self.width)

    def all_reports(self) -> dict[str, np.ndarray]:
        digits = np.unravel_index(np.arange(self.n_reports), (self.base,) * self.width)
        return {"digits": np.stack(digits, axis=1).astype(smallest_dtype(self.base))}

    def empty(self, n: int) -> dict[str, np.ndarray]:
        return {"digits": np.empty((n, self.width), smallest_dtype(self.base))}

    def check(self, columns: Mapping[str, np.ndarray]) -> None:
        refuse_others(columns["digits"], self.base, "digits")

    def parse(self, outputs: Any) -> dict[str, np.ndarray]:
        """Digits (n, width), or {"digits": digits (n, width)}."""
        is_column = isinstance(outputs, Mapping)
        array = _integers("outputs", _column_of(outputs, "digits") if is_column else outputs)
        if array.ndim != 2 or array.shape[1] != self.width:
            rule = f"must have shape (n, {self.width}), a digit for each key"
            raise ReportError("outputs", rule, str(array.shape))
        refuse_others(array, self.base, "digits")
        return {"digits": array.astype(smallest_dtype(self.base))}

    @property
    def tally_kind(self) -> TallyKind:
        return DigitCounts()

    def table(self, rows: Rows) -> np.ndarray:
        """How often every key has every digit in every group, (G, width, base)."""
        first: np.ndarray | int = 0
        many = rows.n_groups
        if rows.groups is not None:
            first = rows.groups.place.astype(np.int64) * self.base
        keys = [
            count_values(first + digits, many * self.base, rows.repeats)
            for digits in rows.columns["digits"].T
        ]
        counts = np.stack(keys).reshape(self.width, many, self.base).transpose(1, 0, 2)
        return np.ascontiguousarray(counts)

    def count_histograms(self, source: Histograms, names: Sequence[str]) -> Counted:
        """One GROUP BY per key."""
        counts = np.stack(list(self._histograms(source, names)), axis=1)
        return Counted(DigitCounts(), counts, counts[:, 0].sum(axis=1))

    def indicators(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Whether every report has each (key, digit), in C order, (n, width base)."""
        digits = columns["digits"]
        equal = (digits[:, :, None] == np.arange(self.base)).reshape(len(digits), -1)
        return np.asarray(equal.astype(np.uint8))

    def file_columns(self) -> dict[str, int]:
        return {f"digits_{i}": self.base for i in range(self.width)}


def distinct(packed: np.ndarray, rows: Rows, kind: DistinctReports) -> Counted:
    """The distinct ones of packed reports (n, bytes) in each group, and how often each occurs."""
    group = np.zeros(len(packed), dtype=np.int64) if rows.groups is None else rows.groups.place
    once = np.ones(len(packed), dtype=np.int64) if rows.repeats is None else rows.repeats
    places, reports, counts = count_rows_of_groups(group, packed, once)
    return Counted(kind, counts, rows.sizes, reports, places)


def refuse_reports(wrong: np.ndarray, rule: str, remedy: str = MADE_BY) -> None:
    """Refuse reports of which any is wrong (n,), naming the first such row and the rule."""
    where = np.flatnonzero(wrong)
    if where.size:
        text = f"row {where[0]}: {rule}"
        got = f"{where.size} wrong row{'s' * (where.size > 1)}"
        raise ReportError("reports", text, got, remedy)


def refuse_others(values: np.ndarray, size: int, what: str) -> None:
    """Refuse reports, (n,) or (n, m), that hold a number outside 0..size-1."""
    rule = WholeNumbers(size)
    if not rule.holds(values):
        wrong = np.any(rule.outside(values).reshape(len(values), -1), axis=1)
        refuse_reports(np.asarray(wrong), f"{what} {rule.text}")


def columns_from(schema: ReportSchema, outputs: Any) -> dict[str, np.ndarray]:
    """Foreign outputs of n people as the typed columns of ``schema``, checked."""
    columns = schema.parse(outputs)
    if len(next(iter(columns.values()))) == 0:
        raise EmptyError("outputs", "must not be empty", None, "Pass at least one report")
    schema.check(columns)
    return columns


def _column_of(outputs: Mapping[str, Any], name: str) -> Any:
    """A column of reports that are a dict of columns."""
    if name not in outputs:
        rule = f"has no column {name!r}"
        raise ReportError("outputs", rule, f"the columns {show(list(outputs))}")
    return outputs[name]


def _integers(name: str, values: Any) -> np.ndarray:
    """``values`` as int64: integers, booleans, and floats that are whole numbers."""
    array = array_of(values)
    if not array.size:
        return array.reshape(array.shape).astype(np.int64)
    if array.dtype.kind == "f":
        # 2^53 is the last whole number up to which floats hold every one.
        with np.errstate(invalid="ignore"):
            whole = (array == np.floor(array)) & (np.abs(array.astype(np.float64)) <= 2**53)
        wrong = np.count_nonzero(~whole)
        if wrong:
            got = f"{wrong} of {array.size} {array.dtype} values that are not"
            remedy = "Pass the reports themselves: zeros and ones, or indices, as integers"
            raise ReportError(name, "must be whole numbers", got, remedy)
    elif array.dtype.kind not in "biu":
        remedy = "Convert the array, for example with numpy.asarray(outputs, dtype=int)"
        got = "texts" if array.dtype.kind in "US" else f"an array of {array.dtype}"
        raise ReportError(name, "must be an array of integers", got, remedy)
    return array.astype(np.int64, copy=False)


# -----------------------------------------------------------------------------------------------
# The schemas of hashed reports over a prime field, whose counts are not those of whole columns.


COLUMNS = ("multiplier", "shift", "bucket")


@dataclass(frozen=True)
class HashedColumns(IntegerColumns):
    """A schema of reports (a - 1, b, z) of local hashing over a prime field. Abstract."""

    hashes: FieldHash
    width: int  # K, the number of values

    group_bys = 0

    @classmethod
    def of(cls, hashes: FieldHash, width: int) -> Self:
        """The schema for hash functions and a number of values."""
        return cls(COLUMNS, (hashes.prime - 1, hashes.prime, hashes.buckets), hashes, width)

    def parts(self, columns: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """a, b and z of reports, int64 (n,)."""
        a, b, z = (columns[name].astype(np.int64) for name in self.names)
        return a + 1, b, z


@dataclass(frozen=True)
class WindowCounts(HashedColumns):
    """A schema of hashed reports, counted as whole reports.

    >>> from warner._core.hashing import FieldHash
    >>> schema = WindowCounts.of(FieldHash(5, 4), 3)
    >>> schema.rows, schema.n_reports
    (20, 80)
    """

    # Reports that support the same residues are counted together, which loses nothing (see
    # :attr:`FieldHash.window_shape <warner._core.hashing.FieldHash.window_shape>`). The tally has
    # about p^2 counts, instead of p (p - 1) g.

    @property
    def rows(self) -> int:
        return math.prod(self.hashes.window_shape)

    def index(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """The window of every report, (n,) in 0..rows-1."""
        return self.hashes.windows(*self.parts(columns))

    @property
    def table_shape(self) -> tuple[int, ...]:
        return (self.rows,)


@dataclass(frozen=True)
class SupportCounts(HashedColumns):
    """A schema of hashed reports, counted by the values they support.

    >>> from warner._core.hashing import FieldHash
    >>> schema = SupportCounts.of(FieldHash(5, 2), 3)
    >>> columns = schema.parse({"multiplier": [0, 0], "shift": [0, 1], "bucket": [1, 1]})
    >>> schema.count(Rows(columns)).counts[0].tolist()
    [1, 1, 1]
    """

    # A value's count is the number of reports whose bucket z is that of the value under (a, b). It
    # adds up over batches. With ``keep_reports`` a tally keeps the distinct reports.

    rows_are_reports = False
    can_keep_reports = True

    @property
    def rows(self) -> int:
        """2 K: "supports x" for every x, then "does not support x" for every x."""
        return 2 * self.width

    @property
    def rows_per_report(self) -> int:  # type: ignore[override]
        return self.width

    @property
    def cells(self) -> int:
        return self.width

    @cached_property
    def _points(self) -> np.ndarray:
        return self.hashes.points(np.arange(self.width))

    @property
    def tally_kind(self) -> TallyKind:
        return BitSums()

    def total(self, columns: Mapping[str, np.ndarray], repeats: np.ndarray | None) -> np.ndarray:
        """How many reports support every value, (K,)."""
        counts = self.hashes.support_counts(*self.parts(columns), repeats)
        return np.asarray(counts[self._points])

    def table(self, rows: Rows) -> np.ndarray:
        return ReportSchema.table(self, rows)  # not the histogram of whole reports

    def may_have(self, counts: np.ndarray, n: int) -> bool:
        """A report supports all residues of its bucket, of which p - K are no values."""
        sizes, others = self.hashes.sizes, self.hashes.prime - self.width
        least = n * max(0, int(sizes.min()) - others)
        return least <= int(counts.sum()) <= n * min(int(sizes.max()), self.width)

    def pack(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Reports as bytes, one after the other with the highest byte first, uint8 (n, bytes)."""
        return np.concatenate(
            [
                columns[name].astype(column.dtype.newbyteorder(">")).view(np.uint8).reshape(-1, w)
                for name, column in self.empty(0).items()
                for w in (column.dtype.itemsize,)
            ],
            axis=1,
        )

    def unpack(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """The columns of reports from :meth:`pack`."""
        refuse_reports(
            np.full(len(rows), rows.shape[1] != self.bytes_per_report),
            f"must have {self.bytes_per_report} bytes",
        )
        columns, start = {}, 0
        for name, column in self.empty(0).items():
            end = start + column.dtype.itemsize
            chunk = np.ascontiguousarray(rows[:, start:end])
            columns[name] = chunk.view(column.dtype.newbyteorder(">"))[:, 0].astype(column.dtype)
            start = end
        self.check(columns)
        return columns

    def indicators(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Which values every report supports, and a last column of ones, (n, K + 1)."""
        a, b, z = (column[:, None] for column in self.parts(columns))
        out = np.ones((len(a), self.width + 1), dtype=np.uint8)
        for rows in in_blocks(len(a), 2**20, self.width):
            bucket = self.hashes.bucket_of(a[rows], b[rows], np.arange(self.width)[None, :])
            out[rows, : self.width] = bucket == z[rows]
        return out

    def indicators_to_rows(self, table: np.ndarray, axis: int) -> np.ndarray:
        """Counts of support, then of no support."""
        support, everyone = np.split(table, [table.shape[axis] - 1], axis=axis)
        return np.concatenate([support, everyone - support], axis=axis)
