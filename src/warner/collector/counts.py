"""The counts of a survey: in memory a row for each group of people, in the store one for each cell.

A row holds the number of people, the counts of each attribute, and the counts of tables of several
attributes where these are asked for. A commit adds to the cells that reports change, so what it
writes is proportional to the reports, not to the counts. The name of a cell is its number in the
table of all groups; that of a distinct report is longer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import NamedTuple

import numpy as np

from warner._core.errors import ArgumentError
from warner.collector.refusals import Refused
from warner.collector.submissions import Batch, SubmissionFormat
from warner.mechanisms.base import Mechanism
from warner.mechanisms.composite import PerAttribute
from warner.reports.block_schema import BlockSchema
from warner.reports.counting import LARGEST
from warner.reports.product_schema import affordable_ways, marginal_tables, n_cells
from warner.reports.public_columns import Groups
from warner.reports.schema import Rows
from warner.reports.tally import Tally
from warner.reports.tally_kinds import Counted, MarginalTables, TallyKind

# -----------------------------------------------------------------------------------------------
# Counts of distinct reports, for mechanisms whose tally is a list of these.
#
# That is several reports of one value: their tally holds each tuple of reports that occurred, in
# sorted order, and how often it occurred. It is the only tally that grows with the number of
# people.


_NUMBER = 8  # bytes of a number in the name of a cell


class Row(NamedTuple):
    """A distinct report."""

    attribute: int  # the place of the attribute in the study
    group: int  # the number of the group of people
    report: bytes

    @property
    def cell(self) -> bytes:
        """Its name in the store."""
        return _name(self.attribute) + _name(self.group) + self.report

    @classmethod
    def of(cls, cell: bytes) -> Row:
        """The distinct report of a name."""
        attribute, group = (int.from_bytes(cell[i : i + _NUMBER], "big") for i in (0, _NUMBER))
        return cls(attribute, group, cell[2 * _NUMBER :])


def _name(number: int) -> bytes:
    """The name of a cell by its number."""
    return number.to_bytes(_NUMBER, "big")


_DENSE = 4  # counts per report, up to which whole tables are counted


@dataclass(frozen=True)
class _Section:
    """The counts of one attribute, or of tables of several, within a row."""

    cells: slice
    shape: tuple[int, ...]
    kind: TallyKind


@dataclass(frozen=True)
class Added:
    """What a batch adds to the counts."""

    groups: list[int]  # the numbers of groups that are new
    cells: np.ndarray  # int64 (m,), the cells that change, numbered over all rows in memory
    times: np.ndarray  # int64 (m,), by how much
    # How often distinct reports occurred, of mechanisms whose tally is a list of these.
    distinct: dict[Row, int]
    stored: dict[bytes, int]  # {cell: by how much} of the store


class Counts:
    """The counts of a survey."""

    def __init__(self, form: SubmissionFormat, ways: int | None = None) -> None:
        self.form, self.ways = form, ways
        study = form.study
        self._mechanisms: dict[str, Mechanism] = dict(study.mechanisms)
        self._sections: dict[str, _Section] = {}
        self._listed: dict[str, tuple[int, Tally]] = {}
        self._distinct: Counter[Row] = Counter()
        stop = 1  # the first count of a row is the number of people
        for name, mechanism in self._mechanisms.items():
            like = mechanism.count(mechanism.schema.empty(0))
            if like.rows is not None:
                self._listed[name] = (len(self._listed), like)
                continue
            within = slice(stop, stop + like.counts.size)
            self._sections[name] = _Section(within, like.counts.shape, like.kind)
            stop = within.stop
        self._schemas = {name: m.schema for name, m in self._mechanisms.items()}
        if ways is not None and any(isinstance(s, BlockSchema) for s in self._schemas.values()):
            rule = "cannot be used, because this study asks each person only some questions"
            remedy = (
                "Leave out --ways: the questions that a person is asked together are always "
                "counted together"
            )
            raise ArgumentError("ways", rule, None, remedy)
        if ways is not None:
            affordable_ways(self._schemas, ways)
            cells = n_cells(self._schemas, ways)
            self._joint = _Section(slice(stop, stop + cells), (cells,), MarginalTables(ways))
            stop += cells
        self._width = stop  # counts of a row
        self._sizes = sizes = [domain.size for domain in study.public.values()]
        self._most = LARGEST // self._width  # groups
        if not self._most or prod(sizes) * self._width >= 2**62:
            rule = f"would need {stop:,} counts for each group of people, which is too many"
            remedy = "Use mechanisms with fewer different reports"
            if self._most:
                rule = "has too many combinations of values in its public columns"
                remedy = "Declare fewer public columns"
            raise ArgumentError("study", rule, None, remedy)
        self._row_of: dict[int, int] = {}
        self._table = np.zeros((0, self._width), dtype=np.int64)

    # Loading.

    def load(self, stored: Mapping[bytes, int]) -> None:
        """Take the counts of a store, in place of those that are here."""
        names = [cell for cell in stored if len(cell) == _NUMBER]
        times = np.array([stored[name] for name in names], dtype=np.int64)
        group, cell = np.divmod(np.frombuffer(b"".join(names), ">i8"), self._width)
        if ((group < 0) | (group >= prod(self._sizes))).any():
            raise ValueError("a group that the study does not have")
        # Those who came first are not the first rows: the order of the groups is that of numbers.
        groups, row = np.unique(group, return_inverse=True)
        self._row_of = {number: i for i, number in enumerate(groups.tolist())}
        self._table = np.zeros((0, self._width), dtype=np.int64)
        self._make_room(len(groups))
        self._table[row.ravel(), cell] = times
        self._distinct = Counter({Row.of(c): n for c, n in stored.items() if len(c) > _NUMBER})

    def _make_room(self, rows: int) -> None:
        """Have a table of at least so many rows."""
        have = len(self._table)
        if rows > have:
            more = np.zeros((max(rows, min(2 * have, self._most)), self._width), dtype=np.int64)
            more[:have] = self._table
            self._table = more

    # Adding.

    def added(self, batch: Batch) -> Added:
        """What a batch adds; nothing is changed yet."""
        numbers, group_index = self._groups_of(batch)
        new = [group for group in numbers if group not in self._row_of]
        if len(self._row_of) + len(new) > self._most:
            rule = (
                f"have more than {self._most:,} different combinations of values in the public "
                "columns, which is too many to count"
            )
            raise Refused("too_many_groups", "submissions", rule)
        self._make_room(len(self._row_of) + len(new))
        row_of = self._row_of | {g: len(self._row_of) + i for i, g in enumerate(new)}
        rows = np.array([row_of[group] for group in numbers], dtype=np.int64)
        cells, times = self._changes(batch, group_index, len(numbers))
        # Cells are numbered over the groups of the batch; now over all rows, and over all groups.
        group, cell = np.divmod(cells, self._width)
        distinct = self._rows_of(batch, numbers, group_index)
        names = (
            (np.array(numbers, dtype=np.int64)[group] * self._width + cell).astype(">i8").tobytes()
        )
        stored = {
            names[i * _NUMBER : (i + 1) * _NUMBER]: n for i, n in enumerate(times.tolist())
        } | {row.cell: n for row, n in distinct.items()}
        return Added(new, rows[group] * self._width + cell, times, distinct, stored)

    def add(self, added: Added) -> None:
        """Count what :meth:`added` gave, after the store has it."""
        for group in added.groups:
            self._row_of[group] = len(self._row_of)
        self._table.reshape(-1)[added.cells] += added.times
        self._distinct.update(added.distinct)

    def _rows_of(self, batch: Batch, numbers: list[int], group_index: np.ndarray) -> dict[Row, int]:
        """The distinct reports of a batch, of mechanisms whose tally is a list of these."""
        times: dict[Row, int] = {}
        for name, (attribute, _) in self._listed.items():
            for i, group in enumerate(numbers):
                columns = batch.take(group_index == i).columns(name)
                tally = self._mechanisms[name].count(columns)
                assert tally.rows is not None
                for row, count in zip(tally.rows, tally.counts.tolist(), strict=True):
                    times[Row(attribute, group, row.tobytes())] = count
        return times

    def _groups_of(self, batch: Batch) -> tuple[list[int], np.ndarray]:
        """The numbers of the groups of a batch, and the place (n,) of each person among them."""
        if not self._sizes:
            return [0], np.zeros(len(batch), dtype=np.int64)
        number = np.zeros(len(batch), dtype=np.int64)
        for size, index in zip(self._sizes, batch.public.values(), strict=True):
            number = number * size + index
        different, group_index = np.unique(number, return_inverse=True)
        return different.tolist(), group_index.ravel()

    def _changes(
        self, batch: Batch, group_index: np.ndarray, groups: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The cells that change, numbered over the groups of the batch, and by how much."""
        n, people = len(batch), Groups({}, [()] * groups, group_index)
        first = group_index * self._width
        single = [first]  # one entry for each report, which counts once
        cells, times = [], []
        names = self._sections if self.ways is None else self._mechanisms
        columns = {name: batch.columns(name) for name in names}
        for name, section in self._sections.items():
            schema, start = self._schemas[name], section.cells.start
            size = section.cells.stop - start
            if schema.rows_are_reports and groups * size > _DENSE * n:
                single.append(first + start + schema.index(columns[name]))
                continue
            table = schema.table(Rows(columns[name], people)).reshape(groups, -1)
            row, cell = np.nonzero(table)
            cells.append(row * self._width + start + cell)
            times.append(table[row, cell])
        if self.ways is not None:
            for group in range(groups):
                in_group = group_index == group
                some = {a: {c: x[in_group] for c, x in by.items()} for a, by in columns.items()}
                table = marginal_tables(self._schemas, some, self.ways)
                cell = np.flatnonzero(table)
                cells.append(group * self._width + self._joint.cells.start + cell)
                times.append(table[cell])
        cell, count = np.unique(np.concatenate(single), return_counts=True)
        return np.concatenate([cell, *cells]), np.concatenate([count, *times])

    def that_fit(self, batches: Sequence[Batch]) -> list[bool]:
        """Which batches, taken one after the other, make no more groups than there is room for."""
        groups, fits = set(self._row_of), []
        for batch in batches:
            new = set(self._groups_of(batch)[0]) - groups
            fits.append(len(groups) + len(new) <= self._most)
            groups |= new if fits[-1] else set()
        return fits

    def contradiction(self) -> str | None:
        """What no reports of the people who are counted can have; None where all sums agree."""
        rows = len(self._row_of)
        people = np.zeros((len(self._listed), rows), dtype=np.int64)
        for attribute in range(len(people)):
            for report, count in self._distinct_of(attribute):
                people[attribute, self._row_of[report.group]] += count
        tables = combinations(self._schemas.values(), self.ways or 0)
        each = sum(prod(schema.rows_per_report for schema in table) for table in tables)
        for row, n in enumerate(self._table[:rows, 0].tolist()):
            for name, section in self._sections.items():
                counts = self._table[row, section.cells].reshape(section.shape)
                if not self._schemas[name].may_have(counts, n):
                    return f"has counts of {name!r} that the people who are counted do not have"
            if (people[:, row] != n).any():
                return "has counts of several reports that the people who are counted do not have"
            joint = self.ways is not None and self._table[row, self._joint.cells].sum() != n * each
            if joint:
                return "has counts that the people who are counted do not have"
        return None

    # Results.

    @property
    def n(self) -> int:
        """The number of people."""
        return int(self._table[: len(self._row_of), 0].sum())

    def tallies(self) -> dict[str, Tally]:
        """{attribute: tally}, of groups where the study has public columns."""
        return {
            name: self._tally(mechanism, self._sections[name])
            if name in self._sections
            else self._tally_of_rows(mechanism, *self._listed[name])
            for name, mechanism in self._mechanisms.items()
        }

    def joint(self) -> Tally | None:
        """The tally of tables of several attributes; None where there are none."""
        if self.ways is None:
            return None
        return self._tally(PerAttribute(self.form.study.mechanisms), self._joint)

    def _tally(self, mechanism: Mechanism, section: _Section) -> Tally:
        """The tally of a section of all rows."""
        sizes, groups = self._people()
        rows = len(self._row_of)
        counts = np.zeros((len(sizes), *section.shape), dtype=np.int64)
        counts[:rows] = self._table[:rows, section.cells].reshape(rows, *section.shape)
        return Tally(mechanism.header, Counted(section.kind, counts, sizes), groups)

    def _tally_of_rows(self, mechanism: Mechanism, attribute: int, like: Tally) -> Tally:
        """The tally of an attribute of which distinct reports are counted."""
        assert like.rows is not None
        distinct = self._distinct_of(attribute)
        text = b"".join(row.report for row, _ in distinct)
        rows = np.frombuffer(text, np.uint8).reshape(len(distinct), like.rows.shape[1])
        counts = np.array([count for _, count in distinct], dtype=np.int64)
        places = np.array([self._row_of[row.group] for row, _ in distinct], dtype=np.int64)
        sizes, groups = self._people()
        return Tally(mechanism.header, Counted(like.kind, counts, sizes, rows, places), groups)

    def _distinct_of(self, attribute: int) -> list[tuple[Row, int]]:
        """The distinct reports on an attribute, and how often each occurred."""
        return [(row, n) for row, n in self._distinct.items() if row.attribute == attribute]

    def _people(self) -> tuple[np.ndarray, Groups | None]:
        """The number of people of each group, and the groups in the order of the rows."""
        rows = len(self._row_of)
        if not self._sizes:
            return np.array([self.n], dtype=np.int64), None  # one group, before anybody has sent
        left = np.array(list(self._row_of), dtype=np.int64)
        columns = []
        for size, domain in zip(
            reversed(self._sizes), reversed(list(self.form.study.public.values())), strict=True
        ):
            left, index = np.divmod(left, size)
            columns.append(domain.decode(index))
        keys = list(zip(*reversed(columns), strict=True))
        return self._table[:rows, 0].copy(), Groups(self.form.study.public, keys, np.arange(rows))
