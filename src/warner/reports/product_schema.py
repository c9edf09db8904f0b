"""The schema of reports with several parts, such as one part per attribute."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from warner._core.checks import kind
from warner._core.errors import ArgumentError, ArgumentTypeError, ReportError
from warner.reports.counting import require_room
from warner.reports.marginal_tables import affordable_ways, marginal_tables, n_cells
from warner.reports.public_columns import Groups
from warner.reports.schema import ReportSchema, each_group, sizes_of
from warner.reports.tally_kinds import Counted, MarginalTables, TallyKind

_T = TypeVar("_T")


@dataclass(frozen=True)
class ProductSchema(ReportSchema):
    """A schema of reports that have one report of every part.

    Column ``c`` of part ``p`` is called ``p.c``. A report in which a part is missing is refused.

    Attributes:
        parts: {name: the schema of the part}.
    """

    parts: Mapping[str, ReportSchema]

    # A tally of tuples keeps the tuples that occur, or tables with a bound of their own.
    cells = 0
    group_bys = 0

    def __post_init__(self) -> None:
        names = [
            f"{name}.{column}" for name, part in self.parts.items() for column in part.empty(0)
        ]
        if len(set(names)) < len(names):
            rule = "must not make two columns of one name"
            raise ArgumentError("names", rule, ", ".join(self.parts), "Rename a part")

    @property
    def rows_are_reports(self) -> bool:
        return all(part.rows_are_reports for part in self.parts.values())

    @property
    def rows(self) -> int:
        return math.prod(part.rows for part in self.parts.values())

    @property
    def rows_per_report(self) -> int:
        return math.prod(part.rows_per_report for part in self.parts.values())

    def split(self, columns: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Split the columns that are present by part."""
        return {
            name: {
                column: columns[f"{name}.{column}"]
                for column in part.empty(0)
                if f"{name}.{column}" in columns
            }
            for name, part in self.parts.items()
        }

    def join(self, columns: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """The columns of the product from {part: columns of the part}."""
        return {
            f"{name}.{column}": array
            for name in self.parts
            for column, array in columns[name].items()
        }

    def empty(self, n: int) -> dict[str, np.ndarray]:
        return self.join({name: part.empty(n) for name, part in self.parts.items()})

    def check(self, columns: Mapping[str, np.ndarray]) -> None:
        for name, part_columns in self.split(columns).items():
            _for_part(name, self.parts[name].check, part_columns)

    def parse(self, outputs: Any) -> dict[str, np.ndarray]:
        """Typed columns from the columns of the product, or from {part: its outputs}."""
        if not isinstance(outputs, Mapping):
            rule = f"must be a dict with reports of {', '.join(self.parts)}"
            raise ArgumentTypeError("outputs", rule, kind(outputs))
        given = outputs if self.parts.keys() <= outputs.keys() else self.split(outputs)
        columns = self.join(
            {name: _for_part(name, part.parse, given[name]) for name, part in self.parts.items()}
        )
        if len({len(column) for column in columns.values()}) != 1:
            rule = f"must be equally many for each of {', '.join(self.parts)}"
            raise ReportError("outputs", rule)
        return columns

    def index(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Row of every report in 0..rows-1, (n,), in C order of the parts."""
        flat = np.zeros(1, dtype=np.intp)
        for name, part_columns in self.split(columns).items():
            part = self.parts[name]
            flat = flat * part.rows + part.index(part_columns)
        return flat

    @property
    def tally_kind(self) -> TallyKind:
        return MarginalTables(len(self.parts))

    def table(
        self,
        columns: Mapping[str, np.ndarray],
        place: np.ndarray | None,
        groups: int,
        repeats: np.ndarray | None,
        ways: int | None = None,
    ) -> np.ndarray:
        """The marginal tables of all subsets of ``ways`` parts in every group, (groups, cells)."""
        kept = len(self.parts) if ways is None else ways
        if place is not None:
            of_group = partial(self.table, ways=kept)
            return each_group(of_group, columns, place, groups, repeats)
        return marginal_tables(self.parts, self.split(columns), kept, repeats)[None]

    def count(
        self,
        columns: Mapping[str, np.ndarray],
        groups: Groups | None = None,
        repeats: np.ndarray | None = None,
        ways: int | None = None,
    ) -> Counted:
        """The marginal tables of all subsets of ``ways`` parts; None for all parts.

        Shapes: repeats (n,).
        """
        kept = affordable_ways(self.parts, ways)
        place, many = (None, 1) if groups is None else (groups.place, len(groups.keys))
        require_room(many, n_cells(self.parts, kept))
        table = self.table(columns, place, many, repeats, kept)
        return Counted(MarginalTables(kept), table, sizes_of(columns, groups, repeats))

    @property
    def file_width(self) -> int:
        return sum(part.file_width for part in self.parts.values())

    def file_columns(self) -> dict[str, int]:
        return {
            f"{name}.{column}": size
            for name, part in self.parts.items()
            for column, size in part.file_columns().items()
        }

    def to_file(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        split = self.split(columns)
        return self.join({name: part.to_file(split[name]) for name, part in self.parts.items()})

    def from_file(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        split = {
            name: {column: columns[f"{name}.{column}"] for column in part.file_columns()}
            for name, part in self.parts.items()
        }
        return self.join({name: part.from_file(split[name]) for name, part in self.parts.items()})


def _for_part(name: str, job: Callable[[Any], _T], argument: Any) -> _T:
    """The result of a part's ``job``; errors name the part."""
    try:
        return job(argument)
    except (ReportError, ArgumentTypeError) as error:
        problem = type(error)(f"{name}: {error}")
    raise problem
