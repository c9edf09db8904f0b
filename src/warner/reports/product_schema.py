"""The schema of reports with several parts, such as one part per attribute."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import prod
from typing import Any, TypeVar

import numpy as np

from warner._core.checks import integer, kind, same_length
from warner._core.errors import ArgumentError, ArgumentTypeError, ReportError
from warner._core.progress import in_blocks
from warner._core.text import magnitude, meant
from warner.reports.counting import count_values
from warner.reports.schema import ReportSchema
from warner.reports.tally_kinds import MarginalTables

# -----------------------------------------------------------------------------------------------
# Marginal tables: the contingency tables of every subset of w attributes, as one array.
#
# A table has one axis per attribute, whose length is the number of rows of the attribute's
# channel. A report that is a row of its channel counts once. A report of K bits counts in K of 2 K
# rows, "bit j is 1" or "bit j is 0" for each j. So a table of two such attributes holds the (2
# K_1, 2 K_2) co-occurrences of their bits. The tables follow each other in the order of
# itertools.combinations. All counts are integers that add up over batches of reports.


LARGEST = 2**24  # counts in all tables of a tally
_BLOCK = 2**22  # elements of indicators that are multiplied at a time
_INDICATORS = 2**28  # bytes of indicators that are held at a time


def n_cells(parts: Mapping[str, ReportSchema], ways: int) -> int:
    """The number of counts in the tables of all subsets of ``ways`` attributes."""
    # The elementary symmetric polynomial of degree ``ways`` of the attributes' numbers of rows.
    sums = [1] + [0] * ways
    for schema in parts.values():
        for k in range(ways, 0, -1):
            sums[k] += sums[k - 1] * schema.rows
    return sums[ways]


def affordable_ways(parts: Mapping[str, ReportSchema], ways: int | None) -> int:
    """Check the number of attributes in each table, and replace None by the number of all."""
    most = len(parts)
    chosen = most if ways is None else integer("ways", ways, 1, most)
    needed = n_cells(parts, chosen)
    if needed <= LARGEST:
        return chosen
    fitting = [w for w in range(1, most + 1) if n_cells(parts, w) <= LARGEST]
    largest = max(parts, key=lambda name: parts[name].rows)
    if fitting:
        remedy = f"Count again with ways={fitting[-1]} (--ways {fitting[-1]})"
    else:
        remedy = (
            f"Count {largest!r}, with {parts[largest].rows:,} different reports, in another tally"
        )
    if chosen < most:
        tables = f"tables that count {chosen} of {most} questions (attributes) together"
    else:
        tables = f"a table that counts all {most} questions (attributes) together"
    rule = f"asks for too many counts: {tables} would have {magnitude(needed)}, and at most "
    rule += f"{LARGEST:,} are possible"
    raise ArgumentError("ways", rule, None if ways is None else str(ways), remedy)


def marginal_tables(
    parts: Mapping[str, ReportSchema],
    columns: Mapping[str, Mapping[str, np.ndarray]],
    ways: int,
    repeats: np.ndarray | None = None,
) -> np.ndarray:
    """The tables of all subsets of ``ways`` attributes, counted from reports, (n,) times each."""
    widths = sum(schema.rows for schema in parts.values() if not schema.rows_are_reports)
    n = len(next(iter(next(iter(columns.values())).values())))
    blocks = list(in_blocks(n, _INDICATORS, widths)) if widths else []
    if len(blocks) > 1:
        total = np.zeros(n_cells(parts, ways), dtype=np.int64)
        for block in blocks:
            block_columns = {
                name: {column: array[block] for column, array in arrays.items()}
                for name, arrays in columns.items()
            }
            block_repeats = None if repeats is None else repeats[block]
            total += marginal_tables(parts, block_columns, ways, block_repeats)
        return total
    entries = {
        name: schema.index(columns[name])
        if schema.rows_are_reports
        else schema.indicators(columns[name])
        for name, schema in parts.items()
    }
    tables = [
        _table([parts[name] for name in names], [entries[name] for name in names], repeats).ravel()
        for names in combinations(parts, ways)
    ]
    return np.concatenate(tables)


def _table(
    schemas: Sequence[ReportSchema], entries: Sequence[np.ndarray], repeats: np.ndarray | None
) -> np.ndarray:
    """The counts (rows_1, .., rows_w) of one table."""
    indexed = [i for i, schema in enumerate(schemas) if schema.rows_are_reports]
    indicated = [i for i, schema in enumerate(schemas) if not schema.rows_are_reports]
    shape = [schemas[i].rows for i in indexed]
    # Reports that are rows are numbered together, which puts people into groups. Within a group,
    # the indicators of the other reports are multiplied and summed.
    group = np.zeros(len(entries[0]), dtype=np.intp)
    for i in indexed:
        group = group * schemas[i].rows + entries[i]
    if not indicated:
        return count_values(group, prod(shape), repeats).reshape(shape)
    indicators = [entries[i] for i in indicated]
    if indexed:
        order = np.argsort(group, kind="stable")
        group, indicators = group[order], [array[order] for array in indicators]
        repeats = None if repeats is None else repeats[order]
    table = _group_products(group, prod(shape), indicators, repeats)
    table = table.reshape(shape + [array.shape[1] for array in indicators])
    for axis, i in enumerate(indicated, len(shape)):
        table = schemas[i].indicators_to_rows(table, axis)
    return np.ascontiguousarray(table.transpose(np.argsort([*indexed, *indicated])))


def _group_products(
    group: np.ndarray, n_groups: int, indicators: Sequence[np.ndarray], repeats: np.ndarray | None
) -> np.ndarray:
    """Sums of products of indicators in every group, (groups, width_1 .. width_(k-1), width_k)."""
    widths = [array.shape[1] for array in indicators]
    total = np.zeros((n_groups, prod(widths[:-1]), widths[-1]), dtype=np.int64)
    step = max(256, _BLOCK // max(total.shape[1:]))
    # Sums of whole numbers far below 2^24, or 2^53 where people are weighted: exact.
    real = np.float32 if repeats is None else np.float64
    edges = np.flatnonzero(np.diff(group, prepend=-1, append=-1))
    for start, stop in pairwise(edges):
        for first in range(start, stop, step):
            people = slice(first, min(first + step, stop))
            if repeats is None:
                left = np.ones((people.stop - first, 1), real)
            else:
                left = repeats[people, None].astype(real)
            for array in indicators[:-1]:
                left = (left[:, :, None] * array[people, None, :]).reshape(len(left), -1)
            sums = left.T @ indicators[-1][people].astype(real)
            total[group[first]] += np.rint(sums).astype(np.int64)
    return total


def attribute_names(names: Any, allowed: Sequence[str]) -> list[str]:
    """Check a list of names of attributes, or one name."""
    if isinstance(names, str):
        names = [names]
    if not isinstance(names, Sequence):
        remedy = f"For example {list(allowed[:2])}"
        raise ArgumentTypeError("attributes", "must be a list of names", kind(names), remedy)
    if not names or any(name not in allowed for name in names) or len(set(names)) < len(names):
        rule = f"must name questions ({', '.join(allowed)}), each of them once"
        hints = [meant(str(name), allowed) for name in names if name not in allowed]
        got = ", ".join(map(repr, names)) or "none"
        raise ArgumentError("attributes", rule, got, " ".join(filter(None, hints)) or None)
    return list(names)


def table_of(
    parts: Mapping[str, ReportSchema], counts: np.ndarray, ways: int, attributes: Sequence[str]
) -> np.ndarray | None:
    """The table of some attributes, from the tables of all subsets of ``ways`` attributes."""
    if ways > len(parts) or counts.shape != (n_cells(parts, ways),):
        return None
    start = 0
    for names in combinations(parts, ways):
        shape = [parts[name].rows for name in names]
        if set(attributes) <= set(names):
            break
        start += prod(shape)
    table = counts[start : start + prod(shape)].reshape(shape)
    others = tuple(i for i, name in enumerate(names) if name not in attributes)
    # A report counts in several rows of an attribute that is summed out.
    table = table.sum(axis=others) // prod(parts[names[i]].rows_per_report for i in others)
    left = [name for name in names if name in attributes]
    return np.transpose(table, [left.index(name) for name in attributes])


_T = TypeVar("_T")


@dataclass(frozen=True)
class ProductSchema(ReportSchema):
    """A schema of reports with one of every part; column ``c`` of part ``p`` is called ``p.c``."""

    parts: Mapping[str, ReportSchema]
    # How many parts a marginal table of a tally combines; None for all, or for tallies that keep
    # the tuples.
    ways: int | None = None

    group_bys = 0

    def __post_init__(self) -> None:
        names = [
            f"{name}.{column}" for name, schema in self.parts.items() for column in schema.empty(0)
        ]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            rule = f"must not give two columns the same name, {twice!r}"
            raise ArgumentError("names", rule, ", ".join(self.parts), "Rename one of them")

    @property
    def rows_are_reports(self) -> bool:
        return all(schema.rows_are_reports for schema in self.parts.values())

    @property
    def rows(self) -> int:
        return math.prod(schema.rows for schema in self.parts.values())

    @property
    def rows_per_report(self) -> int:
        return math.prod(schema.rows_per_report for schema in self.parts.values())

    def split(self, columns: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Split the columns that are present by part."""
        return {
            name: {
                column: columns[f"{name}.{column}"]
                for column in schema.empty(0)
                if f"{name}.{column}" in columns
            }
            for name, schema in self.parts.items()
        }

    def join(self, columns: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """The columns of the product from {part: columns of the part}."""
        return {
            f"{name}.{column}": array
            for name in self.parts
            for column, array in columns[name].items()
        }

    def empty(self, n: int) -> dict[str, np.ndarray]:
        return self.join({name: schema.empty(n) for name, schema in self.parts.items()})

    def check(self, columns: Mapping[str, np.ndarray]) -> None:
        for name, part_columns in self.split(columns).items():
            for_part(name, self.parts[name].check, part_columns)

    def parse(self, outputs: Any) -> dict[str, np.ndarray]:
        """Typed columns from the columns of the product, or from {part: its outputs}."""
        if not isinstance(outputs, Mapping):
            rule = f"must be a dict with reports of {', '.join(self.parts)}"
            raise ArgumentTypeError("outputs", rule, kind(outputs))
        given = outputs if self.parts.keys() <= outputs.keys() else self.split(outputs)
        columns = self.join(
            {name: for_part(name, schema.parse, given[name]) for name, schema in self.parts.items()}
        )
        same_length("outputs", columns, ReportError)
        return columns

    def index(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Row of every report in 0..rows-1, (n,), in C order of the parts."""
        flat = np.zeros(1, dtype=np.intp)
        for name, part_columns in self.split(columns).items():
            schema = self.parts[name]
            flat = flat * schema.rows + schema.index(part_columns)
        return flat

    @property
    def tally_kind(self) -> MarginalTables:
        return MarginalTables(len(self.parts) if self.ways is None else self.ways)

    @property
    def cells(self) -> int:
        """The counts of the marginal tables; 0 without them: kept tuples are those that occur."""
        return 0 if self.ways is None else n_cells(self.parts, self.ways)

    def total(self, columns: Mapping[str, np.ndarray], repeats: np.ndarray | None) -> np.ndarray:
        """The marginal tables of all subsets of ``ways`` parts, (cells,)."""
        return marginal_tables(self.parts, self.split(columns), self.tally_kind.ways, repeats)

    @property
    def file_width(self) -> int:
        return sum(schema.file_width for schema in self.parts.values())

    def file_columns(self) -> dict[str, int]:
        return {
            f"{name}.{column}": size
            for name, schema in self.parts.items()
            for column, size in schema.file_columns().items()
        }

    def to_file(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        split = self.split(columns)
        return self.join({name: schema.to_file(split[name]) for name, schema in self.parts.items()})

    def from_file(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        split = {
            name: {column: columns[f"{name}.{column}"] for column in schema.file_columns()}
            for name, schema in self.parts.items()
        }
        return self.join(
            {name: schema.from_file(split[name]) for name, schema in self.parts.items()}
        )


def for_part(name: str, job: Callable[[Any], _T], argument: Any) -> _T:
    """The result of a part's ``job``; errors name the part."""
    try:
        return job(argument)
    except (ReportError, ArgumentTypeError) as error:
        problem = type(error)(f"{name}: {error}")
    raise problem
