"""Data frames of any library that Narwhals knows, in and out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, cast

import numpy as np

from warner._core.checks import kind, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    ReportError,
    message,
)
from warner.domains import Domain
from warner.io.file_columns import file_columns, from_file, to_file
from warner.mechanisms import Mechanism, from_header
from warner.reports.bit_rules import BitRule
from warner.reports.grouped_tally import GroupedTally, require_room
from warner.reports.public_columns import Groups, PublicColumn, group_people
from warner.reports.reports import Reports
from warner.reports.schema import smallest_dtype
from warner.reports.tally import Tally


def frame(columns: Mapping[str, Any], backend: str = "pyarrow") -> Any:
    """Columns as a data frame.

    Args:
        columns: {name: column, (n,)}.
        backend: the library of the frame, for example ``pyarrow``, ``pandas`` or ``polars``.

    Raises:
        ArgumentError: no such library is installed.
    """
    import narwhals.stable.v2 as nw

    try:
        return nw.from_dict(dict(columns), backend=cast(Any, backend)).to_native()
    except (ValueError, TypeError, ModuleNotFoundError):
        rule = "must name an installed data frame library"
        error = ArgumentError(message("backend", rule, repr(backend), "For example 'pyarrow'"))
    raise error


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


def tally_frame(
    mechanism: Mechanism,
    data: Any,
    attribute: str = "value",
    simulated: bool = False,
    ways: int | None = None,
) -> Tally:
    """Count the reports in a data frame by its own GROUP BY.

    Reports of bits or digits are counted column by column. Others are counted as whole reports.

    Args:
        mechanism: the mechanism that made the reports.
        data: a frame, eager or lazy, with the columns of a report file.
        attribute: the name of the attribute, with which the names of columns begin.
        simulated: whether the reports are a simulation, which a frame does not say.
        ways: of PerAttribute, how many attributes a marginal table has; None for all.

    Raises:
        ArgumentTypeError: no data frame.
        ArgumentError: ``ways`` for a mechanism of one attribute, or tables that would be too large.
        EmptyError: no reports.
        ReportError: a missing column, or reports that ``mechanism`` cannot have sent.
    """
    columns = _GroupedFrame(_lazy(data))
    names = _report_columns(columns, attribute, mechanism)
    try:
        if mechanism.schema.group_bys and ways is None:
            counted = mechanism.schema.count_grouped(columns, list(names)).only()
            return Tally(mechanism.header, *counted).marked(simulated)
        arrays, repeats = columns.groups(names)
        reports = from_file(attribute, mechanism.schema, arrays)
        mechanism.schema.check(reports)
        return mechanism.tally_columns(reports, repeats, ways).marked(simulated)
    except ReportError as error:
        problem = ReportError(f"data: {error}")
    raise problem


def tally_frame_by(
    mechanism: Mechanism,
    data: Any,
    by: Sequence[str] | Mapping[str, Domain],
    attribute: str = "value",
    simulated: bool = False,
    ways: int | None = None,
) -> GroupedTally:
    """Count the reports in a data frame for each group of people, by its own GROUP BY.

    Args:
        mechanism, data, attribute, simulated, ways: as in :func:`tally_frame`.
        by: the names of the frame's public columns, in the order of the keys; or {name: domain},
            which refuses values that are not in the domain.

    Raises:
        ArgumentTypeError, ArgumentError, EmptyError, ReportError: as in :func:`tally_frame`.
        ArgumentError: no names, or a column that is not there.
        ReportError: a public value that is missing, of another type or never declared.
    """
    lazy = _lazy(data)
    named = dict.fromkeys([] if isinstance(by, str) else by)
    wanted = dict(by) if isinstance(by, Mapping) else named
    found = lazy.collect_schema().names()
    if not wanted or any(name not in found for name in wanted):
        rule, remedy = "must be a list of columns of the frame", "For example ['ward']"
        raise ArgumentError(message("by", rule, show(by), remedy))
    columns = _GroupedFrame(lazy, wanted)
    names = _report_columns(columns, attribute, mechanism)
    try:
        if mechanism.schema.group_bys and ways is None:
            counted = mechanism.schema.count_grouped(columns, list(names))
            groups = columns.public_groups()
            return GroupedTally(
                mechanism.header, groups.columns, groups.keys, counted, bool(simulated)
            )
        arrays, repeats = columns.groups(names)
        reports = from_file(attribute, mechanism.schema, arrays)
        mechanism.schema.check(reports)
        place = columns.places_of_rows()
        whole = replace(columns.public_groups(), place=place)
        return mechanism.tally_groups(reports, whole, repeats, ways).marked(simulated)
    except ReportError as error:
        problem = ReportError(f"data: {error}")
    raise problem


def _lazy(data: Any) -> Any:
    """A frame of any library as a lazy Narwhals frame."""
    import narwhals.stable.v2 as nw

    try:
        return nw.from_native(data).lazy()
    except TypeError:
        raise ArgumentTypeError(message("data", "must be a data frame", kind(data))) from None


def _report_columns(columns: _GroupedFrame, attribute: str, mechanism: Mechanism) -> dict[str, int]:
    """The columns of a frame that hold reports: {name: how many values it may take}."""
    sizes = file_columns(attribute, mechanism.schema)
    names = list(sizes)
    if any(name not in columns.names for name in names):
        rule = f"must have the columns {', '.join(names[:4])}{', ...' * (len(names) > 4)}"
        raise ReportError(message("data", rule))
    return sizes


def _check_public(name: str, column: Any, n: int) -> None:
    """Refuse public values by their column: the different ones are not the rows of a frame."""
    try:
        group_people({name: column}, n)
        return
    except (ArgumentError, ArgumentTypeError):
        pass
    rule = "must hold declared values, without gaps: texts, integers, booleans or dates"
    raise ReportError(message(f"data: public column {name!r}", rule))


class _GroupedFrame:
    """The columns of a lazy Narwhals frame, counted by its library; see GroupedColumns.

    Args:
        lazy: the frame.
        by: {name: domain} of public columns; none for one group of all rows.
    """

    def __init__(self, lazy: Any, by: Mapping[str, Domain | None] | None = None) -> None:
        self._lazy = lazy
        self._by = dict(by or {})
        self._found: Groups | None = None
        self._place: dict[tuple[Any, ...], int] = {}
        self._last: list[tuple[Any, ...]] = []

    @property
    def names(self) -> list[str]:
        """The names of all columns."""
        found: list[str] = self._lazy.collect_schema().names()
        return found

    def public_groups(self) -> Groups:
        """The groups of rows, numbered as the first axis of counts."""
        if self._found is None:
            by = list(self._by)
            table = self._lazy.select(by).unique().collect()
            rows = list(zip(*(table[name].to_list() for name in by), strict=True))
            if not rows:
                raise EmptyError(message("data", "holds no reports"))
            given = {
                name: values if domain is None else PublicColumn(domain, values)
                for (name, domain), values in zip(
                    self._by.items(), map(list, zip(*rows, strict=True)), strict=True
                )
            }
            for name, column in given.items():
                _check_public(name, column, len(rows))
            self._found = group_people(given, len(rows))
            # Several raw values, such as the days of a week, may be of one group.
            self._place = dict(zip(rows, self._found.place.tolist(), strict=True))
        return self._found

    def places_of_rows(self) -> np.ndarray:
        """The group of each row that :meth:`groups` gave last, (m,)."""
        self.public_groups()
        return np.fromiter(map(self._place.__getitem__, self._last), np.int64, len(self._last))

    def groups(self, columns: Mapping[str, int]) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """The different rows of some columns, checked, (m,) each, and how often each occurs."""
        import narwhals.stable.v2 as nw

        names = [*self._by, *columns]
        seen = "seen"
        while seen in names:
            seen += "_"
        rows = self._lazy.select(names).group_by(names).agg(nw.len().alias(seen)).collect()
        arrays = {}
        for name, size in columns.items():
            series = rows[name]
            if not series.dtype.is_integer() or series.null_count():
                rule = "must be a column of integers without gaps"
                raise ReportError(message(name, rule, str(series.dtype)))
            if len(series) and (int(series.min()) < 0 or int(series.max()) >= size):
                raise ReportError(message(name, f"must lie in 0..{size - 1}"))
            arrays[name] = series.to_numpy().astype(smallest_dtype(size))
        repeats = rows[seen].to_numpy().astype(np.int64)
        if not repeats.sum():
            raise EmptyError(message("data", "holds no reports"))
        self._last = list(zip(*(rows[name].to_list() for name in self._by), strict=True))
        return arrays, repeats

    def counts(self, columns: Mapping[str, int]) -> np.ndarray:
        arrays, repeats = self.groups(columns)
        groups, place = 1, np.zeros(len(repeats), dtype=np.int64)
        if self._by:
            groups, place = len(self.public_groups().keys), self.places_of_rows()
            require_room(groups, prod(columns.values()))
        table = np.zeros((groups, *columns.values()), dtype=np.int64)
        where = (place, *(arrays[name].astype(np.intp) for name in columns))
        np.add.at(table, where, repeats)
        return table

    def any_breaks(self, rule: BitRule, masks: Mapping[str, int]) -> bool:
        import narwhals.stable.v2 as nw

        terms = [
            nw.col(name).cast(nw.Int64) // 2**bit % 2
            for name, mask in masks.items()
            for bit in range(8)
            if mask >> bit & 1
        ]
        while len(terms) > 1:  # in pairs: engines limit how deep a sum may be nested
            terms = [sum(terms[i + 1 : i + 2], terms[i]) for i in range(0, len(terms), 2)]
        ones = self._lazy.select(terms[0].alias("ones"))
        broken = (nw.col("ones") < rule.least) | (nw.col("ones") > rule.most)
        return bool(ones.filter(broken).select(nw.len()).collect().item())
