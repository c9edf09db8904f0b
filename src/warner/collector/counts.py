"""The counts of a survey: in memory one row for each group of people, in the store blocks.

A row holds the number of people, the counts of each attribute, and the counts of tables of several
attributes where these are asked for. The store holds it in blocks of 500 counts. A commit writes
the blocks that change, so what it writes is proportional to the reports, not to the counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
# people. A page of the store holds one tuple of one group and its count. The key of a page is a
# hash of the tuple, so nothing says when it was written.


_NUMBER = 8  # bytes


class Row(NamedTuple):
    """A distinct report."""

    attribute: int  # the place of the attribute in the study
    group: int  # the number of the group of people
    report: bytes

    @property
    def key(self) -> int:
        """The key at which a page of it is looked for first."""
        head = b"".join(number.to_bytes(_NUMBER, "little") for number in self[:2])
        return int.from_bytes(hashlib.sha256(head + self.report).digest()[:_NUMBER], "little") >> 2


class DistinctCounts:
    """How often each distinct report occurred.

    >>> counts = DistinctCounts()
    >>> pages = counts.pages({Row(0, 5, b"ab"): 2})
    >>> counts.add({Row(0, 5, b"ab"): 2})
    >>> again = DistinctCounts()
    >>> again.load(pages.items())
    >>> list(again.of(0))
    [(Row(attribute=0, group=5, report=b'ab'), 2)]
    """

    def __init__(self) -> None:
        self._counts: dict[Row, int] = {}
        self._keys: dict[Row, int] = {}
        self._rows: dict[int, Row] = {}

    def load(self, pages: Iterable[tuple[int, bytes]]) -> None:
        """Take the counts from the pages of a store."""
        for key, content in pages:
            start = [int.from_bytes(content[i : i + _NUMBER], "little") for i in (0, 8, 16)]
            row = Row(start[0], start[1], content[24:])
            self._counts[row], self._keys[row], self._rows[key] = start[2], key, row

    def pages(self, times: Mapping[Row, int]) -> dict[int, bytes | None]:
        """The pages of the store after more reports; nothing is changed yet."""
        pages: dict[int, bytes | None] = {}
        for row, more in times.items():
            key = self._key(row, pages)
            numbers = (row.attribute, row.group, self._counts.get(row, 0) + more)
            head = b"".join(number.to_bytes(_NUMBER, "little") for number in numbers)
            pages[key] = head + row.report
        return pages

    def _key(self, row: Row, taken: Mapping[int, object]) -> int:
        """The key of the page of a report: its hash, or the next one that is free."""
        if row in self._keys:
            return self._keys[row]
        key = row.key
        while key in taken or key in self._rows:
            key += 1
        return key

    def add(self, times: Mapping[Row, int]) -> None:
        """Count more reports, after the store has them."""
        for key, row in zip(self.pages(times), times, strict=True):
            self._counts[row] = self._counts.get(row, 0) + times[row]
            self._keys[row], self._rows[key] = key, row

    def of(self, attribute: int) -> Iterator[tuple[Row, int]]:
        """The distinct reports on an attribute, and how often each occurred."""
        return ((row, n) for row, n in self._counts.items() if row.attribute == attribute)


BLOCK = 500  # counts of a page of the store: as numbers of 8 bytes they fit a disk page
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
    where: np.ndarray  # int64 (m,), the blocks that change, numbered over all rows
    blocks: np.ndarray  # int64 (m, BLOCK), the counts of these blocks afterwards
    pages: dict[int, bytes | None]  # {key: content} of the store
    # How often distinct reports occurred, of mechanisms whose tally is a list of these.
    distinct: dict[Row, int]
    distinct_pages: dict[int, bytes | None]  # {key: content} of these in the store


class Counts:
    """The counts of a survey."""

    def __init__(self, form: SubmissionFormat, ways: int | None = None) -> None:
        self.form, self.ways = form, ways
        study = form.study
        self._mechanisms: dict[str, Mechanism] = dict(study.mechanisms)
        self._sections: dict[str, _Section] = {}
        self._listed: dict[str, tuple[int, Tally]] = {}
        self._distinct = DistinctCounts()
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
            rule = "goes with studies that ask everybody everything"
            remedy = "Leave it out: questions that are asked together are counted together"
            raise ArgumentError("ways", rule, str(ways), remedy)
        if ways is not None:
            affordable_ways(self._schemas, ways)
            cells = n_cells(self._schemas, ways)
            self._joint = _Section(slice(stop, stop + cells), (cells,), MarginalTables(ways))
            stop += cells
        self.cells = stop
        self._blocks = -(-stop // BLOCK)  # of a row
        self._width = self._blocks * BLOCK
        self._sizes = sizes = [domain.size for domain in study.public.values()]
        self._most = LARGEST // self._width  # groups
        if not self._most or prod(sizes) * self._blocks >= 2**62:
            rule = f"would need {stop:,} counts in each group"
            remedy = "Use mechanisms with fewer different reports, or fewer public columns"
            raise ArgumentError("study", rule, None, remedy)
        self._row_of: dict[int, int] = {}
        self._table = np.zeros((0, self._width), dtype=np.int64)

    # Loading.

    def load(
        self, pages: Iterable[tuple[int, bytes]], distinct: Iterable[tuple[int, bytes]] = ()
    ) -> None:
        """Take the counts, and those of distinct reports, from the pages of a store."""
        self._distinct.load(distinct)
        for key, content in pages:
            group, block = divmod(key, self._blocks)
            if not 0 <= group < prod(self._sizes):
                raise ValueError("a group that the study does not have")
            if group not in self._row_of:
                self._make_room(len(self._row_of) + 1)
                self._row_of[group] = len(self._row_of)
            counts = np.frombuffer(content, f"<u{len(content) // BLOCK}")
            self._table[self._row_of[group], block * BLOCK : (block + 1) * BLOCK] = counts

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
            rule = f"make more than {self._most:,} groups by their public columns"
            raise Refused("too_many_groups", "submissions", rule)
        self._make_room(len(self._row_of) + len(new))
        row_of = self._row_of | {g: len(self._row_of) + i for i, g in enumerate(new)}
        rows = np.array([row_of[group] for group in numbers], dtype=np.int64)
        cells, times = self._changes(batch, group_index, len(numbers))
        # Cells are numbered over the groups of the batch; now over all rows.
        flat = rows[cells // self._width] * self._width + cells % self._width
        where, inverse = np.unique(flat // BLOCK, return_inverse=True)
        blocks = self._table.reshape(-1, BLOCK)[where]
        np.add.at(blocks, (inverse.ravel(), flat % BLOCK), times)
        group_of = {row: group for group, row in row_of.items()} if len(numbers) > 1 else {}
        keys = [
            (group_of[row] if group_of else numbers[0]) * self._blocks + block
            for row, block in (divmod(number, self._blocks) for number in where.tolist())
        ]
        pages: dict[int, bytes | None] = dict(zip(keys, _contents(blocks), strict=True))
        rows_of = self._rows_of(batch, numbers, group_index)
        return Added(new, where, blocks, pages, rows_of, self._distinct.pages(rows_of))

    def add(self, added: Added) -> None:
        """Count what :meth:`added` gave, after the store has it."""
        for group in added.groups:
            self._row_of[group] = len(self._row_of)
        self._table.reshape(-1, BLOCK)[added.where] = added.blocks
        self._distinct.add(added.distinct)

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
            for report, count in self._distinct.of(attribute):
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
            if joint or self._table[row, self.cells :].any():
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
        return self._tally(PerAttribute.of(self.form.study.mechanisms), self._joint)

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
        distinct = list(self._distinct.of(attribute))
        text = b"".join(row.report for row, _ in distinct)
        rows = np.frombuffer(text, np.uint8).reshape(len(distinct), like.rows.shape[1])
        counts = np.array([count for _, count in distinct], dtype=np.int64)
        places = np.array([self._row_of[row.group] for row, _ in distinct], dtype=np.int64)
        sizes, groups = self._people()
        return Tally(mechanism.header, Counted(like.kind, counts, sizes, rows, places), groups)

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


def _contents(blocks: np.ndarray) -> list[bytes]:
    """The pages of blocks: unsigned numbers of as few bytes as hold the largest of a block."""
    sizes = np.searchsorted([2**8, 2**16, 2**32], blocks.max(axis=1), side="right")
    narrow = {size: blocks[sizes == size].astype(f"<u{2**size}") for size in np.unique(sizes)}
    rows = {size: iter(blocks_of_size) for size, blocks_of_size in narrow.items()}
    return [next(rows[size]).tobytes() for size in sizes]
