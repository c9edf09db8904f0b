"""The schema of reports about one of several blocks of questions: which block, and its report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from warner._core.checks import kind, same_length
from warner._core.errors import ArgumentTypeError, ReportError
from warner._core.text import MADE_BY
from warner.reports.product_schema import for_part
from warner.reports.public_columns import Groups
from warner.reports.schema import IntegerColumns, ReportSchema, Rows
from warner.reports.tally_kinds import BlockTables, Counted

if TYPE_CHECKING:
    from warner.reports.source import Histograms

_MOST_TUPLES = 2**20  # of a block and a report, for one GROUP BY of all columns
BLOCK = "block"  # the column that says which block a report is about


@dataclass(frozen=True)
class BlockSchema(ReportSchema):
    """A schema of reports about one of B blocks: the number of the block, and its own report.

    The columns that a block's report has in a file are the columns ``report``, or ``report_1``,
    ``report_2`` and so on, whatever the block. So there are few columns, however many blocks there
    are. Those that a block does not need are 0.

    The counts of a tally follow each other: for each block the number of its reports, and then the
    counts of these reports.

    >>> coin, die = IntegerColumns(("report",), (2,)), IntegerColumns(("report",), (6,))
    >>> schema = BlockSchema({"coin": coin, "die": die}, 1)
    >>> schema.file_columns()
    {'block': 2, 'report': 6}
    >>> reports = schema.parse({"block": [0, 1, 1], "report": [1, 5, 5]})
    >>> schema.count(Rows(reports)).counts[0].tolist()
    [1, 0, 1, 2, 0, 0, 0, 0, 0, 2]
    """

    parts: Mapping[str, ReportSchema]
    ways: int  # the most attributes of a block

    rows_are_reports = False

    @cached_property
    def _columns(self) -> IntegerColumns:
        """The columns of all blocks, each as wide as the widest block needs."""
        widths = [list(schema.file_columns().values()) for schema in self.parts.values()]
        most = max(map(len, widths))
        names = ["report"] if most == 1 else [f"report_{i + 1}" for i in range(most)]
        sizes = [max(of[i] for of in widths if i < len(of)) for i in range(most)]
        return IntegerColumns((BLOCK, *names), (len(self.parts), *sizes))

    @cached_property
    def _slots(self) -> tuple[str, ...]:
        """The columns of reports, without that of the block."""
        return self._columns.names[1:]

    @cached_property
    def _ends(self) -> np.ndarray:
        """Where the counts of each block begin, and where the last ones end, (B + 1,)."""
        return np.cumsum([0, *(1 + schema.cells for schema in self.parts.values())])

    @cached_property
    def _shapes(self) -> list[tuple[int, ...]]:
        """The shape of the counts of each block's own tally."""
        none = [schema.table(Rows(schema.empty(0))) for schema in self.parts.values()]
        return [counts.shape[1:] for counts in none]

    # Columns.

    def empty(self, n: int) -> dict[str, np.ndarray]:
        return self._columns.empty(n)

    def of_block(self, columns: Mapping[str, np.ndarray], block: int) -> dict[str, np.ndarray]:
        """The columns of one block's own schema, from reports that are all about this block."""
        schema = list(self.parts.values())[block]
        names = zip(schema.file_columns(), self._slots, strict=False)
        return schema.from_file({name: columns[slot] for name, slot in names})

    def each_block(
        self, columns: Mapping[str, np.ndarray]
    ) -> Iterator[tuple[int, np.ndarray, dict[str, np.ndarray]]]:
        """The blocks that occur, the numbers of their reports, and the columns of their schemas."""
        for block, rows in rows_of_blocks(columns[BLOCK]):
            some = {name: column[rows] for name, column in columns.items()}
            yield block, rows, self.of_block(some, block)

    def join(
        self, block: np.ndarray, reports: Mapping[int, Mapping[str, np.ndarray]]
    ) -> dict[str, np.ndarray]:
        """The columns of reports with blocks (n,), from the reports of each block in order."""
        columns = {name: np.zeros_like(column) for name, column in self.empty(len(block)).items()}
        columns[BLOCK][:] = block
        schemas = list(self.parts.values())
        for number, rows in rows_of_blocks(block):
            in_file = schemas[number].to_file(reports[number])
            for slot, name in zip(self._slots, schemas[number].file_columns(), strict=False):
                columns[slot][rows] = in_file[name]
        return columns

    def check(self, columns: Mapping[str, np.ndarray]) -> None:
        self._columns.check(columns)
        schemas = list(self.parts.items())
        for block, rows, reports in self.each_block(columns):
            name, schema = schemas[block]
            sizes = [*schema.file_columns().values(), *[1] * len(self._slots)]
            for slot, size in zip(self._slots, sizes, strict=False):
                if columns[slot][rows].max() >= size:
                    rule = f"must be from 0 to {size - 1} in the column {slot!r}"
                    raise ReportError(f"reports of {name!r}", rule, None, MADE_BY)
            for_part(name, schema.check, reports)

    def parse(self, outputs: Any) -> dict[str, np.ndarray]:
        """Typed columns from a dict of integer columns."""
        if not isinstance(outputs, Mapping):
            rule = f"must be a dict with the columns {', '.join(self._columns.names)}"
            raise ArgumentTypeError("outputs", rule, kind(outputs))
        columns = self._columns.parse(outputs)
        same_length("outputs", columns, ReportError)
        self.check(columns)
        return columns

    def file_columns(self) -> dict[str, int]:
        return self._columns.file_columns()

    def to_file(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return self._columns.to_file(columns)

    def from_file(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return self._columns.from_file(columns)

    # All reports.

    @property
    def n_reports(self) -> int:
        return sum(schema.n_reports for schema in self.parts.values())

    def all_reports(self) -> dict[str, np.ndarray]:
        """Every report once: those of one block after the other."""
        reports = {i: schema.all_reports() for i, schema in enumerate(self.parts.values())}
        sizes = [schema.n_reports for schema in self.parts.values()]
        return self.join(np.repeat(np.arange(len(sizes)), sizes), reports)

    # Counts.

    @property
    def rows(self) -> int:
        return sum(schema.rows for schema in self.parts.values())

    @property
    def rows_per_report(self) -> int:
        return max(schema.rows_per_report for schema in self.parts.values())

    @property
    def cells(self) -> int:
        return int(self._ends[-1])

    @property
    def tally_kind(self) -> BlockTables:
        return BlockTables(self.ways)

    def total(self, columns: Mapping[str, np.ndarray], repeats: np.ndarray | None) -> np.ndarray:
        counts = np.zeros(self.cells, dtype=np.int64)
        schemas = list(self.parts.values())
        for block, rows, reports in self.each_block(columns):
            times = None if repeats is None else repeats[rows]
            start, stop = self._ends[block], self._ends[block + 1]
            counts[start] = len(rows) if times is None else times.sum()
            some = Rows(reports, None, times)
            counts[start + 1 : stop] = schemas[block].table(some)[0].ravel()
        return counts

    @property
    def group_bys(self) -> int:
        # One GROUP BY of the block and its report, where there are few of both together.
        return int(prod(self.file_columns().values()) <= _MOST_TUPLES)

    def count_histograms(self, source: Histograms, names: Sequence[str]) -> Counted:
        sizes = self.file_columns().values()
        table = source.counts(dict(zip(names, sizes, strict=True)))
        group, *reports = np.nonzero(table)
        columns = self.parse(dict(zip(self.file_columns(), reports, strict=True)))
        places = Groups({"group": None}, [(g,) for g in range(len(table))], group)
        return self.count(Rows(columns, places, table[group, *reports]))

    def of_tally(self, counts: np.ndarray) -> list[tuple[int, np.ndarray]]:
        """The number of reports about each block and its own counts, from all counts (cells,)."""
        blocks = zip(self._shapes, pairwise(self._ends.tolist()), strict=True)
        return [
            (int(counts[start]), counts[start + 1 : stop].reshape(shape))
            for shape, (start, stop) in blocks
        ]

    def may_have(self, counts: np.ndarray, n: int) -> bool:
        if counts.shape != (self.cells,):
            return False
        blocks = self.of_tally(counts)
        return sum(people for people, _ in blocks) == n and all(
            schema.may_have(of_block, people)
            for schema, (people, of_block) in zip(self.parts.values(), blocks, strict=True)
        )


def rows_of_blocks(block: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """The blocks that occur, and the numbers of their rows.

    Shapes: block (n,).

    >>> [(number, rows.tolist()) for number, rows in rows_of_blocks(np.array([2, 0, 2]))]
    [(0, [1]), (2, [0, 2])]
    """
    order = np.argsort(block, kind="stable")
    ends = np.cumsum(np.bincount(block)).tolist()
    for number, (start, stop) in enumerate(pairwise([0, *ends])):
        if stop > start:
            yield number, order[start:stop]


def block_name(names: Sequence[str]) -> str:
    """The name of a block of attributes.

    >>> block_name(["smokes", "drinks"])
    'smokes x drinks'
    """
    return " x ".join(names)
